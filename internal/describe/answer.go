package describe

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
)

// The tasks of inference, as the UAI competition calls them.
const (
	TaskPartition = "PR"
	TaskMarginals = "MAR"
	TaskStates    = "MPE"
)

// Names are those of the variables of a network and of their states, where it has some.
type Names struct {
	Variables  []string   `json:"variables,omitempty"`
	StateNames [][]string `json:"state_names,omitempty"`
}

// Answer says what inference on a network found: log Z, or marginals.
type Answer struct {
	Task      string          `json:"task"`
	Method    infer.Method    `json:"method"`
	NotExact  string          `json:"not_exact,omitempty"` // why the best method that fits was not exact
	LogZ      runfolder.Float `json:"log_z"`
	Log10Z    runfolder.Float `json:"log10_z"`
	ZIsZero   bool            `json:"z_is_zero"` // then LogZ is -Inf, which JSON cannot hold
	Bound     counting.Bound  `json:"bound"`
	Converged bool            `json:"converged"`
	Optimum   string          `json:"optimum"` // that it converged to, as of a training: see job.Optimum
	Residual  runfolder.Float `json:"residual"`
	Sweeps    int             `json:"sweeps"`
	Gap       runfolder.Float `json:"gap"`
	Counting  string          `json:"counting,omitempty"`
	Convex    bool            `json:"convex"`
	Damping   float64         `json:"damping"`
	Auxiliary int             `json:"auxiliary_variables"`
	Classes   int             `json:"classes,omitempty"` // of variables, between which messages of --lift went
	Seconds   float64         `json:"seconds"`           // reading and writing left out
	*cost
	Marginals [][]float64 `json:"marginals,omitempty"`
	Queried   []int       `json:"queried,omitempty"` // variables of which probabilities are bounded
	Lower     [][]float64 `json:"lower,omitempty"`
	Upper     [][]float64 `json:"upper,omitempty"`
	Names
}

// cost is what variable elimination takes.
type cost struct {
	Width      int     `json:"induced_width"`
	Bytes      int64   `json:"forecast_bytes"`
	Operations float64 `json:"forecast_operations"`
}

// NewAnswer describes the result of a task that took so many seconds.
func NewAnswer(task string, r *infer.Result, seconds float64) *Answer {
	a := &Answer{
		Task: task, Method: r.Method, NotExact: r.NotExact, LogZ: runfolder.Float(r.LogZ),
		Log10Z: runfolder.Float(r.LogZ / math.Ln10), ZIsZero: math.IsInf(r.LogZ, -1),
		Bound: r.Bound, Gap: runfolder.Float(numeric.Gap(r.Gap, r.LogZ)), Convex: r.Bound == counting.Exact,
		Converged: r.Converged, Residual: runfolder.Float(r.Residual), Sweeps: r.Sweeps,
		Damping: r.Damping, Auxiliary: r.Auxiliary, Classes: r.Classes, Marginals: r.Marginals, Seconds: seconds,
		Lower: r.Lower, Upper: r.Upper,
	}
	a.Optimum = job.Optimum(r.Converged, !r.Stationary)
	if r.Counting != nil {
		a.Counting, a.Convex = r.Counting.Name, r.Counting.Facts.Convex
	}
	if r.Method == infer.Exact {
		a.cost = &cost{r.Width, r.Bytes, r.Operations}
	}
	return a
}

// Table lists marginals by names, or intervals.
func (a *Answer) Table() *report.Table {
	if a.Lower != nil {
		t := &report.Table{Headers: []string{"variable", "state", "at least", "at most"}}
		for i, v := range a.Queried {
			for x, lower := range a.Lower[i] {
				state := strconv.Itoa(x)
				if a.StateNames != nil {
					state = a.StateNames[v][x]
				}
				t.Add("%s %s %.9g %.9g", uai.Named(a.Variables, v), state, lower, a.Upper[i][x])
			}
		}
		return t
	}
	t := &report.Table{Headers: []string{"variable", "state", "probability"}}
	for v, marginal := range a.Marginals {
		for x, p := range marginal {
			t.Rows = append(t.Rows, []string{a.Variables[v], a.StateNames[v][x], fmt.Sprintf("%.6g", p)})
		}
	}
	return t
}

// Write writes the answer in the format of the UAI competition.
func (a *Answer) Write(w io.Writer) error {
	if a.Lower != nil {
		_, err := fmt.Fprintln(w, a.Table().Text())
		return err
	} else if a.Task == TaskMarginals {
		return uai.WriteMAR(w, a.Marginals)
	}
	return uai.WritePR(w, float64(a.LogZ))
}

// About says what an answer is, how sure it is, and what it is by: its file format has no
// place for that. Nothing is said of the answer that no joint state is possible.
func (a *Answer) About() string {
	by := "by counting numbers " + a.Counting
	if a.Classes > 0 {
		by += fmt.Sprintf(", lifted (classes of variables: %d)", a.Classes)
	}
	if a.Converged && !a.Convex {
		by += ": a stationary point of a free energy that is not known to be convex, which may have others"
	}
	what, exact := "this value is", "the exact one"
	if a.Task == TaskMarginals {
		what, exact = "these marginals are", "exact ones"
	}
	otherwise := "; {method=exact} gives " + exact + " where memory suffices"
	if a.NotExact != "" {
		otherwise = "; " + a.NotExact
	}
	switch {
	case a.ZIsZero:
		return ""
	case a.Method == infer.Exact:
		return fmt.Sprintf("%s exact, by elimination of variables over an induced width of %d", what, a.Width)
	case a.Lower != nil:
		return "these bounds are proved, by walks from each variable" + otherwise
	case a.Bound == counting.Exact:
		return what + " exact, " + by
	case a.Task == TaskMarginals:
		return what + " an approximation of unknown error, " + by + otherwise
	case a.Bound == counting.Upper:
		return what + " an upper bound on log10 Z, " + by + otherwise
	}
	return what + " an approximation of log10 Z of unknown sign, " + by + otherwise
}

// Shortfall says how far an answer is from the convergence that was asked for, and
// what to do; nothing where it converged.
func (a *Answer) Shortfall(o *infer.Options) string {
	if a.ZIsZero || a.Converged {
		return ""
	}
	return fmt.Sprintf("not converged: residual %.3g after %d sweeps, want at most %.3g: try a larger {max-sweeps} "+
		"or {tol}", float64(a.Residual), a.Sweeps, o.Limits.Resolved().Tolerance)
}

// States says what the search for a most probable joint state found.
type States struct {
	Task string `json:"task"`
	job.JointState
	NotExact  string  `json:"not_exact,omitempty"`
	Converged bool    `json:"converged"`
	Sweeps    int     `json:"sweeps"`
	Seconds   float64 `json:"seconds"` // reading and writing left out
	States    []int   `json:"states"`
	Names
}

// Table lists the states by their names.
func (s *States) Table() *report.Table {
	t := &report.Table{Headers: []string{"variable", "state"}}
	for v, name := range s.Variables {
		t.Rows = append(t.Rows, []string{name, s.StateNames[v][s.States[v]]})
	}
	return t
}

// NewStates describes a state that took so many seconds.
func NewStates(r *infer.State, seconds float64) *States {
	return &States{Task: TaskStates, JointState: *job.NewJointState(r), NotExact: r.NotExact, Converged: r.Converged,
		Sweeps: r.Sweeps, States: r.States, Seconds: seconds}
}

// Write writes the states in the format of the UAI competition.
func (s *States) Write(w io.Writer) error { return uai.WriteMPE(w, s.States) }

// About says what proves the states optimal; nothing where nothing does.
func (s *States) About() string {
	by := map[infer.Method]string{infer.Exact: "elimination of variables", infer.TRWS: "the bound of TRW-S"}
	if !s.Optimal {
		return ""
	}
	return "this state is a most probable one, as proved by " + by[s.Method]
}

// Shortfall says how far the states are from being proved optimal; nothing where they are.
func (s *States) Shortfall() string {
	if s.Optimal {
		return ""
	}
	advice := cmp.Or(s.NotExact, "{method=exact} finds an optimal state where memory suffices")
	if !s.Converged {
		advice = "not converged: try a larger {max-sweeps}; " + advice
	}
	return fmt.Sprintf("not proved optimal: energy %.10g, no state has less than %.10g, gap %.3g after %d sweeps; %s",
		float64(s.Energy), float64(s.LowerBound), float64(s.Gap), s.Sweeps, advice)
}
