package describe

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
)

// Distance is how far marginals are from a reference.
type Distance struct {
	Variables int             `json:"variables"`
	Hellinger runfolder.Float `json:"mean_hellinger"`
	Largest   runfolder.Float `json:"largest_hellinger"`
	Worst     int             `json:"worst_variable"`
	Absolute  runfolder.Float `json:"largest_difference"`
}

// NewDistance reads and compares two files of marginals.
func NewDistance(path, reference string) (*Distance, error) {
	got, err := uai.ReadMARFile(path)
	if err != nil {
		return nil, err
	}
	want, err := uai.ReadMARFile(reference)
	if err != nil {
		return nil, err
	}
	d, err := uai.CompareMarginals(got, want)
	if err != nil {
		return nil, job.DataError(path+" against "+reference, err)
	}
	return &Distance{len(want), runfolder.Float(d.Hellinger), runfolder.Float(d.Largest), d.Worst,
		runfolder.Float(d.Absolute)}, nil
}

// Table is the comparison for people.
func (d *Distance) Table() *report.Table {
	return &report.Table{Headers: []string{"measure", "value"}, Rows: [][]string{
		{"variables", strconv.Itoa(d.Variables)},
		{"mean Hellinger distance", fmt.Sprintf("%.6g", float64(d.Hellinger))},
		{"largest, of variable " + strconv.Itoa(d.Worst), fmt.Sprintf("%.6g", float64(d.Largest))},
		{"largest difference of a probability", fmt.Sprintf("%.6g", float64(d.Absolute))},
	}}
}
