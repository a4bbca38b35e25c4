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
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// dampedProblems are those of problems that damped steps are for, and some more.
func dampedProblems(t testing.TB) map[string]Problem {
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
	all["symmetric"] = all["samples"].turned(t, nil)
	return all
}

// dampedAt returns a run whose weights are drawn at random, and messages too, but for one
// sweep, which leaves beliefs that belong to the messages.
func dampedAt(t *testing.T, p Problem, seed uint64) *learner {
	t.Helper()
	rng := source(seed)
	p = p.startingAt(p.randomWeights(seed, 0.7))
	p.Model.Layout.Symmetrise(p.Model.Weights)
	for _, x := range p.Model.Schema.EdgeTypes { // weights of forbidden pairs are zero
		if x.Forbidden != nil {
			p = p.startingAt(make([]float64, len(p.Model.Weights)))
		}
	}
	s := Settings{Threads: 1, Step: &auto{}}.Resolved()
	l := must(newLearner(&p, &s))
	t.Cleanup(l.pool.Close)
	if l.messages.response == nil || !l.messages.response.Damps {
		t.Fatal("not for damped steps")
	}
	for _, u := range l.units {
		for i, m := range u.state.LogMessage {
			u.state.LogMessage[i] = m + rng.NormFloat64()
		}
	}
	for _, set := range l.schedule.wholePass {
		v := visit{blocks: set, limits: bp.Limits{MaxSweeps: 1, NoProx: true}}
		oracle.Must(l.visitBlocks(v))(t)
	}
	return l
}

// upperAt is F of (7) at λ' of all units, one behind the other, and the weights.
func upperAt(l *learner, z []float64) float64 {
	m := l.model.Clone()
	copy(m.Weights, z[len(z)-len(m.Weights):])
	f := l.problem.L2/2*simd.Dot(m.Weights, m.Weights) - simd.Dot(m.Weights, l.sums.data)
	for _, u := range l.units {
		lambda, g := z[:u.net.Messages()], u.in.Graph
		z = z[len(lambda):]
		theta := ground.Condition(m, u.in)
		for s := range int32(g.NumNodes()) {
			a := slices.Clone(theta.Node[theta.NodeAt[s]:][:u.in.States(s)])
			for _, d := range g.Incoming(s) {
				linear.AddShort(a, lambda[u.net.MessageAt(d):][:len(a)], 1)
			}
			f += u.weight * logSum(a, u.net.Counting.Node[s])
		}
		for e := range int32(g.NumEdges()) {
			a := slices.Clone(theta.Edge[theta.EdgeAt[e]:theta.EdgeAt[e+1]])
			kv := u.in.States(g.V(e))
			for i := range a {
				a[i] -= lambda[u.net.MessageAt(2*e+1)+i/kv] + lambda[u.net.MessageAt(2*e)+i%kv]
			}
			f += u.weight * logSum(a, u.net.Counting.Edge[e])
		}
	}
	return f
}

// logSum returns c log Σ exp(x/c).
func logSum(x []float64, c float64) float64 {
	largest, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += math.Exp((v - largest) / c)
	}
	return largest + c*math.Log(sum)
}

// TestDampedStep: at messages that have not settled, a step without much damping solves the system of Newton's method
// on F, of which differences tell along any direction; its slope is negative, and with much damping F falls.
func TestDampedStep(t *testing.T) {
	for name, p := range dampedProblems(t) {
		l := dampedAt(t, p, 3)
		r := l.messages.response
		var z []float64
		for _, u := range l.units {
			for d := range int32(2 * u.in.Graph.NumEdges()) {
				at, belief := u.net.MessageAt(d), u.state.LogBelief[u.net.BeliefAt(u.in.Graph.Target(d)):]
				for x := range u.in.States(u.in.Graph.Target(d)) {
					v := u.net.Counting.Edge[d>>1] * (u.state.LogMessage[at+x] - belief[x])
					if !(math.Abs(v) <= math.MaxFloat64) {
						v = 0 // forbidden
					}
					z = append(z, v)
				}
			}
		}
		z = append(z, l.model.Weights...)
		size := l.model.Layout.Size
		d := linear.NewDense(l.messages.denseProblem(nil))
		direction, gradient := make([]float64, size), make([]float64, size)
		step := func(damping float64) (change []float64) {
			if !d.SolveDamped(direction, gradient, damping) || !r.Tangents(direction, damping) {
				t.Fatalf("%s: no step", name)
			}
			if slope := simd.Dot(direction, gradient); !(slope > 0) {
				t.Errorf("%s: a fall by %v", name, slope)
			}
			for i, u := range l.units {
				messages, beliefs := r.Lines()[4*i], r.Lines()[4*i+1]
				for d := range int32(2 * u.in.Graph.NumEdges()) {
					at, belief := u.net.MessageAt(d), beliefs[u.net.BeliefAt(u.in.Graph.Target(d)):]
					for x := range u.in.States(u.in.Graph.Target(d)) {
						change = append(change, -u.net.Counting.Edge[d>>1]*(messages[at+x]-belief[x]))
					}
				}
			}
			for _, x := range direction {
				change = append(change, -x)
			}
			return change
		}
		at := func(a, b float64, x, y []float64) float64 {
			moved := slices.Clone(z)
			simd.AddScaled(moved, x, a)
			simd.AddScaled(moved, y, b)
			return upperAt(l, moved)
		}
		change := step(1e-13)
		length := math.Sqrt(simd.Dot(change, change))
		rng := source(5)
		for range 5 {
			const h = 1e-3
			v := make([]float64, len(z))
			for i := range v {
				if v[i] = rng.NormFloat64() / math.Sqrt(float64(len(v))); change[i] == 0 {
					v[i] = 0 // weights of forbidden states
				}
			}
			l.model.Layout.Symmetrise(v[len(v)-size:])
			slope := (at(h, 0, v, v) - at(-h, 0, v, v)) / (2 * h)
			a := h / length
			curvature := (at(h, a, v, change) - at(h, -a, v, change) - at(-h, a, v, change) + at(-h, -a, v, change)) / (4 * h * a)
			if math.Abs(slope+curvature) > 1e-5*(1+length) {
				t.Errorf("%s: slope %v, and along the step it changes by %v", name, slope, curvature)
			}
		}
		change = step(1e3)
		if before, after := at(0, 0, change, change), at(1, 0, change, change); !(after < before) {
			t.Errorf("%s: F is %v after a damped step, %v before", name, after, before)
		}
	}
}

// TestDampedSteps: hard problems are solved with F falling, on any number of threads, resumed or not.
func TestDampedSteps(t *testing.T) {
	p := regions(4, 6, 8, 3, 1e-5, 0.1, 30)
	var rule *auto
	run := interruptible{p, func() Settings {
		rule = &auto{}
		return Settings{Method: BBPL, Step: rule, Assign: blocksOf(3), RelativeTolerance: 1e-7, MaxPasses: 1000}
	}}
	want, rounds := run.steps(t)
	last, damped := math.Inf(1), 0
	s := run.settings()
	s.Recorder = func(e Event) error {
		damped += oneIf(rule.descent.movesMessages)
		if rule.descent.began && rule.descent.alpha == 0 && !e.Check {
			if e.Objective > last+valueRounding*(1+math.Abs(last)) {
				t.Errorf("F rises from %v to %v", last, e.Objective)
			}
			last = e.Objective
		}
		return nil
	}
	fit(t, p, s)
	if want.Status != Converged || damped == 0 {
		t.Fatalf("%s, with %d damped steps", want.Reason, damped)
	}
	rng := source(2)
	for threads := range 4 {
		_, state := run.until(t, nil, rounds/4+rng.IntN(3*rounds/4))
		other := run
		other.settings = func() Settings { s := run.settings(); s.Threads = 1 + threads; return s }
		if again, _ := other.until(t, state, math.MaxInt); !sameBits(want, again) {
			t.Errorf("resumed on %d threads: other bits", 1+threads)
		}
	}
}

// TestDampedDeclines: what F is not convex or not smooth for is left to lines.
func TestDampedDeclines(t *testing.T) {
	g := must(graph.Grid(3, 3, graph.GridOptions{}))
	node, edge := slices.Repeat([]float64{1}, 9), slices.Repeat([]float64{0.5}, 12)
	node[4] = 0
	all := problems(t)
	sharp := shape{graph: g, schema: crf.Homogeneous(crf.NumberedStates(2), 2, 1)}.build(t, 1)
	sharp.Counting = counting.Given("zero", node, edge)
	for name, p := range map[string]Problem{"hidden": all["missing"], "trw": all["plain"].with("trw"), "bethe": all["plain"].with("bethe"), "a maximum": sharp} {
		s := Settings{Step: &auto{}}.Resolved()
		if l := must(planLearner(&p, &s)); l.messages.response == nil || l.messages.response.Damps {
			t.Errorf("%s: not declined", name)
		}
	}
}

// TestPromiseOfAPart: half a step promises what a quadratic model says of the whole one, over a half: more may be left.
func TestPromiseOfAPart(t *testing.T) {
	for alpha, want := range map[float64]float64{1: 2, 0.5: 4, 0.125: 16, 2: 2} {
		d := descent{descentState: descentState{descentProgress: descentProgress{slope: -4, alpha: alpha}}}
		oracle.Equal(t, d.promise(), want, "the promise of %v of a step", alpha)
	}
}
