package infer

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// referenceDir holds models solved by independent code. It is not part of the
// repository: the tests that need it skip where it is absent.
const referenceDir = "../../shared/data/reference"

func references(t *testing.T) map[string]*reference {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(referenceDir, "*"))
	if len(dirs) == 0 {
		t.Skip("skipped: the reference models may not be passed on with the repository (other tests compare with enumeration); the test runs where they lie in " + referenceDir)
	}
	all := map[string]*reference{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		r := loadReference(t, dir)
		all[filepath.Base(dir)] = r
	}
	return all
}

func TestReferenceModels(t *testing.T) {
	for name, ref := range references(t) {
		for solution, want := range ref.Solutions {
			counting, tolerance := countingOf(t, ref, solution)
			if counting == nil {
				continue // exact.txt: package exact
			}
			t.Run(name+"/"+solution, func(t *testing.T) {
				got := oracle.Must(beliefPropagation(context.Background(), ref.Model, counting, Limits{Tolerance: 1e-13, MaxSweeps: 20000}))(t)
				t.Logf("%+v gap %g", got.Outcome, got.Gap)
				if got.Outcome.Residual > 1e-11 {
					t.Fatalf("not converged: %+v", got.Outcome)
				}
				oracle.Near(t, got.LogZ, want.LogZ, tolerance*math.Max(1, math.Abs(want.LogZ)), "log Z")
				compare(t, "node", got.Marginals, want.Nodes, tolerance)
				edges := oracle.Must(got.edgeMarginals())(t)
				if want.Edges != nil {
					compare(t, "edge", edges, want.Edges, tolerance)
				}
			})
		}
	}
}

// TestExactOnReferences: elimination finds the same.
func TestExactOnReferences(t *testing.T) {
	for name, ref := range references(t) {
		want := ref.Solutions["exact"]
		if want == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			plan := exact.NewPlan(ref.Model.Network(), math.Inf(1))
			got := oracle.Must(plan.Run(context.Background(), true))(t)
			oracle.Near(t, got.LogZ, want.LogZ, 1e-12*math.Max(1, math.Abs(want.LogZ)), "log Z")
			compare(t, "node", got.Marginals, want.Nodes, 1e-10)
		})
	}
}

// TestProveOnReferences: what is proved of the counting numbers of the reference models holds.
func TestProveOnReferences(t *testing.T) {
	for name, ref := range references(t) {
		for file, counts := range ref.Counts {
			c := oracle.Must(counting.New(file, ref.Model.Graph, counts.Node, counts.Edge))(t)
			c.Prove(ref.Model.Graph)
			if !c.Facts.Dual || !c.Facts.Convex {
				t.Errorf("%s/%s: %+v, and c_s ≥ 0", name, file, c.Facts)
			}
			of := ref.Solutions[strings.Replace(file, "counts_", "convex_", 1)]
			if c.Facts.Bound == counting.Upper && of.LogZ < ref.Solutions["exact"].LogZ {
				t.Errorf("%s/%s: not an upper bound", name, file)
			}
		}
	}
}

// countingOf returns the counting numbers that belong to a solution file, and the accuracy asked of it.
func countingOf(t *testing.T, ref *reference, solution string) (*counting.Numbers, float64) {
	g := ref.Model.Graph
	switch {
	case solution == "bp":
		return counting.Bethe(g), 1e-6
	case strings.HasPrefix(solution, "convex_"):
		counts := ref.Counts["counts_"+strings.TrimPrefix(solution, "convex_")]
		c := oracle.Must(counting.New(solution, g, counts.Node, counts.Edge))(t)
		return c, 1e-8
	case strings.HasPrefix(solution, "trw_"):
		rho, node := ref.Rho["rho_"+strings.TrimPrefix(solution, "trw_")], slices.Repeat([]float64{1}, g.NumNodes())
		for e, ends := range g.Pairs() {
			node[ends[0]] -= rho[e]
			node[ends[1]] -= rho[e]
		}
		return oracle.Must(counting.New(solution, g, node, rho))(t), 1e-6
	}
	return nil, 0
}

func compare(t *testing.T, what string, got, want [][]float64, tolerance float64) {
	t.Helper()
	oracle.MustEqual(t, len(got), len(want), "%s marginals", what)
	for i := range want {
		for x := range want[i] {
			oracle.MustNear(t, got[i][x], want[i][x], tolerance, "%s %d: state %d of %v", what, i, x, got[i])
		}
	}
}

// beliefPropagation starts from constant messages.
func beliefPropagation(ctx context.Context, p *mrf.Pairwise, numbers *counting.Numbers, limits Limits) (*fixedPoint, error) {
	return propagate(ctx, p, numbers, limits)
}

// reduced conditions a network and brings it into pairwise form.
func reduced(t oracle.TB, n *mrf.Network, evidence map[int]int) *reduction {
	return oracle.Must(reduce(n, evidence, func(*mrf.Network) error { return nil }))(t)
}
