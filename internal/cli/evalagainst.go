package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
)

// againstAnswer is what eval --against --json prints.
type againstAnswer struct {
	Variables int             `json:"variables"`
	Hellinger runfolder.Float `json:"mean_hellinger"`
	Largest   runfolder.Float `json:"largest_hellinger"`
	Worst     int             `json:"worst_variable"`
	Absolute  runfolder.Float `json:"largest_difference"`
}

// checkAgainst refuses the options of models beside --against.
func (f *evalFlags) checkAgainst(cmd *cobra.Command) error {
	if f.against == "" {
		return nil
	}
	var unused string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if unused == "" && flag.Name != "against" && flag.Name != "json" {
			unused = flag.Name
		}
	})
	if unused != "" {
		return usagef("--%s is not used by eval MARGINALS.MAR --against REFERENCE.MAR", unused)
	}
	return nil
}

// evalAgainst compares a file of marginals with a reference.
func (a *app) evalAgainst(f *evalFlags, args []string) error {
	if len(args) != 1 {
		return usagef("eval: want one file of marginals: blockbp eval MARGINALS.MAR --against REFERENCE.MAR")
	}
	got, err := uai.ReadMARFile(args[0])
	if err != nil {
		return err
	}
	want, err := uai.ReadMARFile(f.against)
	if err != nil {
		return err
	}
	d, err := uai.CompareMarginals(got, want)
	if err != nil {
		return dataf("%s against %s: %v", args[0], f.against, err)
	}
	table := report.Table{Headers: []string{"measure", "value"}, Rows: [][]string{
		{"variables", strconv.Itoa(len(want))},
		{"mean Hellinger distance", fmt.Sprintf("%.6g", d.Hellinger)},
		{"largest, of variable " + strconv.Itoa(d.Worst), fmt.Sprintf("%.6g", d.Largest)},
		{"largest difference of a probability", fmt.Sprintf("%.6g", d.Absolute)},
	}}
	return a.print(f.json, againstAnswer{len(want), runfolder.Float(d.Hellinger), runfolder.Float(d.Largest), d.Worst,
		runfolder.Float(d.Absolute)}, "%s\n", lines(table.Text()))
}
