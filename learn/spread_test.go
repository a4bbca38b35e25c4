package learn

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/oracle"
)

// spreadByDifferences is the covariance by its definition: from gradients of whole and of
// one-sample problems, over a basis of the weights that a model can have.
func spreadByDifferences(t *testing.T, p Problem, method Method) *mat.Dense {
	t.Helper()
	w := p.Model.Weights
	basis := basisOf(&p.Model.Layout)
	_, k := basis.Dims()
	gradient := func(p Problem, w []float64) *mat.VecDense {
		_, g := localAt(p, method, 1, w)
		var reduced mat.VecDense
		reduced.MulVec(basis.T(), mat.NewVecDense(len(g), g))
		return &reduced
	}
	h := mat.NewDense(k, k, nil)
	const step = 1e-5
	for j := range k {
		up, down := append([]float64(nil), w...), append([]float64(nil), w...)
		for i := range w {
			up[i] += step * basis.At(i, j)
			down[i] -= step * basis.At(i, j)
		}
		var column mat.VecDense
		column.SubVec(gradient(p, up), gradient(p, down))
		column.ScaleVec(1/(2*step), &column)
		h.SetCol(j, column.RawVector().Data)
	}
	total := 0.0
	v, mean := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for _, in := range p.Data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	for _, in := range p.Data {
		for _, labels := range in.Samples() {
			one := p
			one.L2, one.Data = 0, []*crf.Instance{changed(in, func(spec *crf.InstanceSpec) { spec.Labels, spec.Weight = [][]int32{labels}, 1 })}
			g := gradient(one, w)
			v.RankOne(v, in.Weight()/total, g, g)
			mean.AddScaledVec(mean, in.Weight()/total, g)
		}
	}
	v.RankOne(v, -1, mean, mean)
	var prior mat.Dense
	prior.Mul(basis.T(), basis)
	prior.Scale(p.L2, &prior)
	v.Add(v, &prior)
	var inverse, cov, half, all mat.Dense
	oracle.OK(t, inverse.Inverse(h))
	cov.CloneFrom(&inverse)
	if method == Pseudo {
		half.Mul(&inverse, v)
		cov.Mul(&half, inverse.T())
	}
	cov.Scale(1/total, &cov)
	half.Reset()
	half.Mul(basis, &cov)
	all.Mul(&half, basis.T())
	return &all
}

// basisOf spans the weights that symmetric types can have.
func basisOf(layout *crf.Layout) *mat.Dense {
	var columns [][]float64
	for i := range layout.Size {
		unit := make([]float64, layout.Size)
		unit[i] = 1
		layout.Symmetrise(unit)
		if unit[i] == 1 {
			columns = append(columns, unit)
			continue
		}
		for j := range unit {
			if unit[j] != 0 && j > i { // once for both
				columns = append(columns, unit)
			}
		}
	}
	b := mat.NewDense(layout.Size, len(columns), nil)
	for j, c := range columns {
		b.SetCol(j, c)
	}
	return b
}

// TestSpreadByDifferences: the covariance is that of the definition, for features of all forms, several instances,
// hidden labels, weights of instances and of classes, and symmetric types.
func TestSpreadByDifferences(t *testing.T) {
	oracle.Long(t)
	all := problems(t)
	for name, p := range symmetricProblems(t) {
		all["symmetric "+name] = p
	}
	weighted := all["samples"]
	weighted.Data = []*crf.Instance{reweighted(weighted.Data[0], 2.5)}
	all["weighted"] = weighted
	classes := all["missing"]
	classes.ClassWeights = [][]float64{{1, 0.5, 3}}
	all["classes"] = classes
	for name, p := range all {
		samples := 0
		for _, in := range p.Data {
			samples += len(in.Samples())
		}
		if samples < 2 {
			continue
		}
		p.L2 = 0.05
		for _, method := range []Method{Pseudo, Exact} {
			if method == Exact && p.ClassWeights != nil {
				continue
			}
			p := p.startingAt(fit(t, p, Settings{Method: method, RelativeTolerance: 1e-7}).Model.Weights)
			x, err := covarianceOf(t, p, method)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, method, err)
			}
			got := mat.NewDense(len(p.Model.Weights), len(p.Model.Weights), nil)
			x.Each(func(c []float64) { v := mat.NewVecDense(len(c), c); got.RankOne(got, 1, v, v) })
			want := spreadByDifferences(t, p, method)
			var apart mat.Dense
			apart.Sub(got, want)
			if d := mat.Norm(&apart, 2) / mat.Norm(want, 2); !(d < 1e-5) {
				t.Errorf("%s, %s: covariances differ by %g", name, method, d)
			}
		}
	}
}

// spins is an Ising model on a 3×3 torus-less grid, whose states are enumerated.
type spins struct {
	graph      *graph.Graph
	coupling   []float64
	field      []float64
	cumulative []float64 // of the probabilities of all 2⁹ states
}

func newSpins(t testing.TB, seed uint64) *spins {
	t.Helper()
	s := &spins{graph: gridGraph(t, 3, 3)}
	rng := source(seed)
	for range s.graph.NumEdges() {
		s.coupling = append(s.coupling, 0.1+0.3*rng.NormFloat64())
	}
	for range s.graph.NumNodes() {
		s.field = append(s.field, 0.2*rng.NormFloat64())
	}
	sum := 0.0
	for state := range 1 << 9 {
		energy := 0.0
		spin := func(v int32) float64 { return float64(2*(state>>v&1) - 1) }
		for v, h := range s.field {
			energy += h * spin(int32(v))
		}
		for e, j := range s.coupling {
			energy += j * spin(s.graph.U(int32(e))) * spin(s.graph.V(int32(e)))
		}
		sum += math.Exp(energy)
		s.cumulative = append(s.cumulative, sum)
	}
	return s
}

// problem has so many samples. With chain, each spin-flips a share of the one before: a chain.
func (s *spins) problem(t testing.TB, seed uint64, samples int, stay float64) Problem {
	t.Helper()
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "spin", States: crf.NumberedStates(2), Features: 1, Copies: 9}},
		EdgeTypes: []crf.EdgeType{{Name: "bond", Features: 1, Copies: s.graph.NumEdges(), Symmetric: true}},
	}
	rng := source(seed)
	spec := crf.InstanceSpec{Graph: s.graph, NodeFeat: []crf.Features{crf.Constant(9, 1)}, EdgeFeat: []crf.Features{crf.Constant(s.graph.NumEdges(), 1)}}
	state := -1
	for range samples {
		if state < 0 || rng.Float64() >= stay {
			draw := rng.Float64() * s.cumulative[len(s.cumulative)-1]
			for state = 0; s.cumulative[state] < draw; state++ {
			}
		}
		labels := make([]int32, 9)
		for v := range labels {
			labels[v] = int32(state >> v & 1)
		}
		spec.Labels = append(spec.Labels, labels)
	}
	p := Problem{Model: must(crf.NewModel(schema)), L2: 1 / float64(samples)}
	p.Data = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, spec))}
	return p
}

// covarianceOf is that of the weights that a method has learned.
func covarianceOf(t testing.TB, p Problem, method Method) (*local.Covariance, error) {
	return local.NewCovariance(t.Context(), &local.Objective{Kind: local.Kind(method), Model: p.Model, Data: p.Data,
		ClassWeights: p.ClassWeights, L2: p.L2, Total: instances.TotalWeight(p.Data)}, 1, 0, nil)
}

// couplings are J of an edge's table, and its error.
func (s *spins) couplings(t testing.TB, p Problem, method Method) (value, deviation []float64, correlation float64) {
	t.Helper()
	p = p.startingAt(fit(t, p, Settings{Method: method}).Model.Weights)
	x := oracle.Must(covarianceOf(t, p, method))(t)
	span := p.Model.Layout.Edge[0]
	read := func(w []float64, e int) float64 {
		c := w[span.At+4*e:][:4]
		return (c[0] + c[3] - c[1] - c[2]) / 4
	}
	value, deviation = make([]float64, len(s.coupling)), make([]float64, len(s.coupling))
	for e := range value {
		value[e] = read(p.Model.Weights, e)
	}
	x.Each(func(c []float64) {
		for e := range deviation {
			deviation[e] += read(c, e) * read(c, e)
		}
	})
	for e := range deviation {
		deviation[e] = math.Sqrt(deviation[e])
	}
	return value, deviation, x.Correlation
}

// TestSpreadOfChains: where a sample is that before it with probability one half, the gradients
// of neighbours are correlated by so much; where all samples are one there is nothing to correlate.
func TestSpreadOfChains(t *testing.T) {
	s := newSpins(t, 3)
	for _, method := range []Method{Exact, Pseudo} {
		if _, _, correlation := s.couplings(t, s.problem(t, 5, 4000, 0.5), method); math.Abs(correlation-0.5) > 0.05 {
			t.Errorf("%s: correlation %v, want 0.5", method, correlation)
		}
		_, _, correlation := s.couplings(t, s.problem(t, 5, 50, 2), method)
		oracle.Equal(t, correlation, 0, "%s: correlation of one sample, 50 times", method)
	}
}

// TestNoSpread: what has no covariance says why.
func TestNoSpread(t *testing.T) {
	all := problems(t)
	for _, c := range []struct {
		problem Problem
		method  Method
		want    string
	}{
		{all["samples"], Full, "method full has none"}, {all["samples"], Piecewise, "method piecewise has none"},
		{all["plain"], Pseudo, "one sample alone"},
	} {
		oracle.Fails(covarianceOf(t, c.problem, c.method))(t, c.want)
	}
}

// TestSpreadWithoutPrior: weights that nothing is known of have large errors, and what is
// known of tables has the same as with a weak prior.
func TestSpreadWithoutPrior(t *testing.T) {
	s := newSpins(t, 1)
	for _, method := range []Method{Exact, Pseudo} {
		p := s.problem(t, 2, 500, 0)
		p.L2 = 1e-7
		_, weak, _ := s.couplings(t, p, method)
		p.L2 = 0
		_, none, _ := s.couplings(t, p, method)
		for e := range none {
			nearly(t, none[e], weak[e], 1e-3, "%s: the error of coupling %d, and with a weak prior", method, e)
		}
		p = p.startingAt(fit(t, p, Settings{Method: method}).Model.Weights)
		sum := 0.0
		must(covarianceOf(t, p, method)).Each(func(c []float64) { sum += c[0] * c[0] })
		if !(math.Sqrt(sum) > 100) {
			t.Errorf("%s: the error of a weight that can be anything is %v", method, math.Sqrt(sum))
		}
	}
}
