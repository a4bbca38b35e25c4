package study

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/optimize"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/experiment"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/learn"
)

// Pseudo is where maximum pseudo-likelihood (Besag 1975) ends. It is another
// estimator, so its weights differ from θ*: Objective and Distance say by how much.
type Pseudo struct {
	Objective   float64 `json:"objective"` // L of (8) at its weights
	Distance    float64 `json:"distance"`  // ‖θ−θ*‖/‖θ*‖
	Evaluations int     `json:"evaluations"`
	Seconds     float64 `json:"seconds"`
}

// pseudoTolerance is the largest entry of the gradient, relative to that at the
// start, that pseudo-likelihood is solved to.
const pseudoTolerance = 1e-6

// pseudoLikelihood is the problem with B(θ) − ⟨θ,w⟩ of each sample replaced by
//
//	−Σ_s log p(x_s | x_N(s)),   p(x_s = i | x_N(s)) ∝ exp{θ_s(i) + Σ_v θ_sv(i, x_v)}
//
// and the regulariser as it is. Nodes without a label, and edges to them, are left
// out.
type pseudoLikelihood struct {
	problem   *learn.Problem
	model     *crf.Model
	adjoint   *crf.Adjoint
	instances []pseudoInstance
	samples   int
	potential crf.Potentials
	logits    []float64
}

// pseudoInstance has room for the derivatives by the potentials of one instance.
type pseudoInstance struct {
	in    *crf.Instance
	whole *partition.Partition
	node  []float64 // laid out like Potentials.Node
	edge  []float64 // [edges] one table each, from edgeAt
	at    []int     // [edges]
}

func newPseudoLikelihood(p *learn.Problem) (*pseudoLikelihood, error) {
	l := &pseudoLikelihood{problem: p, model: p.Model.Clone(), adjoint: crf.NewAdjoint(p.Model)}
	for _, spans := range [][]crf.Span{l.model.Layout.Node, l.model.Layout.Edge} {
		for _, span := range spans {
			if span.Untied {
				return nil, errors.New("study: pseudo-likelihood is for tied weights only")
			}
			l.logits = append(l.logits, make([]float64, span.States)...)
		}
	}
	for _, in := range p.Data {
		x := pseudoInstance{in: in, whole: partition.Whole(in.Graph)}
		nodes, edges := 0, 0
		for s := range in.Graph.NumNodes() {
			nodes += in.States(int32(s))
		}
		for e := range in.Graph.NumEdges() {
			x.at = append(x.at, edges)
			edges += l.model.Layout.Edge[in.EdgeType(int32(e))].States
		}
		x.node, x.edge = make([]float64, nodes), make([]float64, edges)
		l.instances = append(l.instances, x)
		l.samples += len(in.Samples())
	}
	return l, nil
}

// evaluate returns the objective at weights theta and writes its gradient.
func (l *pseudoLikelihood) evaluate(gradient, theta []float64) float64 {
	copy(l.model.Weights, theta)
	value := 0.0
	for i, w := range theta {
		gradient[i] = l.problem.L2 * w
		value += l.problem.L2 / 2 * w * w
	}
	for i := range l.instances {
		x := &l.instances[i]
		l.model.Ground(&l.potential, x.in, &x.whole.Blocks[0])
		clear(x.node)
		clear(x.edge)
		for _, labels := range x.in.Samples() {
			value += l.sample(x, labels, 1/float64(l.samples))
		}
		l.scatter(gradient, x)
	}
	return value
}

// sample adds the derivatives of one sample, times weight, and returns its share
// of the objective.
func (l *pseudoLikelihood) sample(x *pseudoInstance, labels []int32, weight float64) (value float64) {
	for s, y := range labels {
		if y == crf.Unobserved {
			continue
		}
		p := l.logits[:x.in.States(int32(s))]
		copy(p, l.potential.Node[l.potential.NodeAt[s]:])
		incoming := x.in.Graph.Incoming(int32(s))
		for _, d := range incoming {
			if at, stride, ok := x.column(d, labels, len(p)); ok {
				table := l.potential.Table[l.potential.EdgeAt[d>>1]:]
				for i := range p {
					p[i] += table[at+i*stride]
				}
			}
		}
		value -= weight * softmax(p, int(y))
		p[y]--
		node := x.node[l.potential.NodeAt[s]:]
		for i := range p {
			p[i] *= weight
			node[i] += p[i]
		}
		for _, d := range incoming {
			if at, stride, ok := x.column(d, labels, len(p)); ok {
				table := x.edge[x.at[d>>1]:]
				for i := range p {
					table[at+i*stride] += p[i]
				}
			}
		}
	}
	return value
}

// column returns where, in the table of the edge of d, the entries stand that go
// with the label of d's source; ok is false where it has none. Directed edge 2e
// leads from U, whose state is slow.
func (x *pseudoInstance) column(d int32, labels []int32, states int) (at, stride int, ok bool) {
	source := x.in.Graph.Source(d)
	y := int(labels[source])
	if labels[source] == crf.Unobserved {
		return 0, 0, false
	}
	if d&1 == 0 {
		return y * states, 1, true
	}
	return y, x.in.States(source), true
}

// softmax replaces logits by probabilities and returns the logarithm of the y-th.
func softmax(p []float64, y int) float64 {
	largest := math.Inf(-1)
	for _, x := range p {
		largest = max(largest, x)
	}
	sum, chosen := 0.0, p[y]-largest
	for i, x := range p {
		p[i] = math.Exp(x - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return chosen - math.Log(sum)
}

// scatter multiplies the derivatives by the features into the gradient.
func (l *pseudoLikelihood) scatter(gradient []float64, x *pseudoInstance) {
	for s := range x.in.Graph.NumNodes() {
		span := &l.model.Layout.Node[x.in.NodeType(int32(s))]
		l.adjoint.ScatterNode(gradient[span.At:][:span.Len], x.in, int32(s), x.node[l.potential.NodeAt[s]:l.potential.NodeAt[s+1]])
	}
	for e := range x.in.Graph.NumEdges() {
		span := &l.model.Layout.Edge[x.in.EdgeType(int32(e))]
		l.adjoint.ScatterEdge(gradient[span.At:][:span.Len], x.in, int32(e), x.edge[x.at[e]:][:span.States])
	}
}

// minimise returns the weights that maximise the pseudo-likelihood, by L-BFGS from
// zero.
func (l *pseudoLikelihood) minimise() (theta []float64, evaluations int, err error) {
	size := len(l.model.Weights)
	at, gradient := []float64(nil), make([]float64, size)
	value := 0.0
	evaluate := func(x []float64) {
		same := len(at) > 0
		for i := 0; same && i < size; i++ {
			same = at[i] == x[i]
		}
		if !same {
			at = append(at[:0], x...)
			value = l.evaluate(gradient, x)
			evaluations++
		}
	}
	start := make([]float64, size)
	evaluate(start)
	largest := 0.0
	for _, g := range gradient {
		largest = max(largest, math.Abs(g))
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { evaluate(x); return value },
		Grad: func(dst, x []float64) { evaluate(x); copy(dst, gradient) },
	}
	r, err := optimize.Minimize(problem, start, &optimize.Settings{
		GradientThreshold: pseudoTolerance * largest, Converger: optimize.NeverTerminate{},
	}, &optimize.LBFGS{})
	if r == nil || r.Status != optimize.GradientThreshold {
		return nil, evaluations, fmt.Errorf("study: pseudo-likelihood was not maximised: %v", err)
	}
	return r.X, evaluations, nil
}

// pseudo maximises the pseudo-likelihood and judges the result by the objective
// that the other methods minimise.
func (b *bench) pseudo(star []float64) (*Pseudo, error) {
	started := time.Now()
	l, err := newPseudoLikelihood(&b.problem)
	if err != nil {
		return nil, err
	}
	theta, evaluations, err := l.minimise()
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", b.spec.Name(), b.spec.Seed, err)
	}
	p := &Pseudo{Distance: experiment.RelativeDistance(theta, star), Evaluations: evaluations, Seconds: time.Since(started).Seconds()}
	evaluator, err := learn.NewEvaluator(b.problem, 1)
	if err != nil {
		return nil, err
	}
	defer evaluator.Close()
	exact, err := evaluator.At(theta)
	p.Objective = exact.Objective
	return p, err
}
