package cli

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Methods of infer other than belief propagation and elimination.
const (
	methodAuto      = "auto" // of MPE: the first that fits
	methodGibbs     = "gibbs"
	methodMeanField = "mean-field"
)

// defaultStarts is the number of starts of mean field.
const defaultStarts = 10

// otherMethods are the options of these methods.
type otherMethods struct {
	chains, threads int
	maxRHat, minESS float64
}

func (o *otherMethods) register(fl *pflag.FlagSet) {
	fl.IntVar(&o.chains, "chains", 4, "gibbs: chains, each from a start of its own")
	fl.Float64Var(&o.maxRHat, "max-rhat", 1.01, "gibbs: largest R-hat of a variable that counts as converged")
	fl.Float64Var(&o.minESS, "min-ess", 400, "gibbs: smallest effective sample size of a variable that counts as converged")
	fl.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "gibbs, mean-field: number of threads; results do not depend on it")
}

// users are the methods that use an option.
type users struct {
	option  string
	methods []string
}

// optionUsers lists the options that not all methods of PR and MAR, or MPE, use.
var optionUsers = []users{
	{"chains", []string{methodGibbs}},
	{"max-rhat", []string{methodGibbs}},
	{"min-ess", []string{methodGibbs}},
	{"threads", []string{methodGibbs, methodMeanField}},
	{"counting", []string{"bp"}},
	{"appearance-steps", []string{"bp"}},
	{"restarts", []string{methodMeanField, "bp"}},
	{"tol", []string{"bp", methodMeanField, string(infer.TRWS)}},
	{"max-sweeps", []string{"bp", methodGibbs, methodMeanField, string(infer.TRWS)}},
	{"seed", []string{"bp", methodGibbs, methodMeanField}},
}

// checkUnused refuses options that the method does not use, and values that it
// cannot use. What belief propagation uses may stand beside exact inference: it
// returns those, to say that they have no say.
func (o *otherMethods) checkUnused(changed func(string) bool, task, method string) (beside []string, err error) {
	for _, u := range optionUsers {
		switch {
		case !changed(u.option) || slices.Contains(u.methods, method):
		case method == methodAuto && slices.Contains(u.methods, string(infer.TRWS)):
		case task != "MPE" && method == "exact" && slices.Contains(u.methods, "bp"):
			beside = append(beside, "--"+u.option)
		default:
			return nil, usagef("--%s is used by --method %s only", u.option, strings.Join(u.of(task), " and "))
		}
	}
	for _, v := range []struct {
		name  string
		value int
	}{{"chains", o.chains}, {"threads", o.threads}} {
		if v.value < 1 {
			return nil, usagef("--%s %d: want at least 1", v.name, v.value)
		}
	}
	return beside, checkDiagnosisLimits(o.maxRHat, o.minESS)
}

// of returns those of the methods that the task has, or all if it has none.
func (u users) of(task string) []string {
	var known []string
	for _, m := range u.methods {
		if slices.Contains(methodsOf[task], m) {
			known = append(known, m)
		}
	}
	if known == nil {
		return u.methods
	}
	return known
}

// gibbsAnswer is what --json says of Gibbs sampling beside marginals.
type gibbsAnswer struct {
	Chains        int             `json:"chains"`
	StandardError runfolder.Float `json:"standard_error"`
	*chainDiagnosis
}

// reason says why sampling did not converge.
func (g *gibbsAnswer) reason(f *inferFlags) string {
	d := g.chainDiagnosis
	switch {
	case !d.Irreducible:
		return "hard zeros may keep Gibbs sampling from reaching all possible states: it is not proved that it is ergodic; try another --method"
	case d.WorstRHat == nil:
		return fmt.Sprintf("%d sweeps of %d chains are too few to judge; try a larger --max-sweeps", f.maxSweeps, g.Chains)
	}
	return fmt.Sprintf("R-hat of variable %d is %.4g, want at most %g, and variable %d has %.0f effective draws, want at least %g: try a larger --max-sweeps",
		*d.WorstRHat, float64(d.MaxRHat), f.other.maxRHat, *d.WorstESS, float64(d.MinESS), f.other.minESS)
}

// meanFieldAnswer is what --json says of mean field beside the bound.
type meanFieldAnswer struct {
	// Different counts the starts that ended at another, lower value.
	Different int `json:"restarts_at_lower_values"`
}
