package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// member is one of the family of systems that the paper stands among, with what the command is asked for.
type member struct {
	name     string
	counting string
	method   learn.Method
	sweeps   int     // of truncated learning and its predictions
	epsilon  float64 // of a Hamming loss; 0: none
	alone    bool    // without edges
}

// defaultMember is what the command does by itself.
const defaultMember = "--counting trw"

// familyMembers are all of them.
func familyMembers() (all []member) {
	all = append(all, member{name: "--no-edges", alone: true})
	for _, name := range counting.Names {
		all = append(all, member{name: "--counting " + name, counting: name})
	}
	for _, epsilon := range []float64{1, 0.1, 0.01} {
		all = append(all, member{name: fmt.Sprintf("--loss hamming --epsilon %g", epsilon), epsilon: epsilon})
	}
	return append(all, member{name: "--method exact", method: learn.Exact},
		member{name: "--method composite", method: learn.Composite},
		member{name: "--method truncated:3", method: learn.Truncated, sweeps: 3},
		member{name: "--method piecewise", method: learn.Piecewise}, member{name: "--method pseudo", method: learn.Pseudo})
}

// familySet is a kind of data. wide: its networks are too wide for exact learning.
type familySet struct {
	name string
	wide bool
	// draw returns a network of about side² nodes with its labels and features of nodes.
	draw   func(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error)
	states int
}

// How many networks are learnt from, and how many others are predicted.
const learnt, tested = 4, 6

// familySets are patterns that no pairwise model draws, samples of known ones, and graphs whose neighbours are alike.
func familySets() []familySet {
	return []familySet{
		{"chains", false, drawChain, 5}, {"Ising, weak", false, drawPotts(0.3), 2}, {"Ising, strong", false, drawPotts(1.2),
			2},
		{"stripes", true, drawStripes, 4}, {"Potts, preferential", true, drawAttached, 3},
		{"communities", true, drawCommunities, 3},
	}
}

// noisy are features that tell a label under noise, and a constant.
func noisy(labels []int32, states int, noise float64, rng *rand.Rand) (rows [][]float64) {
	for _, y := range labels {
		row := make([]float64, states+1)
		for j := range states {
			row[j] = noise * rng.NormFloat64()
		}
		row[y]++
		row[states] = 1
		rows = append(rows, row)
	}
	return rows
}

// drawChain draws a Markov chain that mostly goes on to the next state.
func drawChain(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
	const states, onwards, noise = 5, 0.6, 1
	g, err := gen.Chain(side * side)
	labels := make([]int32, side*side)
	for s := range labels {
		labels[s] = int32(rng.IntN(states))
		if s > 0 && rng.Float64() < onwards {
			labels[s] = (labels[s-1] + 1) % states
		}
	}
	return g, labels, noisy(labels, states, noise, rng), err
}

// drawStripes draws a picture of stripes of any slope and width.
func drawStripes(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
	const states, noise = 4, 1
	g, err := graph.Grid(side, side, graph.GridOptions{})
	angle, width, phase := math.Pi*rng.Float64(), 2.5+2*rng.Float64(), 100+10*rng.Float64()
	labels := make([]int32, side*side)
	for s := range labels {
		place := math.Cos(angle)*float64(s/side) + math.Sin(angle)*float64(s%side)
		labels[s] = int32(place/width+phase) % states
	}
	return g, labels, noisy(labels, states, noise, rng), err
}

// drawPotts draws a sample of a grid whose neighbours gain by being alike.
func drawPotts(coupling float64) func(int, *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
	return func(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
		g, err := graph.Grid(side, side, graph.GridOptions{})
		if err != nil {
			return nil, nil, nil, err
		}
		labels, rows := alike(g, 2, coupling, rng)
		return g, labels, rows, nil
	}
}

// drawAttached is the same on a preferential graph.
func drawAttached(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
	const states, coupling = 3, 0.4
	g, err := gen.BarabasiAlbert(side*side, 2, rng)
	if err != nil {
		return nil, nil, nil, err
	}
	labels, rows := alike(g, states, coupling, rng)
	return g, labels, rows, nil
}

// alike draws labels whose neighbours gain by being alike, in fields that are the first features, by Gibbs sampling.
func alike(g *graph.Graph, states int, coupling float64, rng *rand.Rand) ([]int32, [][]float64) {
	const sweeps, field = 200, 0.5
	labels, rows, score := make([]int32, g.NumNodes()), make([][]float64, g.NumNodes()), make([]float64, states)
	for s := range labels {
		labels[s], rows[s] = int32(rng.IntN(states)), make([]float64, states+1)
		for j := range states {
			rows[s][j] = rng.NormFloat64()
		}
		rows[s][states] = 1
	}
	for range sweeps {
		for s := range labels {
			for i := range score {
				score[i] = field * rows[s][i]
			}
			for _, d := range g.Incoming(int32(s)) {
				score[labels[g.Source(d)]] += coupling
			}
			labels[s] = gibbs.Draw(score, rng)
		}
	}
	return labels, rows
}

// drawCommunities draws a graph whose nodes mostly have neighbours of their own kind.
func drawCommunities(side int, rng *rand.Rand) (*graph.Graph, []int32, [][]float64, error) {
	const states, degree, noise, share = 3, 4, 1.5, 0.8
	n := side * side
	labels := make([]int32, n)
	for s := range labels {
		labels[s] = int32(rng.IntN(states))
	}
	var u, v []int32
	known := map[[2]int32]bool{}
	for len(u) < n*degree/2 {
		a, b := int32(rng.IntN(n)), int32(rng.IntN(n))
		a, b = min(a, b), max(a, b)
		if same := labels[a] == labels[b]; a == b || known[[2]int32{a, b}] || same != (rng.Float64() < share) {
			continue
		}
		known[[2]int32{a, b}] = true
		u, v = append(u, a), append(v, b)
	}
	g, err := graph.FromEdges(n, u, v)
	return g, labels, noisy(labels, states, noise, rng), err
}

// instances draws networks to learn from, and to predict.
func (set *familySet) instances(side int, seed uint64) (schema crf.Schema, all []*crf.Instance, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(len(set.name))))
	schema = crf.Homogeneous(crf.NumberedStates(set.states), set.states+1, 1)
	for range learnt + tested {
		g, labels, rows, err := set.draw(side, rng)
		if err != nil {
			return schema, nil, err
		}
		nodes, err := crf.Dense(slices.Concat(rows...), set.states+1)
		if err != nil {
			return schema, nil, err
		}
		in, err := crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{nodes},
			EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, Labels: [][]int32{labels}})
		if err != nil {
			return schema, nil, err
		}
		all = append(all, in)
	}
	return schema, all, nil
}

// familyPlan says what is measured on a set.
type familyPlan struct {
	Set    string   `json:"set"`
	Seed   uint64   `json:"seed"`
	Side   int      `json:"side"`
	Within []string `json:"members"`
}

// familyTrial is what came of a member.
type familyTrial struct {
	Member   string  `json:"member"`
	LogLoss  float64 `json:"log_loss"` // of networks held out, nats for a label
	Accuracy float64 `json:"accuracy"`
	Passes   float64 `json:"passes"`
	Status   string  `json:"status"`

	// Of the default: weights_within, as a share of the norm of the weights, by itself and with --gap 1e-8; then the mean
	// width of what `infer --intervals` proves by walks, and by how much exact probabilities are outside of it, at most.
	Within, Proved, Width, Outside float64
}

// familyTrials are those of a plan.
type familyTrials struct {
	Plan   familyPlan    `json:"plan"`
	Trials []familyTrial `json:"trials"`
}

// family compares the systems that the paper stands among.
func family() *Study {
	return &Study{
		Name: "family", Title: "The family: which of its members serves when",
		Paper: "The paper takes counting numbers that make the objective convex, and compares no others, and no other " +
			"objectives. All members are options of this project.",
		parts: familyParts,
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := resultsOf[familyTrials](r, familyParts(s))
			if err != nil {
				return nil, err
			}
			return &Findings{Data: all, Claims: familyClaims(all), Tables: []Table{
				{"losses", "Log loss of networks held out, nats for a label, and the mean rank.", familyTable(all,
					(*familyTrial).loss)},
				{"mistakes", "Per cent of their labels that are wrong, and the mean rank.", familyTable(all, (*familyTrial).wrong)},
				{"proofs", "Of " + defaultMember + ": what is proved of weights, and of probabilities.", proofTable(all)},
				{"passes", "Passes of learning, in whole networks; of methods without messages, evaluations.",
					familyTable(all, func(t *familyTrial) float64 { return t.Passes })},
			}, Notes: []string{fmt.Sprintf("Each set has %d networks to learn from and %d to predict, l2 is 1/%[1]d; means "+
				"over the seeds. A bar stands for what is too wide. With a loss beliefs are no probabilities.",
				learnt, tested)}}, nil
		},
	}
}

func (t *familyTrial) loss() float64  { return t.LogLoss }
func (t *familyTrial) wrong() float64 { return 100 * (1 - t.Accuracy) }

func familyParts(s Settings) (all []part) {
	var names []string
	for _, m := range familyMembers() {
		names = append(names, m.name)
	}
	x := s.sizes()
	for _, set := range familySets() {
		for seed := range min(x.seeds, familySeeds) {
			plan := familyPlan{Set: set.name, Seed: uint64(seed + 1), Side: x.familySide, Within: names}
			all = append(all, part{name: fmt.Sprintf("family-%s-seed%d", set.name, plan.Seed), plan: plan,
				measure: func(ctx context.Context, threads int) (any, error) { return plan.measure(ctx, &set, threads) }})
		}
	}
	return all
}

// familySeeds are as many as half an hour has time for.
const familySeeds = 3

// measure tries all members.
func (p familyPlan) measure(ctx context.Context, set *familySet, threads int) (*familyTrials, error) {
	schema, all, err := set.instances(p.Side, p.Seed)
	if err != nil {
		return nil, err
	}
	r := &familyTrials{Plan: p}
	for _, m := range familyMembers() {
		if set.wide && m.method == learn.Exact {
			continue
		}
		t, err := m.try(ctx, schema, all, threads)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", p.Set, m.name, err)
		}
		r.Trials = append(r.Trials, *t)
	}
	return r, nil
}

// try learns as a member does, and predicts the rest.
func (m *member) try(ctx context.Context, schema crf.Schema, all []*crf.Instance, threads int) (*familyTrial, error) {
	name := m.counting
	if name == "" {
		name = "trw"
	}
	numbers, err := counting.Parse(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	if m.alone {
		all = slices.Clone(all)
		for i, in := range all {
			all[i] = in.WithoutEdges()
		}
	}
	model, err := crf.NewModel(schema)
	if err != nil {
		return nil, err
	}
	problem := learn.Problem{Model: model, Data: all[:learnt], Counting: numbers, L2: 1.0 / learnt}
	if m.epsilon > 0 {
		problem.Loss, problem.L2 = 1/m.epsilon, problem.L2*m.epsilon
	}
	settings := learn.Settings{Method: m.method, InnerSweeps: m.sweeps, Proof: 1e-3, MaxPasses: 3000, Threads: threads}
	result, err := learn.Fit(ctx, problem, settings)
	if err != nil {
		return nil, err
	}
	t := &familyTrial{Member: m.name, Passes: result.Passes, Status: string(result.Status)}
	predictor := &infer.Predictor{Model: result.Model, Counting: numbers, Truncated: m.sweeps}
	score := infer.NewScore(len(schema.NodeTypes[0].States))
	for _, in := range all[learnt:] {
		beliefs, err := predictor.Predict(ctx, in, nil)
		if err != nil {
			return nil, err
		}
		score.Add(beliefs, in.Samples()[0], nil)
	}
	if t.LogLoss, t.Accuracy = score.MeanLogLoss(), score.Accuracy(); math.IsInf(t.LogLoss, 0) {
		return nil, errors.New("a label has no belief")
	}
	if m.name == defaultMember {
		t.Within = within(result, problem.L2)
		err = t.prove(ctx, problem, settings, all[learnt:])
	}
	return t, cmp.Or(err, ctx.Err())
}

// within is the radius of the ball around the weights in which the best ones are, as a share of the weights' norm.
func within(r *learn.Result, l2 float64) float64 {
	return math.Sqrt(2*r.Suboptimality/l2) / floats.Norm(r.Model.Weights, 2)
}

// prove learns to a small gap, and bounds the probabilities of a node in the middle of each network.
func (t *familyTrial) prove(ctx context.Context, p learn.Problem, s learn.Settings, networks []*crf.Instance) error {
	s.Proof, s.Gap = 0, 1e-8
	result, err := learn.Fit(ctx, p, s)
	if err != nil {
		return err
	}
	t.Proved = within(result, p.L2)
	for _, in := range networks {
		n, o := ground.Condition(result.Model, in).Network(), infer.Options{Query: []int{in.Graph.NumNodes() / 2}}
		best, err := infer.Marginals(ctx, n, o)
		if err != nil {
			return err
		}
		o.Method = "walks"
		r, err := infer.Marginals(ctx, n, o)
		if err != nil {
			return err
		}
		for x, low := range r.Lower[0] {
			t.Width += (r.Upper[0][x] - low) / float64(len(networks)*len(r.Lower[0]))
			if best.Method == infer.Exact {
				t.Outside = max(t.Outside, low-best.Lower[0][x], best.Lower[0][x]-r.Upper[0][x])
			}
		}
	}
	return nil
}

// proofTable has a row for each kind of proof, and a column for each set.
func proofTable(all []*familyTrials) report.Table {
	t := report.Table{Headers: []string{"proof"}, Rows: [][]string{{"weights_within / norm"}, {"the same, --gap 1e-8"},
		{"mean width of infer --intervals, by walks"}}}
	for _, set := range familySets() {
		t.Headers = append(t.Headers, set.name)
		for i, value := range []func(*familyTrial) float64{func(t *familyTrial) float64 { return t.Within },
			func(t *familyTrial) float64 { return t.Proved }, func(t *familyTrial) float64 { return t.Width }} {
			t.Rows[i] = append(t.Rows[i], fmt.Sprintf("%.2g", familyMean(all, defaultMember, set.name, value)))
		}
	}
	return t
}

// familyMean is the mean of a member on a set; NaN where it was not tried.
func familyMean(all []*familyTrials, name, set string, value func(*familyTrial) float64) float64 {
	sum, n := 0.0, 0.0
	for _, r := range all {
		for _, t := range r.Trials {
			if t.Member == name && r.Plan.Set == set {
				sum, n = sum+value(&t), n+1
			}
		}
	}
	return sum / n
}

// familyRank is the mean rank of a member over the sets on which it was tried, 1 being the smallest value.
func familyRank(all []*familyTrials, name string, value func(*familyTrial) float64) float64 {
	ranks, n := 0.0, 0.0
	for _, set := range familySets() {
		own := familyMean(all, name, set.name, value)
		if math.IsNaN(own) {
			continue
		}
		ranks, n = ranks+1, n+1
		for _, m := range familyMembers() {
			if familyMean(all, m.name, set.name, value) < own*(1-1e-3) {
				ranks++
			}
		}
	}
	return ranks / n
}

// familyTable has a row for each member, and a column for each set.
func familyTable(all []*familyTrials, value func(*familyTrial) float64) report.Table {
	t := report.Table{Headers: []string{"member"}}
	for _, set := range familySets() {
		t.Headers = append(t.Headers, set.name)
	}
	t.Headers = append(t.Headers, "rank")
	for _, m := range familyMembers() {
		row := []string{m.name}
		for _, set := range familySets() {
			cell := "–"
			if x := familyMean(all, m.name, set.name, value); !math.IsNaN(x) {
				cell = fmt.Sprintf("%.3g", x)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("%.1f", familyRank(all, m.name, value))))
	}
	return t
}

// familyClaims are what this project says of its default, and of the others.
func familyClaims(all []*familyTrials) (claims []Claim) {
	add := func(name, says, measured string, held bool) {
		claims = append(claims, Claim{Name: name, Ours: true, Paper: says, Measured: measured, Held: held})
	}
	best, bestName := math.Inf(1), ""
	for _, m := range familyMembers() {
		if rank := familyRank(all, m.name, (*familyTrial).loss); m.method != learn.Exact && rank < best {
			best, bestName = rank, m.name
		}
	}
	own := familyRank(all, defaultMember, (*familyTrial).loss)
	add("default", "of what takes any network, no member's mean rank in log loss is one below that of the default, trw",
		fmt.Sprintf("%.1f, and %.1f of %s", own, best, bestName), own < best+1)
	farthest, least := 0.0, math.Inf(1)
	for _, set := range familySets() {
		of := func(name string) float64 { return familyMean(all, name, set.name, (*familyTrial).loss) }
		farthest = max(farthest, math.Abs(of("--counting near-bethe")/of(defaultMember)-1))
		least = min(least, of("--loss hamming --epsilon 0.1")/of("--no-edges"))
	}
	add("near-bethe", "log losses of near-bethe are those of trw, within 3 % on each set", fmt.Sprintf("%.2g %%",
		100*farthest), farthest <= 0.03)
	outside := 0.0
	for _, r := range all {
		for _, t := range r.Trials {
			outside = max(outside, t.Outside)
		}
	}
	add("intervals", "exact probabilities, where they can be had, are in the intervals that walks prove",
		fmt.Sprintf("outside by %.2g at most", outside), outside <= 1e-9)
	add("loss", "with a loss and ε ≤ 0.1 log losses are above those of node features alone",
		fmt.Sprintf("%.2g times these at least", least), least > 1)
	return claims
}
