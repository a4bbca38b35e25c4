package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// watching is the automatic rule, seen before and after each of its early steps.
type watching struct {
	auto
	before func(theta []float64)
	after  func()
}

func (w *watching) Step(theta, gradient []float64) float64 {
	on := w.descent.began
	if !on {
		w.before(theta)
	}
	size := w.auto.Step(theta, gradient)
	if !on {
		w.after()
	}
	return size
}

// TestMeanOfVisits: θ̄ is the mean, over all nodes and edges, of the weights at the last
// visit to each node, and to the two ends of each edge, found element by element; of untied weights, those of their own
// element.
func TestMeanOfVisits(t *testing.T) {
	cases := problems(t)
	cases["untied"] = untiedShape(must(graph.Grid(4, 4, graph.GridOptions{})), 3).build(t, 2)
	for kind, p := range cases {
		for name, s := range runs {
			var l *learner
			last := map[*unit][][]float64{} // of nodes, then edges
			rule := &watching{}
			rule.before = func(theta []float64) {
				for _, u := range l.units {
					for _, x := range l.schedule[l.position] {
						block := &u.partition.Blocks[x]
						for _, s := range block.Nodes {
							last[u][s] = append([]float64(nil), theta...)
						}
						for _, e := range block.Edges {
							last[u][u.in.Graph.NumNodes()+int(e)] = append([]float64(nil), theta...)
						}
					}
				}
			}
			checked := 0
			rule.after = func() {
				checked++
				want, total := make([]float64, len(p.Model.Weights)), 0.0
				for _, u := range l.units {
					if u.weight < 0 {
						continue
					}
					nodes := u.in.Graph.NumNodes()
					add := func(theta []float64, weight float64) {
						total += weight
						for j, x := range theta {
							want[j] += weight * x
						}
					}
					for _, theta := range last[u][:nodes] {
						add(theta, u.weight)
					}
					for e := range int32(u.in.Graph.NumEdges()) {
						add(last[u][u.in.Graph.U(e)], u.weight/2)
						add(last[u][u.in.Graph.V(e)], u.weight/2)
					}
				}
				for j := range want {
					want[j] /= total
				}
				for _, u := range l.units {
					own := func(span *crf.Span, row, element int) {
						if at := span.At + row*span.Copy(); span.Untied {
							copy(want[at:][:span.Copy()], last[u][element][at:])
						}
					}
					for s := range int32(u.in.Graph.NumNodes()) {
						own(&l.model.Layout.Node[u.in.NodeType(s)], u.in.NodeRow(s), int(s))
					}
					for e := range int32(u.in.Graph.NumEdges()) {
						own(&l.model.Layout.Edge[u.in.EdgeType(e)], u.in.EdgeRow(e), u.in.Graph.NumNodes()+int(e))
					}
				}
				for j, x := range want {
					if !near(rule.incremental.mean[j], x, 1e-12) {
						t.Fatalf("%s, %s, visit %d: θ̄[%d] is %v, want %v", kind, name, checked, j, rule.incremental.mean[j], x)
					}
				}
			}
			s.Step = rule
			s = s.Resolved()
			l = must(newLearner(&p, &s))
			for _, u := range l.units {
				for range u.in.Graph.NumNodes() + u.in.Graph.NumEdges() {
					last[u] = append(last[u], p.Model.Weights)
				}
			}
			for l.progress.Check.Active {
				must(l.visitInPass())
			}
			for range 3*l.perPass() + 1 {
				if l.progress.Check.Active {
					break
				}
				oracle.OK(t, l.iterate())
			}
			l.pool.Close()
			if checked == 0 {
				t.Errorf("%s, %s: nothing checked", kind, name)
			}
		}
	}
}

// TestEarlySteps: with a regulariser of 0.1 for each variable the first visit of one of 20
// blocks, nearly a whole Newton step, leads to within a third of the optimum, and the pass of visits with two or
// three whole passes to within 1 %, in any order.
func TestEarlySteps(t *testing.T) {
	const blocks = 20
	p := randomProblem(t, 1, problemOptions{rows: 20, cols: 20, states: 4, nodeDim: 5, edgeDim: 3, l2: 0.1 * 400})
	star := fit(t, p, Settings{Method: InnerDual, RelativeTolerance: 1e-9}).Model.Weights
	for name, c := range map[string]struct {
		random bool
		within int
	}{"in order": {false, 3 * blocks}, "at random": {true, 4 * blocks}} {
		rule, first, visits := &auto{}, math.NaN(), 0
		s := Settings{Method: BBPL, Assign: blocksOf(blocks), Step: rule, RandomOrder: c.random, MaxIterations: c.within, GradientTolerance: 1e-300, Recorder: func(e Event) error {
			if e.Check {
				return nil
			}
			away := 0.0
			for j, x := range e.Theta {
				away += (x - star[j]) * (x - star[j])
			}
			away = math.Sqrt(away) / norm(star)
			if e.Iteration == 1 {
				first = away
			}
			if away <= 0.01 && visits == 0 {
				visits = e.Iteration
			}
			return nil
		}}
		fit(t, p, s)
		t.Logf("%s: %.3f after the first visit, 1 %% after %d", name, first, visits)
		if !(first < 1./3) || visits == 0 {
			t.Errorf("%s: %.3f of the way is left after the first visit, and 1 %% after %d of at most %d", name, first, visits, c.within)
		}
	}
}

// wild is the automatic rule with visits that lead far away: messages there are no start for anything.
type wild struct {
	*auto
	scale float64
}

func (a wild) Step(theta, gradient []float64) float64 {
	size := a.auto.Step(theta, gradient)
	for i, x := range a.startWeights {
		theta[i] = x + a.scale*(theta[i]-x)
		a.descent.direction[i] = x - theta[i]
	}
	return size
}

// TestVisitsThatLeadAstray: where F is larger where visits have led than at the start, descent begins at the start, with
// messages of a start, and ends where it always does.
func TestVisitsThatLeadAstray(t *testing.T) {
	for name, p := range problems(t) {
		p.L2 = 1e-6
		for _, p := range []Problem{p.with("convex"), regions(3, 30, 30, 4, 1e-6, 0.3, 1).with("trw")} {
			s := Settings{Assign: blocksOf(4), RelativeTolerance: 1e-3, Gap: 1e-2, MaxPasses: 1000}
			want := fit(t, p, s)
			for _, scale := range []float64{1e4, 1e8, 1e12} {
				s.Step = wild{&auto{}, scale}
				r := fit(t, p, s)
				if !r.Status.Stationary() || r.Objective-r.Suboptimality > want.Objective+1e-9 || !near(r.Objective, want.Objective, 0.02) || r.Passes > 3*want.Passes+50 {
					t.Errorf("%s, × %g: %s after %v passes at %v, want %v after %v: %s", name, scale, r.Status, r.Passes, r.Objective, want.Objective, want.Passes, r.Reason)
				}
			}
		}
	}
}
