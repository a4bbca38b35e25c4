package hard

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/lab/ceilings"
)

var asked = flag.String("problems", "", "of TestSuite: all, or numbers, separated by commas (default: some of "+
	"every kind)")

// small are some problems of every kind, few enough for a test.
var small = []int{
	3, 19, 40, 44, 59, 77, 87, 102, 108, 116, 131, 133, 149, 160, 162, 174, 188, 201, 214, 261, 278, 288, 300, 315,
	333, 347, 352, 363, 380, 391, 426, 439, 454, 477,
}

// unsolved are the problems that learn does not solve: take a number out once it does. 138 takes about the second that
// it has. 308 comes to its end with vectors of AVX-512, but not with those of AVX2, whose sums round differently.
var unsolved = []int{40, 67, 138, 306, 308, 326, 337, 384, 452}

// group is how many problems are learned and judged together.
const group = 24

// TestSuite: learn solves problems of all kinds with default settings, but for method, order,
// counting numbers and a tolerance that the accuracy needs. Where it does not, it claims nothing
// that is not true and does not end above its start.
//
// The optimum is that of Levenberg and Marquardt's method with dense linear algebra. Where L is not
// convex, a run has to end at a point that this method, begun nearby, does not leave for a lower
// one, and which is no higher than the start; above the best that it finds, or another method, it
// may be: that is a local optimum, and counted.
func TestSuite(t *testing.T) {
	var all []*Outcome
	for numbers := range slices.Chunk(askedFor(t), group) {
		outcomes := oracle.Must(judgeAll(t.Context(), numbers))(t)
		all = append(all, outcomes...)
	}
	for _, o := range all {
		known := slices.Contains(unsolved, o.Number)
		switch {
		case o.False != "" || o.Rose || !o.Solved() && !known:
			t.Errorf("problem %d, %v: %q", o.Number, o.Spec, o.Failures)
		case o.Solved() && known:
			t.Logf("problem %d is solved: take it out of unsolved", o.Number)
		}
	}
	shown := all // one by one
	if *asked == "" || *asked == "all" {
		shown = slices.DeleteFunc(slices.Clone(all), (*Outcome).Solved)
	}
	t.Logf("\n%s\n%s\n%s", claims(all).Text(), kinds(all).Text(), cases(shown).Text())
}

// askedFor are the numbers of the problems to learn.
func askedFor(t *testing.T) (numbers []int) {
	switch *asked {
	case "":
		return small
	case "all":
		for i := range Problems {
			numbers = append(numbers, i)
		}
		return numbers
	}
	for text := range strings.SplitSeq(*asked, ",") {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || i >= Problems {
			t.Fatalf("-problems %s: want numbers from 0 to %d, or all", *asked, Problems-1)
		}
		numbers = append(numbers, i)
	}
	return numbers
}

// judgeAll learns problems and judges what came out. Runs are timed, and so made one after the
// other, all else side by side.
func judgeAll(ctx context.Context, numbers []int) ([]*Outcome, error) {
	n := len(numbers)
	problems, best, outcomes := make([]*Problem, n), make([]*Reference, n), make([]*Outcome, n)
	trials, failed := make([]*Trial, n), make([]error, n)
	sideBySide := func(job func(i int) error) error {
		err := parallel.Each(ctx, n, runtime.GOMAXPROCS(0), func(i int) { failed[i] = job(i) })
		return cmp.Or(err, errors.Join(failed...))
	}
	err := sideBySide(func(i int) (err error) {
		if problems[i], err = Draw(numbers[i]); err == nil {
			best[i] = problems[i].Solve()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, p := range problems {
		restore := ceilings.Quiet()
		trials[i], err = p.Try(ctx)
		restore()
		if err != nil {
			return nil, err
		}
		if *asked == "" {
			trials[i].seconds = 0 // tests may run on a machine that does other things, or with a race detector
		}
	}
	err = sideBySide(func(i int) (err error) {
		outcomes[i], err = problems[i].Judge(ctx, trials[i], best[i])
		return err
	})
	return outcomes, err
}

// claims holds runs against what the suite asks for.
func claims(all []*Outcome) report.Table {
	t := report.Table{Headers: []string{"claim", "what is promised", "held", "not"}}
	claim := func(name, promised string, asked, held func(o *Outcome) bool, more string) {
		tried, failed := 0, []string{}
		for _, o := range all {
			if !asked(o) {
				continue
			}
			if tried++; !held(o) {
				failed = append(failed, fmt.Sprint(o.Number))
			}
		}
		share := fmt.Sprintf("%d of %d%s", tried-len(failed), tried, more)
		t.Rows = append(t.Rows, []string{name, promised, share, strings.Join(failed, ", ")})
	}
	of := func(kind string) func(*Outcome) bool {
		return func(o *Outcome) bool { return o.Kind == kind }
	}
	every := func(*Outcome) bool { return true }
	local := 0
	for _, o := range all {
		if o.Local {
			local++
		}
	}
	claim("convex, l2 ≥ 1e-6",
		fmt.Sprintf("the optimum, proved to %g·(1 + |L|) within %d passes and %g s", Accuracy, Passes, Seconds),
		of(Proof), (*Outcome).Solved, "")
	claim("convex, l2 = 0", fmt.Sprintf("the objective of an independent solver, within %g·(1 + |L|)", Accuracy),
		of(Optimum), (*Outcome).Solved, "")
	claim("all others", "a stationary point, no saddle, with nothing lower nearby",
		of(Stationary), (*Outcome).Solved, fmt.Sprintf("; %d are local optima above the best known", local))
	claim("claims of convergence", "inference from scratch confirms each",
		func(o *Outcome) bool { return o.Claimed }, func(o *Outcome) bool { return o.False == "" }, "")
	claim("none above its start", "no run ends above where it began", every, func(o *Outcome) bool { return !o.Rose }, "")
	return t
}

// kinds counts outcomes by what is asked, and counting numbers.
func kinds(all []*Outcome) report.Table {
	groups := map[string][]*Outcome{}
	var names []string
	for _, o := range all {
		name := o.Kind + ", " + o.Counting
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], o)
	}
	slices.Sort(names)
	groups["all"] = all
	t := report.Table{Headers: []string{"problems", "tried", "solved", "passes, median", "largest", "seconds, median",
		"largest"}}
	for _, name := range append(names, "all") {
		var passes, seconds []float64
		solved := 0
		for _, o := range groups[name] {
			passes, seconds = append(passes, o.Passes), append(seconds, o.Seconds)
			if o.Solved() {
				solved++
			}
		}
		t.Rows = append(t.Rows, []string{
			name, fmt.Sprint(len(passes)), fmt.Sprint(solved),
			fmt.Sprintf("%.0f", ceilings.Summarise(slices.Clone(passes)).Median), fmt.Sprintf("%.0f", slices.Max(passes)),
			fmt.Sprintf("%.3f", ceilings.Summarise(slices.Clone(seconds)).Median), fmt.Sprintf("%.3f", slices.Max(seconds)),
		})
	}
	return t
}

// cases lists problems one by one.
func cases(all []*Outcome) report.Table {
	t := report.Table{Headers: []string{"number", "problem", "status", "passes", "seconds", "objective", "best known",
		"what is wrong"}}
	objective := func(x float64) string {
		if math.Abs(x) == math.MaxFloat64 {
			return "–"
		}
		return fmt.Sprintf("%.9g", x)
	}
	for _, o := range all {
		wrong := strings.Join(o.Failures, "; ")
		if o.Local {
			wrong = cmp.Or(wrong, "nothing: a local optimum")
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(o.Number), o.Spec.String(), o.Status, fmt.Sprintf("%.0f", o.Passes), fmt.Sprintf("%.3f", o.Seconds),
			objective(o.Exact), objective(o.Reference.Objective), cmp.Or(wrong, "nothing"),
		})
	}
	return t
}
