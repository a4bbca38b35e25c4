package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
)

// newtonProblems are those of problems that Newton's method takes, and some more.
func newtonProblems(t testing.TB) map[string]Problem {
	all := problems(t)
	delete(all, "missing")
	delete(all, "mixed missing")
	all["masked"] = chainOf(t, 6, 3, 2)
	all["no edges"] = shape{graph: must(graph.FromEdges(5, nil, nil)), schema: crf.Homogeneous(crf.NumberedStates(3), 2, 1), l2: 0.1, instances: 2}.build(t, 4)
	all["disconnected"] = shape{graph: must(graph.FromEdges(7, []int32{0, 1, 4}, []int32{1, 2, 5})), schema: crf.Homogeneous(crf.NumberedStates(2), 2, 2), l2: 0.1, samples: 3}.build(t, 4)
	all["scale-free"] = shape{graph: must(gen.BarabasiAlbert(14, 2, source(3))), schema: crf.Homogeneous(crf.NumberedStates(3), 2, 2), l2: 0.05}.build(t, 5)
	weighted := all["instances"]
	weighted.Data = slices.Clone(weighted.Data)
	node, edge := make([]float64, 16), make([]float64, 24)
	for i := range node {
		node[i] = 0.5 + 0.1*float64(i%4)
	}
	for e := range edge {
		edge[e] = 0.3 + 0.2*float64(e%3)
	}
	weighted.Counting = counting.Given("some", node, edge)
	all["given numbers"] = weighted
	return all
}

// newtonAt returns a learner whose weights and messages are drawn at random.
func newtonAt(t *testing.T, p Problem, seed uint64, threads int) *learner {
	t.Helper()
	rng := source(seed)
	p = p.startingAt(p.randomWeights(seed, 0.7))
	s := Settings{Threads: threads}.Resolved()
	l := must(newLearner(&p, &s))
	t.Cleanup(l.pool.close)
	if l.newton == nil {
		t.Fatal("not for Newton's method")
	}
	for _, u := range l.units {
		for i := range u.state.LogMessage {
			u.state.LogMessage[i] = rng.NormFloat64()
		}
		for i := range u.state.LogBelief {
			u.state.LogBelief[i] += 0.5 * rng.NormFloat64()
		}
	}
	return l
}

// joint is F at λ', one network behind the other, and the weights, and its gradient.
func (n *newton) joint(z []float64) (value float64, gradient []float64) {
	weights := z[len(z)-n.columns+1:]
	copy(n.l.model.Weights, weights)
	gradient = make([]float64, len(z))
	slope, at := gradient[len(z)-n.columns+1:], 0
	metric := make([]float64, n.columns-1)
	for _, u := range n.units {
		at += copy(u.lambda, z[at:])
	}
	at, dual := 0, 0.0
	for _, u := range n.units {
		w := n.workers[0]
		dual += u.weight * u.infer(w, n.l.model)
		u.addGradient(w, n.l.model, slope, metric)
		g := u.in.Graph
		for e := range int32(g.NumEdges()) {
			belief := u.edgeBelief(e)
			for _, d := range []int32{2 * e, 2*e + 1} {
				kv := int(u.net.Card[g.V(e)])
				for x, b := range u.nodeBelief(g.Target(d)) {
					q := 0.0
					for i, v := range belief {
						if d == 2*e && i%kv == x || d == 2*e+1 && i/kv == x {
							q += v
						}
					}
					gradient[at+u.net.MessageAt(d)+x] = u.weight * (b - q)
				}
			}
		}
		at += len(u.lambda)
	}
	for i, x := range weights {
		slope[i] += n.l.problem.L2*x - n.l.data[i]
	}
	return n.saddle(dual, weights), gradient
}

// TestNewtonDerivatives: F and its gradient agree by differences, and the step, which is
// found by sparse elimination, solves the dense system of differences of gradients, at
// messages that are far from settled.
func TestNewtonDerivatives(t *testing.T) {
	for name, p := range newtonProblems(t) {
		l := newtonAt(t, p, 3, 1)
		n := l.newton
		n.evaluate()
		var z []float64
		for _, u := range n.units {
			z = append(z, u.lambda...)
		}
		z = append(z, l.model.Weights...)
		value, gradient := n.joint(z)
		if !near(value, l.progress.Objective, 1e-12) {
			t.Errorf("%s: F is %v, evaluated %v", name, value, l.progress.Objective)
		}
		const h = 1e-5
		size := len(z)
		dense := make([]float64, size*size)
		for i := range z {
			x := z[i]
			z[i] = x + h
			up, gUp := n.joint(z)
			z[i] = x - h
			down, gDown := n.joint(z)
			z[i] = x
			if d := (up - down) / (2 * h); math.Abs(d-gradient[i]) > 1e-7*(1+math.Abs(value)) {
				t.Fatalf("%s: derivative %d is %v, by differences %v", name, i, gradient[i], d)
			}
			for j := range z {
				dense[j*size+i] = (gUp[j] - gDown[j]) / (2 * h)
			}
		}
		n.joint(z)
		n.scalars[newtonMu] = 0.1
		n.evaluate()
		promise, ok := n.solve()
		if !ok {
			t.Fatalf("%s: not positive definite", name)
		}
		var step, damping []float64
		for _, u := range n.units {
			for i, x := range u.lambda {
				step = append(step, u.step[i]-x)
				damping = append(damping, u.damped[u.order.place[i]])
			}
		}
		step, damping = append(step, n.step...), append(damping, n.damped...)
		promised, worst, scale := 0.0, 0.0, 0.0
		for i := range step {
			sum := gradient[i] + damping[i]*step[i]
			for j, d := range step {
				sum += dense[i*size+j] * d
				promised -= step[i] * dense[i*size+j] * d / 2
			}
			promised -= gradient[i] * step[i]
			worst, scale = max(worst, math.Abs(sum)), max(scale, math.Abs(gradient[i]))
		}
		if worst > 1e-7*scale {
			t.Errorf("%s: the step leaves a residual of %v, the gradient is up to %v", name, worst, scale)
		}
		if !near(promise, promised, 1e-6) || !(promise > 0) {
			t.Errorf("%s: promises %v, want %v", name, promise, promised)
		}
	}
}

// TestNewtonFactor: the factor of a sparse matrix, eliminated in an order of minimum degree,
// is that of the dense one, for graphs of many shapes.
func TestNewtonFactor(t *testing.T) {
	for name, p := range newtonProblems(t) {
		l := newtonAt(t, p, 5, 1)
		n := l.newton
		n.evaluate()
		for _, u := range n.units {
			w := n.workers[0]
			u.assemble(w, l.model, 0.5, n.columns)
			e, size := u.order, u.order.size
			dense := make([]float64, size*size)
			for _, p := range e.panels {
				for i := range p.height() {
					row := p.first + i
					if i >= p.width {
						row = int(p.rows[i-p.width])
					}
					for j := range p.width {
						if col := p.first + j; col <= row {
							dense[row*size+col] = u.factor[p.at+i*p.width+j]
						}
					}
				}
			}
			if !factorise(dense, size, oneThread) || !e.factorise(u.factor, w.local) {
				t.Fatalf("%s: not positive definite", name)
			}
			nonzero := 0
			for i, x := range dense {
				if x != 0 && i%size <= i/size {
					nonzero++
				}
			}
			if nonzero > e.numbers {
				t.Errorf("%s: %d numbers in the factor, kept are %d", name, nonzero, e.numbers)
			}
			for _, p := range e.panels {
				for i := range p.height() {
					row := p.first + i
					if i >= p.width {
						row = int(p.rows[i-p.width])
					}
					for j := range p.width {
						col := p.first + j
						if got, want := u.factor[p.at+i*p.width+j], dense[row*size+col]; col <= row && math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
							t.Fatalf("%s: L[%d,%d] is %v, want %v", name, row, col, got, want)
						}
					}
				}
			}
		}
	}
}

// TestNewtonOrder: what the factor takes grows with the length of chains, trees and narrow
// grids, and not with its square; a hub is a clique of its messages, and what takes too much
// is declined.
func TestNewtonOrder(t *testing.T) {
	order := func(g *graph.Graph, states int) *elimination {
		card := slices.Repeat([]int32{int32(states)}, g.NumNodes())
		return newElimination(must(bp.NewNet(g, card, counting.Convex(g), nil)), math.Inf(1), math.Inf(1))
	}
	for name, at := range map[string]func(n int) *graph.Graph{
		"chain": func(n int) *graph.Graph { return must(gen.Chain(n)) },
		"tree":  func(n int) *graph.Graph { return must(gen.Tree(n, source(2))) },
		"grid":  func(n int) *graph.Graph { return must(graph.Grid(4, n, graph.GridOptions{})) },
	} {
		small, large := order(at(100), 3), order(at(400), 3)
		if ratio := float64(large.numbers) / float64(small.numbers); ratio > 5 {
			t.Errorf("%s: %.1f times the numbers for 4 times the nodes", name, ratio)
		}
		for _, e := range []*elimination{small, large} {
			if seen := slices.Sorted(slices.Values(e.place)); !slices.Equal(seen, numbersTo(e.size)) {
				t.Fatalf("%s: the order is no permutation", name)
			}
		}
	}
	g := must(graph.Grid(20, 20, graph.GridOptions{}))
	net := must(bp.NewNet(g, slices.Repeat([]int32{4}, 400), counting.Convex(g), nil))
	whole := newElimination(net, math.Inf(1), math.Inf(1))
	if newElimination(net, math.Inf(1), whole.factorWork/2) != nil || newElimination(net, float64(whole.numbers)/2, math.Inf(1)) != nil {
		t.Error("a factor that takes too much is not declined")
	}
	if newElimination(net, float64(whole.numbers), 2*whole.factorWork) == nil {
		t.Error("a factor that fits is declined")
	}
}

func numbersTo(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// TestNewtonFinds: every problem is solved to the tolerance with F falling in each step that
// is taken, its weights are those that block visits find, and it is the same on any number
// of threads, resumed or not.
func TestNewtonFinds(t *testing.T) {
	for name, p := range newtonProblems(t) {
		last, steps := math.Inf(1), 0
		run := interruptible{p, func() Settings { return Settings{Method: BBPL, RelativeTolerance: 1e-9, newtonAfter: -1} }}
		s := run.settings()
		s.Recorder = func(e Event) error {
			if e.Block >= 0 {
				t.Fatalf("%s: a block was visited", name)
			}
			if !e.Check {
				if e.Step == 1 && e.Objective > last*(1+1e-12) || e.Step == 0 && e.Objective > last {
					t.Errorf("%s: F rises from %v to %v", name, last, e.Objective)
				}
				last, steps = e.Objective, steps+1
			}
			return nil
		}
		r := fit(t, p, s)
		if r.Status != Converged || steps > 30 {
			t.Errorf("%s: %s after %d steps", name, r.Reason, steps)
		}
		s.Recorder, s.newtonAfter = nil, math.Inf(1)
		if visits := fit(t, p, s); r.Objective > visits.Objective+1e-9*(1+math.Abs(visits.Objective)) {
			t.Errorf("%s: objective %v, by block visits %v", name, r.Objective, visits.Objective)
		}
		want, rounds := run.steps(t)
		if !sameBits(r, want) {
			t.Errorf("%s: other bits in steps", name)
		}
		for threads := 1; threads <= 3; threads++ {
			_, state := run.until(t, nil, rounds*threads/4)
			other := run
			other.settings = func() Settings { s := run.settings(); s.Threads = threads; return s }
			if again, _ := other.until(t, state, math.MaxInt); !sameBits(want, again) {
				t.Errorf("%s: resumed on %d threads: other bits", name, threads)
			}
		}
	}
}

// TestNewtonDeclines: what F is not convex or not smooth for is left to block visits.
func TestNewtonDeclines(t *testing.T) {
	g := must(graph.Grid(3, 3, graph.GridOptions{}))
	node, edge := slices.Repeat([]float64{1}, 9), slices.Repeat([]float64{0.5}, 12)
	node[4] = 0
	all := problems(t)
	sharp := shape{graph: g, schema: crf.Homogeneous(crf.NumberedStates(2), 2, 1)}.build(t, 1)
	sharp.Counting = counting.Given("zero", node, edge)
	large := randomProblem(t, 1, problemOptions{rows: 60, cols: 60, states: 4, nodeDim: 2, edgeDim: 2})
	for name, p := range map[string]Problem{"hidden": all["missing"], "trw": all["plain"].with("trw"), "bethe": all["plain"].with("bethe"), "a maximum": sharp, "large": large} {
		s := Settings{}.Resolved()
		if l := must(planLearner(&p, &s)); l.newton != nil {
			t.Errorf("%s: not declined", name)
		}
	}
	p := all["plain"]
	for name, s := range map[string]Settings{"fixed": {Step: must(ParseStep("fixed:0.1"))}, "first order": {Step: FirstOrder()}} {
		s = s.Resolved()
		if l := must(planLearner(&p, &s)); l.newton != nil {
			t.Errorf("%s: not declined", name)
		}
	}
}
