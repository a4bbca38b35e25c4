package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/job"
)

// copyOption is the option of train that names another file for the model.
const copyOption = "write-model"

// wantedPhysics says what --model can be.
const wantedPhysics = "ising or potts (-m FILE writes the model to a file)"

// physicsValue is the kind of model of --model.
type physicsValue struct{ kind *string }

// Set implements pflag.Value.
func (v physicsValue) Set(text string) error {
	if !slices.Contains(job.Physics, text) {
		return errors.New("want " + wantedPhysics)
	}
	*v.kind = text
	return nil
}

// Type implements pflag.Value.
func (v physicsValue) Type() string { return strings.Join(job.Physics, "|") }

// String implements pflag.Value.
func (v physicsValue) String() string {
	if v.kind == nil {
		return ""
	}
	return *v.kind
}

// isModelFile reports whether a value of --model is a file, as it was before v0.2.0.
func isModelFile(text string) bool {
	return filepath.Ext(text) != "" || strings.ContainsAny(text, "/\\")
}

// couplingRows say what was learned of a physical system.
func couplingRows(n *job.Summary, result *job.Result) (rows [][]string) {
	if result.Couplings != nil && n.Run != "" {
		rows = append(rows, []string{"couplings", filepath.Join(n.Run, job.CouplingsFile)})
	}
	if c := n.Couplings; c != nil {
		rows = append(rows, []string{"slope on --reference", job.Known("%.3f", c.Slope)},
			[]string{"in 95 % intervals", job.Known("%.3g %%", 100*c.Inside)})
	}
	return rows
}

// errorsValue is how --errors finds standard errors; job.Options says what it can be.
type errorsValue struct{ how *string }

// Set implements pflag.Value.
func (v errorsValue) Set(text string) error { *v.how = text; return nil }

// Type implements pflag.Value. Help shows it.
func (v errorsValue) Type() string { return "how" }

// String implements pflag.Value.
func (v errorsValue) String() string {
	if v.how == nil {
		return ""
	}
	return *v.how
}
