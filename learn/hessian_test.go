package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// hessianTimes is the Hessian of L times a direction, by differences of gradients at settled messages.
// The messages that it leaves are those of the weights in the middle.
func hessianTimes(t *testing.T, e *Evaluator, at, direction []float64) []float64 {
	t.Helper()
	const h = 1e-4
	gradient := func(side float64) []float64 {
		w := slices.Clone(at)
		simd.AddScaled(w, direction, side*h)
		settled(t, e, w)
		return slices.Clone(e.l.sums.gradient)
	}
	product := minus(gradient(1), gradient(-1))
	for i := range product {
		product[i] /= 2 * h
	}
	settled(t, e, at)
	return product
}

// lowerTimes is a symmetric matrix, of which only the lower half is there, times a direction.
func lowerTimes(lower, direction []float64) []float64 {
	n := len(direction)
	product := make([]float64, n)
	for i := range product {
		for j, d := range direction {
			product[i] += lower[max(i, j)*n+min(i, j)] * d
		}
	}
	return product
}

// sameProducts compares a matrix with the Hessian by what they make of a direction.
func sameProducts(t *testing.T, what string, m *crf.Model, got, want []float64) {
	t.Helper()
	for i, x := range got {
		if !(math.Abs(x-want[i]) <= 1e-5*(1+math.Abs(want[i]))) {
			t.Errorf("%s: (Hv) at %s is %v, want %v", what, m.WeightName(i), x, want[i])
			return
		}
	}
}

// TestHessianIsExactWithoutCoupling: where edges have no weights, beliefs are anything and yet no node answers to
// another: the estimate with plain messages is the Hessian, found by finite differences.
func TestHessianIsExactWithoutCoupling(t *testing.T) {
	for _, kind := range []string{"plain", "binned", "instances", "mixed types"} {
		for _, counting := range []string{"convex", "trw"} {
			p := problems(t)[kind].with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			at, direction := p.randomWeights(8, 0.7), p.randomWeights(7, 1)
			for _, span := range p.Model.Layout.Edge {
				clear(at[span.At:][:span.Len])
			}
			want, dst := hessianTimes(t, e, at, direction), make([]float64, len(at)*len(at))
			oracle.OK(t, measureOf(e.l, 0)(dst))
			sameProducts(t, kind+", "+counting, p.Model, lowerTimes(dst, direction), want)
		}
	}
}

// squaresOf returns those of the features in the data.
func squaresOf(l *learner) [][]float64 {
	moments := func(kind int) []float64 { return l.statistics().Moments(kind, linear.MaxRotated) }
	return must(linear.NewFisher(&l.model.Layout, l.problem.L2, moments)).Squares
}

// measureOf measures a Hessian by all stars, with the regulariser.
func measureOf(l *learner, damping float64) func(dst []float64) error {
	return func(dst []float64) error {
		err := l.newSample().Measure(dst, squaresOf(l), damping)
		for i := 0; i < len(dst); i += l.model.Layout.Size + 1 {
			dst[i] += l.problem.L2
		}
		return err
	}
}

// TestStars: for weights of nodes the estimate, with plain messages, is what each node answers while its neighbours
// hold theirs. That is what a visit finds whose block is the node alone, with the messages along all of its edges.
func TestStars(t *testing.T) {
	const h, allowed = 1e-4, 1e-6
	for _, counting := range []string{"convex", "trw"} {
		o := problemOptions{rows: 3, cols: 4, states: 3, nodeDim: 2, edgeDim: 2, instances: 1, samples: 1, l2: 0.1}
		p := randomProblem(t, 1, o).with(counting)
		p = p.startingAt(p.randomWeights(8, 0.7))
		s := must(Settings{Method: BBPL, Assign: blocksOf(12)}.resolve(&p))
		l := must(newLearner(&p, &s))
		defer l.close()
		u, weights := l.units[0], slices.Clone(l.model.Weights)
		visitOf := func(block int) {
			limits := bp.Limits{Tolerance: 1e-14, MaxSweeps: 1000, Outward: true, NoProx: true}
			must(l.visitBlocks(visit{blocks: []int{block}, limits: limits}))
		}
		for i := range 400 * l.blocks {
			visitOf(i % l.blocks)
		}
		direction := p.randomWeights(7, 1)
		for _, span := range p.Model.Layout.Edge {
			clear(direction[span.At:][:span.Len])
		}
		dst, n := make([]float64, len(weights)*len(weights)), len(weights)
		oracle.OK(t, measureOf(l, 0)(dst))
		got, want := 0.0, 0.0
		before := bp.State{LogMessage: slices.Clone(u.state.LogMessage), LogBelief: slices.Clone(u.state.LogBelief)}
		for i, d := range direction {
			got -= p.L2 * d * d
			for j, e := range direction {
				got += d * dst[max(i, j)*n+min(i, j)] * e
			}
		}
		for block := range l.blocks {
			for _, node := range u.partition.Blocks[block].Nodes {
				span, belief := p.Model.Layout.Node[0], make([]float64, o.states)
				feature := make([]float64, span.Features)
				u.in.NodeFeatures(0).Row(feature, u.in.NodeRow(node))
				for _, side := range []float64{1, -1} {
					for i, d := range direction {
						l.model.Weights[i] = weights[i] + side*h*d
					}
					visitOf(block)
					u.net.Belief(belief, u.state, node)
					for x, b := range belief {
						for j, f := range feature {
							want += u.nodeCurvature(node) * side * b / (2 * h) * f * direction[span.At+j*span.States+x]
						}
					}
					copy(u.state.LogMessage, before.LogMessage)
					copy(u.state.LogBelief, before.LogBelief)
				}
			}
		}
		if !(math.Abs(got-want) <= allowed*want) {
			t.Errorf("%s: vᵀHv is %v, want %v", counting, got, want)
		}
	}
}

// TestStarsOfTiedNodes: nodes that are tied move together, which plain stars miss, as neighbours hold their beliefs
// there. Those of damped messages do not.
func TestStarsOfTiedNodes(t *testing.T) {
	p := randomProblem(t, 5, problemOptions{
		rows: 4, cols: 4, states: 3, nodeDim: 2, edgeDim: 1, bins: true, instances: 1, samples: 1, l2: 1e-3,
	})
	at, direction, edge := p.randomWeights(3, 0.1), make([]float64, len(p.Model.Weights)), &p.Model.Layout.Edge[0]
	for x := range 3 {
		at[edge.At+4*x] = 4
	}
	direction[edge.At] = 1 // more of all nodes in state 0
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	want := simd.Dot(direction, hessianTimes(t, e, at, direction))
	curvature := func(damping float64) float64 {
		dst := make([]float64, len(at)*len(at))
		oracle.OK(t, measureOf(e.l, damping)(dst))
		return simd.Dot(direction, lowerTimes(dst, direction)) / want
	}
	if plain, damped := curvature(0), curvature(linear.TiedDamping); !(plain < 0.2 && damped > 0.5 && damped < 2) {
		t.Errorf("curvature beside that of the Hessian: plain stars %v, damped ones %v", plain, damped)
	}
}

// TestSampledHessian: a sample of the nodes and edges gives about what all give.
func TestSampledHessian(t *testing.T) {
	p := problems(t)["binned"]
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	settled(t, e, p.randomWeights(3, 0.3))
	n := len(p.Model.Weights)
	all, some := make([]float64, n*n), make([]float64, n*n)
	m := e.l.newSample()
	oracle.OK(t, m.Measure(all, squaresOf(e.l), 0))
	nodes := 0
	for _, u := range e.l.units {
		if u.weight > 0 {
			nodes += u.in.Graph.NumNodes()
		}
	}
	m.Most = 2 * nodes / 3
	oracle.OK(t, m.Measure(some, squaresOf(e.l), 0))
	// Nodes are drawn each by itself: their number is about as wanted.
	if drawn := m.Drawn(); drawn > m.Most*5/4 || drawn < m.Most/2 {
		t.Errorf("drew %d of %d nodes, want about %d", drawn, nodes, m.Most)
	}
	trace := func(x []float64) (sum float64) {
		for i := range n {
			sum += x[i*n+i]
		}
		return sum
	}
	if ratio := trace(some) / trace(all); !(ratio > 0.7 && ratio < 1.4) {
		t.Errorf("the trace of a sample is %v of that of all", ratio)
	}
}

// TestHessianOfThreads: whatever the threads, the Hessian has the same bits, and so has its factor.
func TestHessianOfThreads(t *testing.T) {
	wide := problemOptions{rows: 20, cols: 20, states: 4, nodeDim: 9, edgeDim: 6, instances: 3, l2: 0.1}
	for name, p := range map[string]Problem{"mixed types": problems(t)["mixed types"], "instances": problems(t)["instances"], "wide": randomProblem(t, 1, wide)} {
		var first []float64
		for _, threads := range []int{1, 2, 5} {
			e := must(NewEvaluator(p, threads))
			defer e.Close()
			must(e.At(p.randomWeights(3, 0.3)))
			n := len(p.Model.Weights)
			m, h := e.l.newSample(), make([]float64, n*n)
			for range 2 { // what one measurement leaves is nothing to the next
				oracle.OK(t, m.Measure(h, squaresOf(e.l), 0))
			}
			dst := slices.Clone(h)
			if linear.Stiffen(h, n, p.L2+1e-9); !linear.Factorise(h, n, e.l.each) {
				t.Fatalf("%s: the Hessian is not positive definite", name)
			}
			dst = append(dst, h...)
			if first == nil {
				first = dst
			}
			if !slices.Equal(dst, first) {
				t.Errorf("%s: other bits with %d threads", name, threads)
			}
		}
	}
}
