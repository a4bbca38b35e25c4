package learn

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// Auto needs no tuning: it takes quasi-Newton steps whose initial matrix is an
// estimate P⁻¹ of the inverse Hessian.
//
// P is Kronecker-factored: for each node type and edge type,
//
//	P = A ⊗ C + l2 I,   A = Σ f fᵀ/ρ over nodes (edges),   C = diag(π) − ππᵀ,
//
// with f the features, ρ the counting number that divides the potentials in the
// beliefs, and π the mean belief. A is diagonalised once; C is diagonal plus rank
// one, so that P⁻¹ is applied exactly at each pass's π. It makes steps independent
// of the scales and correlations of features.
//
// What P leaves out, the coupling between types and between neighbours, is
// learned by limited-memory BFGS (Nocedal 1980) from one pair (s, y) per pass.
// The aggregated gradient of a pass has each block's share at the weights of that
// block's visit, so that the change y of the gradient from pass to pass belongs
// to the change s of the *mean* weights of the visits.
//
// A pass makes D steps with a gradient that is up to D iterations old, so each
// has the length ν/D. Where the gradient grew, the weights go back to the best of
// a pass end, the memory is dropped, and scale and ν shrink.
type Auto struct {
	problem StepProblem
	types   []*kronecker
	beliefs []float64

	direction    []float64 // H g
	plain        []float64 // P⁻¹ g
	lastGradient []float64 // at the last pass end
	sum, lastSum []float64 // of the weights over the visits of this pass and the last
	bestTheta    []float64 // weights at the pass end with the smallest gradient
	s, y         [pairsKept][]float64
	scalars      []float64 // see the constants below
	alpha        [pairsKept]float64
}

// Places in Auto.scalars.
const (
	autoPasses    = iota // passes made
	autoInPass           // iterations of this pass
	autoSkip             // 1 if this pass must give no pair
	autoHold             // 1 while the weights are held after going back
	autoPairs            // pairs stored since the last reset
	autoNext             // where the next pair goes
	autoLength           // ν
	autoLongest          // what ν may recover to
	autoBestNorm         // smallest gᵀP⁻¹g at a pass end
	autoBestValue        // smallest objective at a pass end
	autoScale            // γ: the scale of P⁻¹ in the two-loop recursion
	autoTrust            // how much longer than P⁻¹g a quasi-Newton step may be
	autoInverse          // 1/sᵀy of each pair from here on
	autoScalars   = autoInverse + pairsKept
)

// Constants of Auto.
const (
	// pairsKept is the memory of the quasi-Newton recursion, in passes.
	pairsKept = 10
	// fullLength and staleLength are ν at the start, for a gradient that is up to
	// date (D = 1) and for an aggregated one.
	fullLength, staleLength = 1.0, 0.8
	// setback divides γ and the trusted amplification, lengthSetback ν, where a
	// pass went wrong. γ is measured anew by the next pair; ν recovers slowly.
	setback       = 4
	lengthSetback = 1.5
	// relief of the bound on ν per pass that is the best so far. Setbacks lower the
	// bound, or the same steps could lead to the same setback for ever.
	relief = 1.1
	// smallestLength bounds ν from below.
	smallestLength = 0.05
	// tolerableGrowth of gᵀP⁻¹g over its best: beyond, the pass went wrong.
	tolerableGrowth = 4.0
	// recovery of ν per good pass.
	recovery = 1.2
	// trustGrowth per good pass of how much longer than P⁻¹g a step may be.
	trustGrowth = 1.5
	// flattest bounds sᵀy/sᵀPs-like ratios: pairs that see less curvature are not used.
	flattest = 1e-8
	// maxRotated is the largest number of features whose second moments are
	// diagonalised: beyond, only their diagonal is used.
	maxRotated = 512
	// relativeFloor of the regulariser in P keeps it invertible for l2 = 0.
	relativeFloor = 1e-9
)

// Guarded reports that the rule recovers from a bad step by itself.
func (a *Auto) Guarded() bool { return true }

// Refreshed tells the rule that the gradient changed although the weights did
// not, because inference was made exact: the change must not pass for curvature.
func (a *Auto) Refreshed() { a.scalars[autoSkip] = 1 }

// NewAuto returns the automatic step rule.
func NewAuto() *Auto { return &Auto{} }

// String implements StepRule.
func (a *Auto) String() string { return "auto" }

// Start implements StepRule.
func (a *Auto) Start(p StepProblem) error {
	*a = Auto{problem: p}
	layout := &p.Model.Layout
	states := 0
	for t, span := range layout.Node {
		a.types = append(a.types, newKronecker(span, p.Data, true, t, p.NodeScale))
		states += span.States
	}
	for t, span := range layout.Edge {
		a.types = append(a.types, newKronecker(span, p.Data, false, t, p.EdgeScale))
		states += span.States
	}
	for _, k := range a.types {
		if err := k.diagonalise(p.L2); err != nil {
			return err
		}
	}
	a.beliefs = make([]float64, states)
	for _, x := range []*[]float64{&a.direction, &a.lastGradient, &a.sum, &a.lastSum, &a.bestTheta, &a.plain} {
		*x = make([]float64, layout.Size)
	}
	for i := range pairsKept {
		a.s[i], a.y[i] = make([]float64, layout.Size), make([]float64, layout.Size)
	}
	a.scalars = make([]float64, autoScalars)
	a.scalars[autoLength], a.scalars[autoLongest], a.scalars[autoScale], a.scalars[autoTrust] = a.longest(), a.longest(), 1, 1
	return nil
}

// longest returns the largest ν.
func (a *Auto) longest() float64 {
	if a.problem.PerPass == 1 {
		return fullLength
	}
	return staleLength
}

// Memory implements StepRule.
func (a *Auto) Memory() [][]float64 {
	memory := [][]float64{a.scalars, a.beliefs, a.lastGradient, a.sum, a.lastSum, a.bestTheta}
	for i := range pairsKept {
		memory = append(memory, a.s[i], a.y[i])
	}
	return memory
}

// Step implements StepRule.
func (a *Auto) Step(theta, gradient []float64) float64 {
	c := a.scalars
	if c[autoPasses] == 0 && c[autoInPass] == 0 {
		a.problem.Beliefs(a.beliefs)
	}
	addTo(a.sum, theta)
	a.apply(a.plain, gradient)
	norm := dot(a.plain, gradient)
	c[autoInPass]++
	passEnds := int(c[autoInPass]) == a.problem.PerPass
	switch {
	case c[autoHold] > 0:
		if !passEnds {
			return 0
		}
		c[autoHold], c[autoBestNorm] = 0, norm
		a.endPass(gradient)
	case c[autoPasses] > 0 && !(norm <= a.tolerable(passEnds)*c[autoBestNorm]) && !a.descends():
		a.goBack(theta)
		return 0
	case passEnds:
		if c[autoPasses] > 0 {
			if c[autoSkip] == 0 {
				a.remember(gradient)
			}
			c[autoLength] = min(c[autoLength]*recovery, c[autoLongest])
			c[autoTrust] = min(c[autoTrust]*trustGrowth, 1/flattest)
		}
		if c[autoPasses] == 0 || a.problem.Objective() < c[autoBestValue] {
			c[autoBestValue] = a.problem.Objective()
		}
		if c[autoPasses] == 0 || norm < c[autoBestNorm] {
			c[autoBestNorm] = norm
			c[autoLongest] = min(c[autoLongest]*relief, a.longest())
			copy(a.bestTheta, theta)
		}
		a.endPass(gradient)
	}
	a.quasiNewton(gradient)
	size := c[autoLength] / float64(a.problem.PerPass)
	for i, d := range a.direction {
		theta[i] -= size * d
	}
	return size
}

// descends reports that the objective fell although the gradient grew, which is
// no setback. Only full inference knows its objective: the saddle value at stale
// beliefs falls also where a step was much too long.
func (a *Auto) descends() bool {
	return a.problem.Full && a.problem.Objective() < a.scalars[autoBestValue]
}

// tolerable returns how far gᵀP⁻¹g may exceed its best: within a pass some
// blocks' shares are at older weights, so it may swing more.
func (a *Auto) tolerable(passEnds bool) float64 {
	if passEnds {
		return tolerableGrowth
	}
	return 4 * tolerableGrowth
}

// goBack returns to the best weights and holds them for a pass, after which the
// gradient belongs to them alone.
func (a *Auto) goBack(theta []float64) {
	c := a.scalars
	copy(theta, a.bestTheta)
	c[autoPairs], c[autoScale], c[autoTrust] = 0, min(1, c[autoScale])/setback, max(1, c[autoTrust]/setback)
	c[autoLength] = max(c[autoLength]/lengthSetback, smallestLength)
	c[autoLongest] = max(c[autoLongest]/lengthSetback, smallestLength)
	c[autoHold], c[autoInPass] = 1, 0
	clear(a.sum)
}

// endPass starts the next pass.
func (a *Auto) endPass(gradient []float64) {
	a.problem.Beliefs(a.beliefs)
	copy(a.lastGradient, gradient)
	a.sum, a.lastSum = a.lastSum, a.sum
	clear(a.sum)
	a.scalars[autoInPass], a.scalars[autoSkip] = 0, 0
	a.scalars[autoPasses]++
}

// remember stores the pair of the last pass if it shows positive curvature.
func (a *Auto) remember(gradient []float64) {
	c := a.scalars
	i := int(c[autoNext])
	s, y := a.s[i], a.y[i]
	perPass := float64(a.problem.PerPass)
	for j, g := range gradient {
		s[j] = (a.sum[j] - a.lastSum[j]) / perPass
		y[j] = g - a.lastGradient[j]
	}
	a.apply(a.direction, y)
	sy, yPy := dot(s, y), dot(y, a.direction)
	if !(sy > flattest*yPy) {
		return
	}
	c[autoInverse+i] = 1 / sy
	c[autoScale] = min(sy/yPy, 1/flattest)
	c[autoNext] = float64((i + 1) % pairsKept)
	c[autoPairs] = min(c[autoPairs]+1, pairsKept)
}

// quasiNewton writes H g into direction by the two-loop recursion.
func (a *Auto) quasiNewton(gradient []float64) {
	c := a.scalars
	pairs, next := int(c[autoPairs]), int(c[autoNext])
	q := a.direction
	copy(q, gradient)
	for n := 1; n <= pairs; n++ { // newest first
		i := (next - n + pairsKept) % pairsKept
		a.alpha[i] = c[autoInverse+i] * dot(a.s[i], q)
		simd.AddScaled(q, a.y[i], -a.alpha[i])
	}
	a.apply(q, q)
	for j := range q {
		q[j] *= c[autoScale]
	}
	for n := pairs; n >= 1; n-- {
		i := (next - n + pairsKept) % pairsKept
		beta := c[autoInverse+i] * dot(a.y[i], q)
		simd.AddScaled(q, a.s[i], a.alpha[i]-beta)
	}
	if longest := c[autoTrust] * dot(a.plain, gradient); dot(q, gradient) > longest {
		shrink := longest / dot(q, gradient)
		for j := range q {
			q[j] *= shrink
		}
	}
}

func dot(x, y []float64) float64 {
	total := 0.0
	for i, v := range x {
		total += v * y[i]
	}
	return total
}

// apply computes dst = P⁻¹ g; dst may be g.
func (a *Auto) apply(dst, g []float64) {
	at := 0
	for _, k := range a.types {
		mean := a.beliefs[at:][:k.span.States]
		at += k.span.States
		k.solve(dst, g, mean)
	}
}

// kronecker is the factored Hessian estimate of one type.
type kronecker struct {
	span    crf.Span
	second  *mat.SymDense // A, nil where only its diagonal is used
	values  []float64     // eigenvalues, or diagonal, of A
	vectors []float64     // [d*d] eigenvectors of A in columns, nil: identity
	floor   float64       // l2, or a little more
	rotated []float64     // scratch [features][states]
}

// newKronecker sums f fᵀ, scaled, over all nodes or edges of a type.
func newKronecker(span crf.Span, data []*crf.Instance, node bool, t int, scale func(*crf.Instance, int32) float64) *kronecker {
	d := span.Features
	k := &kronecker{span: span, values: make([]float64, d), rotated: make([]float64, span.Copy())}
	diagonal := span.Untied || d > maxRotated || d == 0
	row := make([]float64, d)
	var dense []float64
	for _, in := range data {
		f, typeOf, rowOf, n := elements(in, node, t)
		if f.Tables() > 0 {
			diagonal = true // one-hot rows: A is diagonal
		}
		if !diagonal && dense == nil {
			dense = make([]float64, d*d)
		}
		for i := range int32(n) {
			if typeOf(i) == t && d > 0 {
				f.Row(row, rowOf(i))
				k.add(dense, row, scale(in, i))
			}
		}
	}
	if span.Untied && span.Len > 0 {
		for j := range k.values {
			k.values[j] /= float64(span.Len / span.Copy()) // the mean over the copies
		}
	}
	if !diagonal && dense != nil {
		k.second = mat.NewSymDense(d, dense)
	}
	return k
}

// elements returns the features of the nodes or edges of type t, the type and the
// row of each node or edge, and their number over all types.
func elements(in *crf.Instance, node bool, t int) (f *crf.Features, typeOf, rowOf func(int32) int, n int) {
	if node {
		return in.NodeFeatures(t), in.NodeType, in.NodeRow, in.Graph.NumNodes()
	}
	return in.EdgeFeatures(t), in.EdgeType, in.EdgeRow, in.Graph.NumEdges()
}

// add adds weight·f fᵀ to the upper triangle of dense, or its diagonal to the
// values where dense is nil.
func (k *kronecker) add(dense, f []float64, weight float64) {
	for i, x := range f {
		if x == 0 {
			continue
		}
		x *= weight
		if dense == nil {
			k.values[i] += x * f[i]
			continue
		}
		out := dense[i*len(f):][:len(f)]
		for j := i; j < len(f); j++ {
			out[j] += x * f[j]
		}
	}
}

func (k *kronecker) diagonalise(l2 float64) error {
	if k.second != nil {
		var eigen mat.EigenSym
		if !eigen.Factorize(k.second, true) {
			return fmt.Errorf("learn: the second moments of the features could not be diagonalised")
		}
		eigen.Values(k.values)
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		k.vectors = vectors.RawMatrix().Data
	}
	largest := 0.0
	for _, x := range k.values {
		largest = max(largest, x)
	}
	k.floor = max(l2, relativeFloor*largest)
	if k.floor == 0 {
		k.floor = 1 // a type without features or elements: any value does
	}
	return nil
}

// solve computes this type's part of P⁻¹g, for mean belief π:
// in the eigenbasis of A, each row r solves (a(diag π − ππᵀ) + l2) x = r by the
// Sherman–Morrison formula.
func (k *kronecker) solve(dst, g, mean []float64) {
	size := k.span.Copy()
	if size == 0 {
		return
	}
	for at := k.span.At; at < k.span.At+k.span.Len; at += size {
		k.rotate(k.rotated, g[at:][:size], true)
		for j, a := range k.values {
			k.solveRow(k.rotated[j*k.span.States:][:k.span.States], max(0, a), mean)
		}
		k.rotate(dst[at:][:size], k.rotated, false)
	}
}

func (k *kronecker) solveRow(r []float64, a float64, mean []float64) {
	total, rest := 0.0, 0.0
	for i, p := range mean {
		d := a*p + k.floor
		r[i] /= d
		total += p * r[i]
		rest += p * k.floor / d // = 1 − a Σ p²/d, since Σp = 1, without cancellation
	}
	if rest <= 0 {
		return
	}
	for i, p := range mean {
		r[i] += a * p / (a*p + k.floor) * total / rest
	}
}

// rotate computes Vᵀx (forward) or Vx, x being [features][states].
func (k *kronecker) rotate(dst, x []float64, forward bool) {
	if k.vectors == nil {
		copy(dst, x)
		return
	}
	d, n := k.span.Features, k.span.States
	clear(dst)
	for i := range d {
		for j, v := range k.vectors[i*d:][:d] {
			from, to := i, j
			if !forward {
				from, to = j, i
			}
			simd.AddScaled(dst[to*n:][:n], x[from*n:][:n], v)
		}
	}
}
