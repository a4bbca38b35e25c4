package cli

import (
	"fmt"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/job"
)

// copyOption is the option of train that names another file for the model.
const copyOption = "write-model"

// wantedPhysics says what --model can be.
const wantedPhysics = "ising or potts (-m FILE writes the model to a file)"

// couplingRows say what was learned of a physical system.
func couplingRows(n *job.Summary, result *job.Result) (rows [][]string) {
	if result.Couplings != nil && n.Run != "" {
		rows = append(rows, []string{"couplings", filepath.Join(n.Run, job.CouplingsFile)})
	}
	if result.Couplings != nil && result.Couplings.Physics == job.Ising && n.Prior > 0 {
		rows = append(rows, []string{"prior of couplings", fmt.Sprintf("deviation %.4g: that of --prior is of each of "+
			"the four entries of a table", float64(n.Prior)/2)})
	}
	if n.Selection != nil {
		rows = append(rows, []string{"edges", n.Selection.Text()})
	}
	if c := n.Couplings; c != nil {
		rows = append(rows, []string{"slope on --reference", job.Known("%.3f", c.Slope)},
			[]string{"in 95 % intervals", job.Known("%.3g %%", 100*c.Inside)})
	}
	return rows
}
