package cli

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/mrf"
	"github.com/blockbp/blockbp/record"
)

// Methods of infer other than belief propagation and elimination.
const (
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
	fl.Float64Var(&o.maxRHat, "max-rhat", infer.DefaultMaxRHat, "gibbs: largest R-hat of a variable that counts as converged")
	fl.Float64Var(&o.minESS, "min-ess", infer.DefaultMinESS, "gibbs: smallest effective sample size of a variable that counts as converged")
	fl.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "gibbs, mean-field: number of threads; results do not depend on it")
}

// usersOf are the methods that use an option. What belief propagation uses may stand
// beside exact inference.
var usersOf = map[string][]string{
	"chains": {methodGibbs}, "max-rhat": {methodGibbs}, "min-ess": {methodGibbs}, "threads": {methodGibbs, methodMeanField},
	"restarts": {methodMeanField, "bp", "exact"}, "appearance-steps": {"bp", "exact"},
}

// checkUnused refuses options that the method does not know, and values that it
// cannot use.
func (o *otherMethods) checkUnused(cmd *cobra.Command, method string) error {
	for _, name := range []string{"chains", "max-rhat", "min-ess", "threads", "restarts", "appearance-steps"} {
		if users := usersOf[name]; !slices.Contains(users, method) && cmd.Flags().Changed(name) {
			users = slices.DeleteFunc(slices.Clone(users), func(m string) bool { return m == "exact" })
			return usagef("--%s is used by --method %s only", name, strings.Join(users, " and "))
		}
	}
	for _, v := range []struct {
		name  string
		value int
	}{{"chains", o.chains}, {"threads", o.threads}} {
		if v.value < 1 {
			return usagef("--%s %d: want at least 1", v.name, v.value)
		}
	}
	return checkDiagnosisLimits(o.maxRHat, o.minESS)
}

// gibbsAnswer is what --json says of Gibbs sampling beside marginals.
type gibbsAnswer struct {
	Chains        int          `json:"chains"`
	StandardError record.Float `json:"standard_error"`
	*chainDiagnosis
}

func (a *app) inferByGibbs(f *inferFlags, reduction *infer.Reduction, c *mrf.Conditioned) (*inferAnswer, error) {
	progress := newTimedCounter(a.stderr, false, "sampling, at most", "sweeps")
	defer progress.done()
	r, err := infer.GibbsMarginals(a.ctx, reduction.Pairwise, infer.GibbsSettings{
		Chains: f.other.chains, MaxSweeps: f.maxSweeps, MaxRHat: f.other.maxRHat, MinESS: f.other.minESS,
		Seed: f.seed, Threads: f.other.threads, Progress: progress.show,
	})
	if err != nil {
		return nil, samplingError(reduction.Locate(err))
	}
	nan := record.Float(math.NaN())
	return &inferAnswer{
		Method: methodGibbs, LogZ: nan, Log10Z: nan, Bound: bp.None, Converged: r.Converged, Residual: nan, Sweeps: r.Sweeps, Gap: nan,
		Marginals:   c.Marginals(r.Marginals),
		gibbsAnswer: &gibbsAnswer{r.Chains, record.Float(r.StandardError), newChainDiagnosis(r.Diagnosis, r.Irreducible, c.Variable)},
	}, nil
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

func (a *app) inferByMeanField(f *inferFlags, reduction *infer.Reduction, c *mrf.Conditioned) (*inferAnswer, error) {
	r, err := infer.MeanField(a.ctx, reduction.Pairwise, infer.MeanFieldSettings{
		Restarts: f.restarts, Limits: bp.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps}, Seed: f.seed, Threads: f.other.threads,
	})
	var zero *infer.ZeroError
	if err = reduction.Locate(err); errors.As(err, &zero) && f.task != "MAR" {
		return exactAnswer(methodMeanField, math.Inf(-1)), nil
	}
	if err != nil {
		return nil, samplingError(err)
	}
	answer := &inferAnswer{
		Method: methodMeanField, LogZ: record.Float(r.LogZ), Log10Z: record.Float(r.LogZ / math.Ln10), Bound: bp.Lower,
		Converged: r.Outcome.Converged, Residual: record.Float(r.Outcome.Residual), Sweeps: r.Outcome.Sweeps, Gap: record.Float(math.NaN()),
		beyondOneRun: beyondOneRun{Runs: f.restarts}, meanFieldAnswer: &meanFieldAnswer{r.Different},
	}
	if f.task == "MAR" {
		answer.Marginals = c.Marginals(r.Marginals)
	}
	return answer, nil
}
