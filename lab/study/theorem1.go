package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// The models of theorem 1.
const (
	nonTemplated = "non-templated"
	templated    = "templated"
)

// theoremPlan says how theorem 1 is followed on one model.
type theoremPlan struct {
	Model string `json:"model"`
	Rows  int    `json:"rows"`
	Cols  int    `json:"cols"`
	// States per variable, Features per node and per edge of the templated model.
	States   int     `json:"states"`
	Features int     `json:"features"`
	L2       float64 `json:"l2"`
	Seed     uint64  `json:"seed"`
	Steps    int     `json:"steps"` // iterations
}

// Following is theorem 1 on one model.
type Following struct {
	Plan theoremPlan `json:"plan"`
	// Beta and Eta are the smallest and largest eigenvalue of the Hessian of L, over
	// the points on the way to θ* where it was measured.
	Beta float64 `json:"beta"`
	Eta  float64 `json:"eta"`
	// Practical is followed with a step that works in practice, Bound with the theorem's largest for a contraction that
	// its own iterations keep to, if there is one.
	Practical Course `json:"practical"`
	Bound     Course `json:"bound"`
}

// Course is a sequence of iterations at one step.
type Course struct {
	Step float64 `json:"step"`
	// C is the contraction that the step was derived from, 0 for none, and Gamma that
	// of the Lyapunov function P = ‖θ−θ*‖ + γ‖τ−τ*‖.
	C     float64 `json:"c"`
	Gamma float64 `json:"gamma"`
	// Delta is the theorem's decrease of P in a step, βα/2.
	Delta float64 `json:"delta"`
	// Measured counts the iterations with a contraction to measure, and Failed those of them with c ≤ 0, where Assumption
	// 1 does not hold for any c. Lowest and Median are of the contractions.
	Measured int     `json:"measured"`
	Failed   int     `json:"failed"`
	Lowest   float64 `json:"lowest_c"`
	Median   float64 `json:"median_c"`
	// FailedAt counts the failures by block.
	FailedAt [theoremBlocks * theoremBlocks]int `json:"failed_at_block"`
	// Slower counts the iterations where P shrank by less than δ, and Rate is the mean
	// decrease of log P per iteration over the second half of them.
	Slower int     `json:"slower"`
	Rate   float64 `json:"rate"`
	// Moments are those drawn: the first ones, and then fewer and fewer.
	At      []int    `json:"at"`
	Moments []Moment `json:"moments"`
}

// theorem1 measures what theorem 1 assumes and claims.
func theorem1() *Study {
	return &Study{
		Name: "theorem1", Title: "Theorem 1 with its Assumption 1",
		Paper: "If every block update contracts, ‖τ_{t+1} − τ*_{t+1}‖ ≤ (1−c)‖τ_t − τ*_{t+1}‖, then with " +
			"0 < α ≤ min{cβ/(2η²+ηβ+β²), 2/(η+β)} P_t = ‖θ_t−θ*‖ + γ‖τ_t−τ*_t‖ shrinks by a factor 1−δ in every iteration.",
		parts: theoremParts,
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := resultsOf[Following](r, theoremParts(s))
			if err != nil {
				return nil, err
			}
			f := &Findings{Data: all}
			t := report.Table{Headers: []string{
				"model", "step", "α", "c of the bound", "γ", "iterations with c ≤ 0", "lowest c", "median c", "δ",
				"measured rate", "P fell by less than δ",
			}}
			for _, x := range all {
				f.Claims = append(f.Claims, x.claims()...)
				f.Figures = append(f.Figures, x.figure("practical", "practical step", &x.Practical),
					x.figure("bound", "the theorem's step", &x.Bound))
				t.Rows = append(t.Rows, x.row("practical", &x.Practical), x.row("theorem's bound", &x.Bound))
				f.Notes = append(f.Notes, x.note())
			}
			f.Tables = []Table{{"courses", "What was measured at every iteration; α multiplies ∇L itself.", t}}
			return f, nil
		},
	}
}

// theoremPlans are the models, followed for so many iterations.
func theoremPlans(steps int) []theoremPlan {
	return []theoremPlan{
		{Model: nonTemplated, Rows: 3, Cols: 3, States: 2, L2: 0.1, Seed: 1, Steps: steps},
		{Model: templated, Rows: 4, Cols: 4, States: 3, Features: 2, L2: 0.1, Seed: 1, Steps: steps},
	}
}

func theoremParts(s Settings) (all []part) {
	for _, plan := range theoremPlans(s.sizes().theoremSteps) {
		all = append(all, part{
			name: "theorem1-" + plan.Model, plan: plan,
			measure: func(ctx context.Context, _ int) (any, error) { return plan.measure(ctx) },
		})
	}
	return all
}

// theoremBlocks are tiles on each side of the grid.
const theoremBlocks = 2

// problem draws the model's problem.
func (p theoremPlan) problem() (learn.Problem, error) {
	if p.Model == templated {
		grid := synthetic.Grid(p.Rows, p.Cols, p.Seed)
		grid.States, grid.NodeFeatures, grid.EdgeFeatures = p.States, p.Features, p.Features
		g := synthetic.Generate(grid, 1)
		clear(g.Truth.Weights)
		return learn.Problem{Model: g.Truth, Data: g.Instances, L2: p.L2}, nil
	}
	return p.untied()
}

// untied draws a model in which every node and edge has weights of its own, with
// N(0,1) potentials and 20 samples, as in the paper's synthetic study.
func (p theoremPlan) untied() (learn.Problem, error) {
	var none learn.Problem
	g, err := graph.Grid(p.Rows, p.Cols, graph.GridOptions{})
	if err != nil {
		return none, err
	}
	spec := crf.InstanceSpec{Name: p.Model, Graph: g, Rows: p.Rows, Cols: p.Cols}
	model, err := untiedModel(&spec, crf.NumberedStates(p.States))
	if err != nil {
		return none, err
	}
	in, err := crf.NewInstance(&model.Schema, spec)
	if err != nil {
		return none, err
	}
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	for i := range model.Weights {
		model.Weights[i] = rng.NormFloat64()
	}
	network := ground.Condition(model, in)
	const samples, sweeps = 20, 100
	for range samples {
		spec.Labels = append(spec.Labels, gibbs.Sample(network, sweeps, rng))
	}
	if in, err = crf.NewInstance(&model.Schema, spec); err != nil {
		return none, err
	}
	clear(model.Weights)
	return learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: p.L2}, nil
}

// measure follows the iterations at both steps.
func (p theoremPlan) measure(ctx context.Context) (*Following, error) {
	problem, err := p.problem()
	if err != nil {
		return nil, err
	}
	best, err := solve(ctx, problem)
	if err != nil {
		return nil, err
	}
	star := best.Model.Weights
	x := &Following{Plan: p}
	if x.Beta, x.Eta, err = curvature(problem, star); err != nil {
		return nil, err
	}
	blocks := theoremBlocks * theoremBlocks
	x.Practical.Step = 1 / (x.Eta * float64(blocks))
	if err := x.follow(ctx, &x.Practical, problem, star); err != nil {
		return nil, err
	}
	return x, x.followBound(ctx, problem, star)
}

// boundTries is how often a contraction is tried for the theorem's step.
const boundTries = 4

// followBound looks for a contraction that the iterations at its own step keep to: smaller steps leave older beliefs
// less behind. The first try is the median of the practical course, each further one the lowest of the course before.
// Where a block update does not contract at all there is no step of the theorem, and the last course shows what happens
// all the same.
func (x *Following) followBound(ctx context.Context, problem learn.Problem, star []float64) error {
	c := x.Practical.Median
	for range boundTries {
		x.Bound = Course{C: c, Step: stepBound(c, x.Beta, x.Eta)}
		if err := x.follow(ctx, &x.Bound, problem, star); err != nil {
			return err
		}
		if x.Bound.holds() || x.Bound.Lowest <= 0 {
			return nil
		}
		c = x.Bound.Lowest * (1 - 1e-6) // a step shorter by rounding is no other step
	}
	return nil
}

// holds reports whether every update contracted by the c of the course's step.
func (c *Course) holds() bool { return c.Failed == 0 && c.Lowest >= c.C }

// source says where the contraction of the course's step comes from.
func (c *Course) source() string {
	switch {
	case c.holds():
		return "every update keeps to it"
	case c.Lowest > 0:
		return "not every update keeps to it"
	}
	return "the median of the practical course: no c > 0 bounds every update"
}

// stepBound is the theorem's largest step.
func stepBound(c, beta, eta float64) float64 {
	return math.Min(c*beta/(2*eta*eta+eta*beta+beta*beta), 2/(eta+beta))
}

// follow makes the iterations of a course and sums them up.
func (x *Following) follow(ctx context.Context, c *Course, problem learn.Problem, star []float64) error {
	part, err := tiles(problem.Data[0], theoremBlocks, theoremBlocks)
	if err != nil {
		return err
	}
	f, err := newFollower(problem, part)
	if err != nil {
		return err
	}
	moments, err := f.follow(ctx, star, c.Step, x.Plan.Steps)
	if err != nil {
		return err
	}
	c.sumUp(moments, x.Beta, x.Eta)
	return nil
}

// settled is ‖θ−θ*‖, relative to the start, below which rounding and the accuracy of θ* are all that is left to see.
const settled = 1e-8

// sumUp measures a course's moments.
func (c *Course) sumUp(moments []Moment, beta, eta float64) {
	for i, m := range moments {
		if m.Theta < settled*moments[0].Theta {
			moments = moments[:i]
			break
		}
	}
	var contractions []float64
	for t, m := range moments {
		if x, ok := m.contraction(); ok {
			contractions = append(contractions, x)
			if x <= 0 {
				c.Failed++
				c.FailedAt[t%len(c.FailedAt)]++
			}
		}
	}
	if c.Measured = len(contractions); c.Measured > 0 { // else both are 0
		c.Median, c.Lowest = median(contractions), slices.Min(contractions)
	}
	if c.C == 0 {
		c.C = math.Max(c.Lowest, 0) // of the practical course: its own
	}
	c.Gamma = beta / (2 * (1 - c.C) * eta * eta)
	c.Delta = beta * c.Step / 2
	for t := 1; t < len(moments); t++ {
		if c.lyapunov(moments[t]) > (1-c.Delta)*c.lyapunov(moments[t-1])*(1+1e-12) {
			c.Slower++
		}
	}
	if n := len(moments); n > 2 {
		c.Rate = -math.Log(c.lyapunov(moments[n-1])/c.lyapunov(moments[n/2])) / float64(n-1-n/2)
	}
	next := 0.0
	for t, m := range moments {
		if float64(t) >= next {
			c.At, c.Moments = append(c.At, t), append(c.Moments, m)
			const growth = 1.01 // of t from one drawn iteration to the next
			next = math.Max(float64(t+1), growth*float64(t))
		}
	}
}

// linear reports whether P falls, late in the course too, by a fixed share per
// iteration: at least the theorem's. A power of the number of iterations would not.
func (c *Course) linear() bool { return c.Rate >= c.Delta && c.Delta > 0 }

// lyapunov is P_t.
func (c *Course) lyapunov(m Moment) float64 { return m.Theta + c.Gamma*m.Tau }

// curvature returns the smallest and largest eigenvalue of the Hessian of L at
// points on the line from zero weights to the optimum.
func curvature(p learn.Problem, star []float64) (smallest, largest float64, err error) {
	evaluator, err := learn.NewEvaluator(p, 1)
	if err != nil {
		return 0, 0, err
	}
	defer evaluator.Close()
	smallest = math.Inf(1)
	theta := make([]float64, len(star))
	for _, place := range []float64{0, 0.25, 0.5, 0.75, 1} {
		for i := range theta {
			theta[i] = place * star[i]
		}
		values, err := eigenvalues(evaluator, theta)
		if err != nil {
			return 0, 0, err
		}
		smallest, largest = min(smallest, slices.Min(values)), max(largest, slices.Max(values))
	}
	return smallest, largest, nil
}

// eigenvalues are those of the Hessian of L, by central differences of ∇L.
func eigenvalues(evaluator *learn.Evaluator, theta []float64) ([]float64, error) {
	// The gradient is known to about 1e-10, and the differences err by h².
	const h = 1e-3
	n := len(theta)
	columns := make([][]float64, n)
	moved := slices.Clone(theta)
	for j := range columns {
		columns[j] = make([]float64, n)
		for _, sign := range []float64{1, -1} {
			moved[j] = theta[j] + sign*h
			x, err := evaluator.At(moved)
			if err != nil {
				return nil, err
			}
			for i, g := range x.Gradient {
				columns[j][i] += sign * g / (2 * h)
			}
		}
		moved[j] = theta[j]
	}
	hessian := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			hessian.SetSym(i, j, (columns[i][j]+columns[j][i])/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(hessian, false) {
		return nil, fmt.Errorf("study: the eigenvalues of the Hessian were not found")
	}
	return eigen.Values(nil), nil
}

// claims holds the assumption and the theorem against the measurements.
func (x *Following) claims() []Claim {
	p, b := &x.Practical, &x.Bound
	assumption := func(name string, c *Course) Claim {
		return Claim{
			Name:  fmt.Sprintf("Assumption 1, %s, %s", x.Plan.Model, name),
			Paper: "every block update contracts, 0 < c < 1", Held: c.Lowest > 0,
			Measured: fmt.Sprintf("α = %.3g: c ≤ 0 at %d of %d iterations; lowest %.3g, median %.3g",
				c.Step, c.Failed, c.Measured, c.Lowest, c.Median),
		}
	}
	return []Claim{
		assumption("practical step", p), assumption("theorem's step", b),
		{
			Name:  "P falls by δ in every iteration, " + x.Plan.Model,
			Paper: "P_{t+1} ≤ (1−δ)P_t under the step bound", Held: b.Slower == 0,
			Measured: fmt.Sprintf("c = %.3g (%s), α = %.3g, δ = %.3g; P fell by less at %d iterations; mean rate %.3g, "+
				"×%.2g of δ",
				b.C, b.source(), b.Step, b.Delta, b.Slower, b.Rate, b.Rate/b.Delta),
		},
		{
			Name:  "linear convergence, " + x.Plan.Model,
			Paper: "θ_t converges linearly to θ*", Held: p.linear() && b.linear(),
			Measured: fmt.Sprintf("log P falls by %.3g per iteration at the practical step α = %.3g (δ = %.3g), by %.3g at "+
				"the bound (δ = %.3g); the practical step is ×%.3g of it", p.Rate, p.Step, p.Delta, b.Rate, b.Delta, p.Step/b.Step),
		},
	}
}

// note says what was found about the assumption.
func (x *Following) note() string {
	text := fmt.Sprintf("%s model, %d×%d grid, %d states, %d blocks, l2 = %g: β = %.4g, η = %.4g. Failures of "+
		"Assumption 1 by block: %v at the practical step, %v at the theorem's. ",
		x.Plan.Model, x.Plan.Rows, x.Plan.Cols, x.Plan.States, theoremBlocks*theoremBlocks, x.Plan.L2, x.Beta, x.Eta,
		x.Practical.FailedAt, x.Bound.FailedAt)
	if x.Practical.Lowest > 0 && x.Bound.Lowest > 0 {
		return text + "Assumption 1 held at every iteration. It need not: lab/CONVERGENCE.md has a network on " +
			"which it fails, and proves what holds without it."
	}
	return text + "Where Assumption 1 fails an update takes τ away from τ*_t in norm; the gap in values falls all the " +
		"same (lab/CONVERGENCE.md)."
}

func (x *Following) row(name string, c *Course) []string {
	return []string{
		x.Plan.Model, name, fmt.Sprintf("%.4g", c.Step), fmt.Sprintf("%.3g", c.C), fmt.Sprintf("%.3g", c.Gamma),
		fmt.Sprintf("%d of %d", c.Failed, c.Measured), fmt.Sprintf("%.3g", c.Lowest), fmt.Sprintf("%.3g", c.Median),
		fmt.Sprintf("%.3g", c.Delta), fmt.Sprintf("%.3g", c.Rate), fmt.Sprint(c.Slower),
	}
}

// figure draws the distances of a course, with P.
func (x *Following) figure(file, name string, c *Course) Figure {
	file, name = x.Plan.Model+"-"+file, x.Plan.Model+", "+name
	curve := func(s report.Series, value func(t float64, m Moment) float64) report.Series {
		for i, m := range c.Moments {
			t := float64(c.At[i])
			if y := value(t, m); y > 0 { // on a logarithmic axis; at the start ‖τ − τ*‖ is 0
				s.X, s.Y = append(s.X, t), append(s.Y, y)
			}
		}
		return s
	}
	first := c.lyapunov(c.Moments[0])
	drawn := report.Curves{Title: name, XLabel: "iteration", YLabel: "distance", LogY: true, Series: []report.Series{
		curve(report.Series{Name: "‖θ − θ*‖"}, func(_ float64, m Moment) float64 { return m.Theta }),
		curve(report.Series{Name: "‖τ − τ*‖"}, func(_ float64, m Moment) float64 { return m.Tau }),
		curve(report.Series{Name: "P", Dashed: true}, func(_ float64, m Moment) float64 { return c.lyapunov(m) }),
		curve(report.Series{Name: "P₀(1−δ)ᵗ", Dashed: true}, func(t float64, _ Moment) float64 {
			return first * math.Pow(1-c.Delta, t)
		}),
	}}
	return Figure{file, fmt.Sprintf("%s: distances and the Lyapunov function P = ‖θ − θ*‖ + γ ‖τ − τ*‖ with γ = %.3g; "+
		"where γ is small, P, dashed, lies on ‖θ − θ*‖.", name, c.Gamma), drawn}
}
