package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
)

// lab/CONVERGENCE.md proves that block learning converges without Assumption 1: a visit as
// printed maximises H_θ(τ), the function in (2), over what its block can change, so that the gap
// Δ = B(θ) − H_θ(τ) is what contracts. This file follows the algorithm on small models and holds every
// inequality of that proof against numbers, at each iteration, with constants computed on the problem.

// The orders in which an ascent picks its blocks.
const (
	cyclicOrder = "cyclic"
	randomOrder = "random"
)

// ascentPlan says how the inequalities are followed on one model.
type ascentPlan struct {
	theoremPlan
	Counting string // convex or trw
	Order    string
}

// name tells a plan from the others.
func (p ascentPlan) name() string { return fmt.Sprintf("%s-%s-%s", p.Model, p.Counting, p.Order) }

// ascentPlans follow the models of theorem 1 for so many iterations, with numbers that are positive
// and with some that are not, in both orders.
func ascentPlans(steps int) (all []ascentPlan) {
	for _, model := range theoremPlans(steps) {
		model.L2 = 1 // with less, what the theorem's steps bring is mostly less than rounding
		for _, numbers := range []string{"convex", "trw"} {
			for _, order := range []string{randomOrder, cyclicOrder} {
				all = append(all, ascentPlan{model, numbers, order})
			}
		}
	}
	return all
}

// The inequalities, by their names on the page about convergence.
const (
	neverFalls   = "H never falls"
	nearBeliefs  = "(a)" // ‖e‖² ≤ 2κΔ
	smoothLoss   = "(b)" // G after a step
	smoothBound  = "(c)" // Δ after a step
	randomVisit  = "(d)" // Δ after a visit, on average over the blocks
	fixedCycle   = "cycle at fixed weights"
	movingCycle  = "(w)" // Δ after a cycle in which the weights move
	randomLearns = "random order"
	cyclicLearns = "cyclic order"
)

// Ascent is what was found on one model.
type Ascent struct {
	// Mu, Kappa and Eta are μ, κ = ‖M‖²/μ and η = κ + l2, as the page proves them.
	Mu, Kappa, Eta float64
	// Tallies are those of the inequalities.
	Tallies map[string]*Tally
	// Measured is the smallest contraction of Δ by a visit, on average over the blocks, that any
	// iteration had, and Bound the c of (d) there.
	Measured, Bound float64
	// Ratio is the practical step over the smallest of the theorem's steps in this course.
	Ratio float64
	// Unsettled counts iterations in which an inference did not settle.
	Unsettled int
}

// Tally counts how often an inequality was decided, and how often it did not hold. Undecided counts
// where less is claimed than rounding can tell: it is not part of Checked.
type Tally struct{ Checked, Violated, Undecided int }

// roundingOf is what rounding may leave of an inequality whose terms have these magnitudes in all.
func roundingOf(size float64) float64 { return 1e-10*size + 1e-14 }

// atMost looks whether left ≤ right, whose terms have these magnitudes in all. claimed is by how much
// the inequality says more than that nothing gets worse. What is no finite number violates it.
func (a *Ascent) atMost(name string, left, right, size, claimed float64) {
	t := a.Tallies[name]
	if t == nil {
		t = &Tally{}
		a.Tallies[name] = t
	}
	const decisive = 100
	tolerance, finite := roundingOf(size), math.Abs(left-right) < math.Inf(1)
	if finite && claimed < decisive*tolerance {
		t.Undecided++
		return
	}
	t.Checked++
	if !finite || !(left <= right+tolerance) {
		t.Violated++
	}
}

// always is the claim of an inequality that is worth a look at any size.
var always = math.Inf(1)

// climber follows the algorithm and looks at the inequalities.
type climber struct {
	*follower
	found   *Ascent
	counts  []float64 // [tables] counting number of each node, then of each edge
	starts  []int     // [tables + 1] of their beliefs in tau
	cut     []bool    // [tables] whether it is of an edge between two blocks
	optimum []float64 // θ°
	best    []float64 // τ° there
	slope   []float64 // ∇L(θ°), which rounding leaves
	states  int       // fewest of a node at a cut edge
	most    float64   // largest counting number, and of a cut edge
	mostCut float64
	exactly []float64 // ∇L(θ_t)
	error   []float64 // e_t
	left    float64   // G + Δ at the last look
}

// arrived is the G + Δ below which there is little left to look at, and restartDeviation that of the
// weights with which the algorithm begins anew.
const arrived, restartDeviation = 1e-6, 0.5

// restart begins at random weights, with beliefs that are consistent: those of these weights.
func (c *climber) restart(rng *rand.Rand) error {
	for i := range c.model.Weights {
		c.model.Weights[i] = restartDeviation * rng.NormFloat64()
	}
	return c.infer(c.tau, c.state, &c.whole.Blocks[0])
}

// place is where the algorithm stands.
type place struct {
	theta, tau []float64
	state      bp.State
}

func (c *climber) here() place {
	return place{
		slices.Clone(c.model.Weights),
		slices.Clone(c.tau),
		bp.State{LogMessage: slices.Clone(c.state.LogMessage), LogBelief: slices.Clone(c.state.LogBelief)},
	}
}

func (c *climber) goTo(p place) {
	copy(c.model.Weights, p.theta)
	copy(c.tau, p.tau)
	copy(c.state.LogMessage, p.state.LogMessage)
	copy(c.state.LogBelief, p.state.LogBelief)
}

// measure follows the plan.
func (p ascentPlan) measure(ctx context.Context) (*Ascent, error) {
	c, err := p.climber(ctx)
	if err != nil {
		return nil, err
	}
	c.found.Measured = 1
	smallest := math.Inf(1)
	rng := rand.New(rand.NewPCG(p.Seed, 2))
	for t := 0; t < p.Steps; t++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		follow := c.followCyclic
		if p.Order == randomOrder {
			follow = c.followRandom
		}
		unsettled := c.unsettled
		step, err := follow(rng)
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", t, err)
		}
		if c.unsettled > unsettled {
			c.found.Unsettled++
		}
		if smallest = min(smallest, step); c.left < arrived {
			if err := c.restart(rng); err != nil {
				return nil, err
			}
		}
	}
	c.found.Ratio = c.practical() / smallest
	return c.found, nil
}

// climber solves the plan's problem, and computes the constants of it.
func (p ascentPlan) climber(ctx context.Context) (*climber, error) {
	problem, err := p.problem()
	if err != nil {
		return nil, err
	}
	if problem.Counting, err = counting.Parse(ctx, p.Counting, p.Seed); err != nil {
		return nil, err
	}
	part, err := tiles(problem.Data[0], theoremBlocks, theoremBlocks)
	if err != nil {
		return nil, err
	}
	solved, err := solve(ctx, problem)
	if err != nil {
		return nil, err
	}
	f, err := newFollower(problem, part)
	if err != nil {
		return nil, err
	}
	n := len(f.model.Weights)
	c := &climber{
		follower: f,
		optimum:  solved.Model.Weights,
		exactly:  make([]float64, n),
		error:    make([]float64, n),
		slope:    make([]float64, n),
	}
	c.layOut()
	start := c.here()
	copy(c.model.Weights, c.optimum)
	if err := c.infer(c.star, c.exact, &c.whole.Blocks[0]); err != nil {
		return nil, err
	}
	c.best = slices.Clone(c.star)
	c.gradientOf(c.slope, c.star)
	c.goTo(start)
	mu := c.curvature()
	kappa := c.normOfM() / mu
	c.found = &Ascent{Mu: mu, Kappa: kappa, Eta: kappa + problem.L2, Tallies: map[string]*Tally{}}
	return c, nil
}

// layOut lists the tables of nodes and edges.
func (c *climber) layOut() {
	numbers, g := c.net.Counting, c.in.Graph
	c.counts = append(slices.Clone(numbers.Node), numbers.Edge...)
	c.starts = append(slices.Clone(c.nodeAt[:g.NumNodes()]), c.edgeAt...)
	c.cut = make([]bool, len(c.counts))
	c.states, c.most = math.MaxInt, slices.Max(c.counts)
	for e := range int32(g.NumEdges()) {
		u, v := g.U(e), g.V(e)
		if c.part.Of[u] != c.part.Of[v] {
			c.cut[g.NumNodes()+int(e)] = true
			c.states = min(c.states, c.in.States(u), c.in.States(v))
			c.mostCut = max(c.mostCut, numbers.Edge[e])
		}
	}
}

// concave reports whether no counting number is negative.
func (c *climber) concave() bool { return slices.Min(c.counts) >= 0 }

// curvature returns μ: Δ ≥ μ/2 ‖τ − τ*‖².
func (c *climber) curvature() float64 {
	edges := slices.Min(c.net.Counting.Edge)
	switch nodes := slices.Min(c.net.Counting.Node); {
	case nodes > 0:
		return 2 * min(nodes, edges)
	case nodes == 0:
		return 2. / 3 * edges
	}
	return 2 * edges / float64(2*c.in.Graph.NumNodes()-1)
}

// normOfM returns ‖M‖²: of weights of their own it is 1, and of weights that elements share that of
// their features, a row each.
func (c *climber) normOfM() float64 {
	if c.model.Layout.UntiedSize > 0 {
		return 1
	}
	largest := 0.0
	for _, f := range []*crf.Features{c.in.NodeFeatures(0), c.in.EdgeFeatures(0)} {
		x := mat.NewDense(f.Rows(), f.Dim(), nil)
		for i := range f.Rows() {
			f.Row(x.RawRowView(i), i)
		}
		var svd mat.SVD
		if svd.Factorize(x, mat.SVDNone) {
			largest = max(largest, svd.Values(nil)[0])
		}
	}
	return largest * largest
}

// practical is a step that works: the inequalities (a) to (d) hold at any.
func (c *climber) practical() float64 { return 1 / (2 * c.found.Eta) }

// divergence returns Σ c KL(p ‖ q) over all tables, without the cancellation of Σ p log p/q. With the
// maximiser τ* of (2) it is the gap: B(θ) − H_θ(τ) = Σ c KL(τ ‖ τ*).
func (c *climber) divergence(p, q []float64) (total float64) {
	for i, count := range c.counts {
		for j := c.starts[i]; j < c.starts[i+1]; j++ {
			total += count * q[j] * bregman((p[j]-q[j])/q[j])
		}
	}
	return total
}

// bregman returns (1 + x) log(1 + x) − x, whose series serves where x is small.
func bregman(x float64) float64 {
	const small = 1e-4
	if math.Abs(x) < small {
		return x * x * (1./2 - x/6 + x*x/12)
	}
	return (1+x)*math.Log1p(x) - x
}

// excess returns G = L(θ) − L(θ°) at the weights of the moment, of which star has the beliefs.
func (c *climber) excess() float64 {
	square, along := 0.0, 0.0
	for i, w := range c.model.Weights {
		d := w - c.optimum[i]
		square += d * d
		along += c.slope[i] * d
	}
	return c.divergence(c.best, c.star) + c.problem.L2/2*square + along
}

// least returns the smallest entry of the tables that ε is about: of cut edges where no counting number
// is negative, else of all edges, or with cutOnly of cut ones in any case.
func (c *climber) least(cutOnly bool) float64 {
	epsilon := math.Inf(1)
	for i := c.in.Graph.NumNodes(); i < len(c.counts); i++ {
		if c.cut[i] || !cutOnly && !c.concave() {
			epsilon = min(epsilon, slices.Min(c.tau[c.starts[i]:c.starts[i+1]]))
		}
	}
	return epsilon
}

// view is what the inequalities are about, at one place.
type view struct {
	gap, excess                         float64 // Δ and G
	gradient, exactly, error, alongside float64 // ‖g‖², ‖∇L‖², ‖e‖², ⟨g, e⟩
}

// look takes the view of where the algorithm stands, and looks at what holds there.
func (c *climber) look() (view, error) {
	if err := c.infer(c.star, c.exact, &c.whole.Blocks[0]); err != nil {
		return view{}, err
	}
	c.aggregate()
	c.gradientOf(c.exactly, c.star)
	floats.SubTo(c.error, c.gradient, c.exactly)
	square := func(x []float64) float64 { return floats.Dot(x, x) }
	v := view{
		c.divergence(c.tau, c.star),
		c.excess(),
		square(c.gradient),
		square(c.exactly),
		square(c.error),
		floats.Dot(c.gradient, c.error),
	}
	c.left = v.gap + v.excess
	a, distance := c.found, floats.Distance(c.tau, c.star, 2)
	a.atMost(nearBeliefs, a.Mu/2*distance*distance, v.gap, math.Abs(v.gap), always)
	a.atMost(nearBeliefs, v.error, 2*a.Kappa*v.gap, v.error+math.Abs(2*a.Kappa*v.gap), always)
	a.atMost(smoothLoss, 2*c.problem.L2*v.excess, v.exactly, v.exactly+math.Abs(v.excess), always)
	return v, nil
}

// move steps along the gradient that look has aggregated, and returns Δ and G there.
func (c *climber) move(step float64) (gap, excess float64, err error) {
	floats.AddScaled(c.model.Weights, -step, c.gradient)
	if err := c.infer(c.star, c.exact, &c.whole.Blocks[0]); err != nil {
		return 0, 0, err
	}
	return c.divergence(c.tau, c.star), c.excess(), nil
}

// visit visits a block, and returns the gap after it: never more than before.
func (c *climber) visit(block int, before float64) (gap float64, err error) {
	if err := c.infer(c.tau, c.state, &c.part.Blocks[block]); err != nil {
		return 0, err
	}
	gap = c.divergence(c.tau, c.star)
	c.found.atMost(neverFalls, gap, before, before, always)
	return gap, nil
}

// stepped looks at what a step alone may do: (b) and (c).
func (c *climber) stepped(v view, step, gap, excess float64) {
	a := c.found
	b := [...]float64{v.excess, -step / 2 * v.exactly, step / 2 * v.error, -step / 2 * (1 - a.Eta*step) * v.gradient}
	a.atMost(smoothLoss, excess, floats.Sum(b[:]), excess+floats.Norm(b[:], 1), always)
	g := [...]float64{v.gap, step * v.alongside, a.Kappa * step * step / 2 * v.gradient}
	a.atMost(smoothBound, gap, floats.Sum(g[:]), gap+floats.Norm(g[:], 1), always)
}

// contraction returns the c of (d) at the tables of the moment.
func (c *climber) contraction() float64 {
	blocks := float64(len(c.part.Blocks))
	if c.concave() {
		return c.least(false) / blocks
	}
	return c.found.Mu * c.least(false) / (2 * c.most * blocks)
}

// followRandom makes an iteration in random order at the practical step. From the same place it looks at
// one of the theorem's step. It returns that step.
func (c *climber) followRandom(rng *rand.Rand) (step float64, err error) {
	a, from := c.found, c.here()
	v, err := c.look()
	if err != nil {
		return 0, err
	}
	bound := c.contraction()
	step = min(1/(4*a.Eta), bound/(3*(1-bound)*a.Kappa+c.problem.L2))
	_, excess, mean, err := c.visitAll(v, step)
	if err != nil {
		return 0, err
	}
	after, before := excess+mean, v.excess+v.gap
	a.atMost(randomLearns, after, (1-step*c.problem.L2)*before, after+before, step*c.problem.L2*before)
	c.goTo(from)
	moved, _, mean, err := c.visitAll(v, c.practical())
	if err != nil {
		return 0, err
	}
	if measured := 1 - mean/moved; moved > 1e-9 && measured < a.Measured {
		a.Measured, a.Bound = measured, bound
	}
	_, err = c.visit(rng.IntN(len(c.part.Blocks)), moved)
	return step, err
}

// visitAll steps, and visits each block from there: the exact mean over them. It ends after the step.
func (c *climber) visitAll(v view, step float64) (moved, excess, mean float64, err error) {
	bound := c.contraction()
	if moved, excess, err = c.move(step); err != nil {
		return 0, 0, 0, err
	}
	c.stepped(v, step, moved, excess)
	from := c.here()
	for i := range c.part.Blocks {
		gap, err := c.visit(i, moved)
		if err != nil {
			return 0, 0, 0, err
		}
		mean += gap / float64(len(c.part.Blocks))
		c.goTo(from)
	}
	c.found.atMost(randomVisit, mean, (1-bound)*moved, moved, bound*moved)
	return moved, excess, mean, nil
}

// cycle is a visit to each block, one after the other.
type cycle struct {
	first, last view
	gains       float64 // Σ [α⟨g, e⟩ + (κα²/2)‖g‖²], and its magnitude
	size        float64
	gradients   float64 // Σ ‖g‖²
	epsilon     float64 // smallest entry of a table of a cut edge
}

// goRound makes a cycle at a step.
func (c *climber) goRound(step float64) (r cycle, err error) {
	r.epsilon = c.least(true)
	for i := range c.part.Blocks {
		v, err := c.look()
		if err != nil {
			return r, err
		}
		if i == 0 {
			r.first = v
		}
		bend := c.found.Kappa * step * step / 2 * v.gradient
		r.gains += step*v.alongside + bend
		r.size += math.Abs(step*v.alongside) + bend
		r.gradients += v.gradient
		moved, excess, err := c.move(step)
		if err != nil {
			return r, err
		}
		c.stepped(v, step, moved, excess)
		if _, err := c.visit(i, moved); err != nil {
			return r, err
		}
		r.epsilon = min(r.epsilon, c.least(true))
	}
	r.last, err = c.look()
	return r, err
}

// cycleConstant returns the K of a cycle whose tables of cut edges have no entry below ε.
func (c *climber) cycleConstant(epsilon float64) float64 {
	if c.concave() {
		return 2 * float64(c.states) * epsilon * epsilon
	}
	x := c.found.Mu * epsilon / c.mostCut
	return x * x / 2
}

// epsilonTries is how often ε is halved for a cycle that undercuts it.
const epsilonTries = 4

// followCyclic makes a cycle at the practical step. From the same place it looks at one at the theorem's
// step, and at one at fixed weights. It returns the theorem's step.
func (c *climber) followCyclic(*rand.Rand) (step float64, err error) {
	a, from, blocks := c.found, c.here(), float64(len(c.part.Blocks))
	r, err := c.goRound(0)
	if err != nil {
		return 0, err
	}
	k := c.cycleConstant(r.epsilon)
	a.atMost(fixedCycle, r.last.gap, r.first.gap/(1+2*k), r.first.gap, k*r.first.gap)
	epsilon := r.epsilon
	for range epsilonTries {
		c.goTo(from)
		epsilon /= 2
		k = c.cycleConstant(epsilon)
		step = k / (5 * a.Eta * blocks)
		if r, err = c.goRound(step); err != nil {
			return 0, err
		}
		if r.epsilon >= epsilon {
			break
		}
	}
	lyapunov := func(v view) float64 { return v.excess + (1+k)*v.gap }
	rate, before, after := 7./5*step*c.problem.L2*blocks, lyapunov(r.first), lyapunov(r.last)
	claimed := rate * before
	if r.epsilon < epsilon {
		claimed = 0 // K is too large for this cycle, of which nothing is proved
	}
	a.atMost(cyclicLearns, after, (1-rate)*before, before+after, claimed)
	c.goTo(from)
	if r, err = c.goRound(c.practical()); err != nil {
		return 0, err
	}
	k, alpha := c.cycleConstant(r.epsilon), c.practical()
	bend := a.Kappa * alpha * alpha / 2 * 4 * k * blocks * r.gradients
	left, right := (1+k)*r.last.gap, r.first.gap+r.gains+bend
	a.atMost(movingCycle, left, right, left+r.first.gap+r.size+bend, always)
	return step, nil
}
