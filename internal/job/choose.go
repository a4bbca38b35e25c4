package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// Choice is what was chosen by folds of labels, where labels of a network are hidden: in
// the run folder and in result.json.
type Choice struct {
	Chosen Candidate `json:"chosen"`
	// Metric names what candidates are compared by.
	Metric string `json:"metric"`
	// Candidates are the best of each kind, in the order in which they were tried.
	Candidates []Candidate `json:"candidates"`
	// MaxPasses bounds the training that was chosen; 0: the options do.
	MaxPasses float64 `json:"max_passes,omitempty"`
	Seconds   float64 `json:"seconds"`
}

// Candidate is a way to learn from few labels.
type Candidate struct {
	Hops  int     `json:"hops"`
	Prior float64 `json:"prior"` // 0: that of the options, or their l2
	// Edges is as Options.Edges, with the power of beliefs; potts:0 are node features alone.
	Edges string `json:"edges"`
	// Loss and Accuracy are of labels that were held out. Error is the standard error of
	// the difference of Loss to the smallest one's.
	Loss     runfolder.Float `json:"log_loss"`
	Accuracy runfolder.Float `json:"accuracy"`
	Error    runfolder.Float `json:"error"`
}

// String says in words what the candidate is.
func (c Candidate) String() string {
	text := "features as they are"
	if c.Hops > 0 {
		text = fmt.Sprintf("means over %d hops", c.Hops)
	}
	if c.Prior > 0 {
		text += fmt.Sprintf(", prior %g", c.Prior)
	}
	return text + ", edges " + c.Edges
}

const (
	// leastLabels is how many known labels folds take. With more than mostLabels, or more than
	// mostPairs of states on edges, all candidates would take longer than minutes in all folds: one
	// fold tells enough, and features and prior stay. With more than largestPairs edges are learned.
	leastLabels, mostLabels, mostPairs, largestPairs = 2 * mostFolds, 2000, 1 << 20, 1 << 24
	// mostOfMost is mostLabels where labels of most nodes are known, and learning takes seconds.
	mostOfMost = 500
	// mostKnown is the share of known labels up to which the others are taken for what is to be
	// predicted from these, as the folds are.
	mostKnown = 0.9
	// choiceHops is the largest number that is tried: further neighbours add little, and
	// fill sparse features.
	choiceHops = 2
	// Priors are tried from the default, in steps of 2, as long as each is better. Wider ones are
	// not: few labels often take them by chance (results/README.md).
	leastPrior, mostPrior = 1. / 64, 4.
	// Strengths are tried from what is justified in steps of √2, as far as each is better. Powers of
	// beliefs are such steps from 1, whose logarithm has a normal prior of deviation powerDeviation.
	leastStrength, mostStrength = 1. / 64, 16.
	powerSteps, powerDeviation  = 6, 0.5
	choiceTolerance             = 1e-4 // of fits, as l2path's
	choicePasses                = 600
	// togetherPasses bounds learning of edges and nodes at once, in folds and then with all
	// labels: what was measured is what is learned. It is tried for up to togetherPairs of
	// states on edges: more would take longer than all other candidates.
	togetherPasses, togetherPairs = 500, 1 << 17
	leastProbability              = 1e-12 // of a label, lest one be all of the loss
)

// choice is one under way.
type choice struct {
	run     *run
	p       *Prepared
	data    map[int]*hopped
	parts   []labelFold
	known   []int32 // nodes with labels
	started time.Time
	state   choiceState
	// usual stays, unless another is surely better: it is what is learned where no label is hidden, with
	// labels of most nodes, or, without features, what fewer labels have. nil: there is none.
	usual *trial
}

// choiceState is how far a choice has come.
type choiceState struct {
	Tried   []*trial `json:"tried"`
	Seconds float64  `json:"seconds"`
}

// trial is what came of one candidate.
type trial struct {
	Hops  int       `json:"hops"`
	Prior float64   `json:"prior"`
	Edges string    `json:"edges"` // its power, if it has one, is the likeliest before labels are asked
	Power float64   `json:"power"` // of beliefs, with which the score is smallest
	Loss  []float64 `json:"loss"`  // [known labels]
	Hit   []bool    `json:"hit"`
}

func (t *trial) rule() edgeRule {
	rule, err := parseEdges(t.Edges)
	if err != nil {
		panic("job: " + err.Error()) // it was made of a rule
	}
	return rule
}

// candidate is the trial for a reader, and what its options are.
func (t *trial) candidate(err float64) Candidate {
	rule := t.rule()
	rule.power = t.Power
	return Candidate{Hops: t.Hops, Prior: t.Prior, Edges: rule.String(), Loss: runfolder.Float(t.loss()),
		Accuracy: runfolder.Float(t.accuracy()), Error: runfolder.Float(err)}
}

func (t *trial) loss() float64 {
	sum := 0.0
	for _, x := range t.Loss {
		sum += x
	}
	return sum / float64(len(t.Loss))
}

// score is what trials are compared by.
func (t *trial) score() float64 { return t.loss() + t.penalty() }

// penalty is a label's share of two normal priors. Weights have one of deviation 1: they are half of a
// rule's strength on either side of their middle. The logarithm of the power has the other. Where all
// labels that were held out are right, the loss alone falls with any strength.
func (t *trial) penalty() float64 {
	rule := t.rule()
	half, steps := rule.strength/2, math.Log(t.Power/cmp.Or(rule.power, 1))/powerDeviation
	return (half*half + steps*steps) / 2 / float64(len(t.Loss))
}

func (t *trial) accuracy() float64 {
	hits := 0
	for _, hit := range t.Hit {
		if hit {
			hits++
		}
	}
	return float64(hits) / float64(len(t.Hit))
}

// labelFold are known labels, by their number, that are held out, and all labels without them.
type labelFold struct {
	held []int
	left []int32
}

// hopped are data with means over some hops: the network with its edges, and its scale.
type hopped struct {
	set    *dataset.Set
	in     *crf.Instance
	fitted map[float64][]*crf.Model // by prior: of each fold
}

// chooses reports whether options and data leave it open how edges are made, and labels of one
// network are hidden. Where most are known, that must be to compare with what is usual.
func (p *Prepared) chooses() bool {
	return p.choosesByGraph() && p.constantEdges()
}

// constantEdges reports whether edges have the constant feature that rules give weights.
func (p *Prepared) constantEdges() bool {
	return len(constantColumns(&p.Problem.Model.Schema, p.Problem.Data, edgesMoments)) > 0
}

// choosesByGraph reports it without a look at features. Several processes learn edges together, unless
// that is worse than node features alone as a rule, and quick for one.
func (p *Prepared) choosesByGraph() bool {
	return p.leavesOpen() && (p.Group == nil || p.Group.Size() == 1 || p.mostHidden() && !p.large())
}

// leavesOpen is choosesByGraph for one process.
func (p *Prepared) leavesOpen() bool {
	return p.hides() && !p.tooFew() && (p.mostHidden() || p.triesTogether())
}

// tooFew reports whether labels are too few for folds. Without features they need twice as many: ten
// chose strengths that were worse than what is justified (results/README.md).
func (p *Prepared) tooFew() bool {
	labels := len(comparedLabels(p.Problem.Data[0]))
	return labels < leastLabels || labels < 2*leastLabels && p.bare()
}

// hides reports whether labels of one network are hidden, and options leave it open how edges are made.
func (p *Prepared) hides() bool {
	return p.Options.Edges == edgesAuto && !p.asked.asksHow() && p.Initial == nil &&
		p.Options.Physics == "" && p.Options.Errors == errorsNone && !p.Options.AutoL2 &&
		len(p.Problem.Data) == 1 && len(p.Problem.Data[0].Samples()) == 1 && p.knownShare() <= mostKnown && p.everyTypeSeen() &&
		p.pairsAllow()
}

// triesTogether reports whether edges that are learned with nodes are compared: where that takes no
// more than seconds, and begins with node features alone.
func (p *Prepared) triesTogether() bool {
	return pairsOf(p.Problem.Data[0]) <= togetherPairs && p.everyStateSeen()
}

// large reports whether one fold, and the candidates that cost least, are all there is time for.
func (p *Prepared) large() bool {
	in, most := p.Problem.Data[0], mostLabels
	if !p.mostHidden() {
		most = mostOfMost
	}
	return len(knownLabels(in)) > most || pairsOf(in) > mostPairs
}

// pairsAllow reports whether a choice takes no more than minutes, and leaves out nothing that edges
// may tell: rules know no features of edges, so that edges with some must be learned too.
func (p *Prepared) pairsAllow() bool {
	pairs := pairsOf(p.Problem.Data[0])
	featured := slices.ContainsFunc(p.Problem.Model.Schema.EdgeTypes, func(t crf.EdgeType) bool { return t.Features > 1 || t.Copies > 0 })
	return pairs <= togetherPairs || pairs <= largestPairs && !featured
}

// asksHow reports whether options say how a run on edges is to be made.
func (o *Options) asksHow() bool {
	return cmp.Or(o.Method, learn.Auto) != learn.Auto || o.Cut != (learn.Cut{}) || o.Together != 0 || o.Pairs || cmp.Or(o.Order, orderCyclic) != orderCyclic ||
		cmp.Or(o.Step, autoStep) != autoStep || o.InnerSweeps != 0 || o.InnerTolerance != 0
}

// pairsOf counts the pairs of states of all edges.
func pairsOf(in *crf.Instance) (n int) {
	u, v := in.Graph.Ends()
	for e := range u {
		n += in.States(u[e]) * in.States(v[e])
	}
	return n
}

func knownLabels(in *crf.Instance) (known []int32) {
	for s, y := range in.Samples()[0] {
		if y != crf.Unobserved {
			known = append(known, int32(s))
		}
	}
	return known
}

// comparedLabels are the nodes whose labels are held out by turns: a state that has one label
// alone keeps it, as nothing would tell of the state without.
func comparedLabels(in *crf.Instance) []int32 {
	labels, known := in.Samples()[0], knownLabels(in)
	count := map[[2]int32]int{} // of node type and state
	of := func(s int32) [2]int32 { return [2]int32{int32(in.NodeType(s)), labels[s]} }
	for _, s := range known {
		count[of(s)]++
	}
	return slices.DeleteFunc(known, func(s int32) bool { return count[of(s)] < 2 })
}

// chooseByFolds replaces the preparation by that of the candidate which predicts best the known
// labels that were held out, where there is something to choose.
func (r *run) chooseByFolds(ctx context.Context) error {
	if !r.p.choosing {
		return nil
	}
	c := &choice{run: r, p: r.p, data: map[int]*hopped{}, started: time.Now()}
	made, err := c.search(ctx)
	r.chosenFor = c.state.Seconds
	if ctx.Err() != nil {
		text := "interrupted while --edges, --hops and --prior were chosen; nothing was written: start again"
		if r.folder != nil {
			text = fmt.Sprintf("interrupted while --edges, --hops and --prior were chosen, after %d candidates; go on with blockbp train %s --resume", len(c.state.Tried), r.files.Dir())
		}
		return &Error{Interrupted, errors.New(text)}
	}
	if err != nil {
		return err
	}
	if r.folder != nil {
		if err := r.files.WriteSealed(choiceFile, made); err != nil {
			return err
		}
	}
	if err := r.adopt(ctx, made); err != nil {
		return err
	}
	if r.folder == nil {
		return nil
	}
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := os.Remove(r.files.Path(choiceStateFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// adopt prepares the training that was chosen.
func (r *run) adopt(ctx context.Context, made *Choice) error {
	before := r.p
	p, err := before.chosen(ctx, made)
	if err != nil {
		return err
	}
	for _, text := range p.Notes {
		if !slices.Contains(before.Notes, text) {
			r.watch.note("%s", text)
		}
	}
	r.p = p
	p.lessTime(made)
	if r.folder != nil {
		r.folder.Config.Options = p.resolved(r.folder.Config.Options)
	}
	return nil
}

// chosen is the preparation of the training that was chosen.
func (p *Prepared) chosen(ctx context.Context, made *Choice) (*Prepared, error) {
	o, t, best := p.asked, p.Task, made.Chosen
	o.Edges, o.MaxPasses = best.Edges, cmp.Or(o.MaxPasses, made.MaxPasses)
	if best.Prior > 0 {
		o.Prior = best.Prior
	}
	if best.Hops > t.Set.Recipe.Hops {
		var err error
		if t.Set, err = t.Set.Averaged(ctx, best.Hops, p.Options.Memory); err != nil {
			return nil, err
		}
		t.Evaluations = nil
		for _, e := range p.Evaluations {
			if e, err = e.averaged(ctx, t.Set, p.Options.Memory); err != nil {
				return nil, err
			}
			t.Evaluations = append(t.Evaluations, e)
		}
	}
	own, err := Prepare(ctx, o, t)
	if err != nil {
		return nil, err
	}
	own.tell(made)
	return own, nil
}

// averaged is the evaluation on data with means over as many hops as a set has.
func (e *Evaluation) averaged(ctx context.Context, like *dataset.Set, allowed int64) (*Evaluation, error) {
	set, err := e.Set.Averaged(ctx, like.Recipe.Hops, allowed)
	if err != nil {
		return nil, err
	}
	if set.Schema.NodeTypes[0].Features != like.Schema.NodeTypes[0].Features {
		return nil, errOtherFeatures
	}
	own := *e
	own.Set, own.Instances = set, set.Instances
	return &own, nil
}

// errOtherFeatures: means over hops leave nodes of an evaluation set, and none of the training, without features.
var errOtherFeatures = errors.New("the nodes of an evaluation set have other features")

// search tries candidates.
func (c *choice) search(ctx context.Context) (*Choice, error) {
	in := c.p.Problem.Data[0]
	c.known = comparedLabels(in)
	c.divide(in.Samples()[0])
	if err := c.readState(); err != nil {
		return nil, err
	}
	prior := 0.0
	if c.p.asked.Prior == 0 && !c.p.asked.givesL2() {
		prior = 1
	}
	var finalists []*trial
	given := c.p.Set.Recipe.Hops
	most := max(given, choiceHops)
	if c.p.large() {
		most = given
	}
	for hops := given; hops <= most; hops++ {
		if ok, err := c.prepare(ctx, hops); err != nil {
			return nil, err
		} else if !ok {
			break
		}
		at, alone := trial{Hops: hops, Prior: prior}, (*trial)(nil)
		for _, edges := range c.kinds(hops == given) {
			if at.Edges = edges; len(finalists) > 0 && c.late() {
				break
			}
			found, err := c.climb(ctx, at, alone)
			if errors.As(err, new(*learn.DivergedError)) || err == nil && (found == nil || slices.Contains(finalists, found)) {
				continue
			}
			if err != nil {
				return nil, err
			}
			switch {
			case edges == noEdges:
				alone, at.Prior = found, found.Prior
			case c.usual == nil && hops == given && len(finalists) == 0:
				c.usual = found
			}
			if c.run.watch.Candidate != nil {
				c.run.watch.Candidate(found.candidate(0))
			}
			finalists = append(finalists, found)
		}
		delete(c.data, hops) // its memory is needed for the next
	}
	return c.decide(finalists), nil
}

// kinds are what climbs begin with, by the weights of edges: what is usual, then the simplest first.
func (c *choice) kinds(first bool) (kinds []string) {
	data := []*crf.Instance{c.p.networks()[0]}
	schema, rule := &c.p.Problem.Model.Schema, c.p.justified()
	of := func(name string, strength float64) string { return edgeRule{name: name, strength: strength}.String() }
	switch {
	case first && c.p.mostHidden() && c.p.bare():
		kinds = append(kinds, rule.String())
	case first && !c.p.mostHidden():
		kinds = append(kinds, edgesTogether)
	}
	kinds = append(kinds, noEdges)
	if len(constantColumns(schema, data, edgesPotts)) > 0 {
		kinds = append(kinds, of(edgesPotts, rule.strength), of(edgesPotts, -rule.strength))
	}
	if len(constantColumns(schema, data, edgesMoments)) > 0 {
		kinds = append(kinds, of(edgesMoments, rule.strength))
	}
	if c.p.triesTogether() {
		kinds = append(kinds, edgesTogether)
	}
	return kinds
}

// climb takes steps of strength and prior from a candidate, as long as one is better; nil: neighbours
// that differ are worse than node features alone.
func (c *choice) climb(ctx context.Context, from trial, alone *trial) (*trial, error) {
	best, err := c.try(ctx, from.Hops, from.Prior, from.Edges)
	if err == nil && alone != nil && from.rule().strength < 0 && best.score() >= alone.score() {
		return nil, nil
	}
	moves := []struct{ strength, prior float64 }{{1, 2}, {1, .5}, {math.Sqrt2, 1}, {1 / math.Sqrt2, 1}}
	switch {
	case from.Edges == edgesTogether && from.Hops == c.p.Set.Recipe.Hops: // the others take long
		moves = moves[:1]
	case from.Edges == edgesTogether || from.rule().power != 0:
		moves = nil
	}
	for moved := err == nil && len(moves) > 0; moved; {
		moved = false
		for _, by := range moves {
			for !c.late() {
				rule, prior := best.rule(), best.Prior*by.prior
				rule.strength *= by.strength
				size := math.Abs(rule.strength)
				outside := by.prior == 1 && (!rule.makes() || size < leastStrength || size > mostStrength)
				if outside || by.prior != 1 && (prior < leastPrior || prior > mostPrior || c.p.large()) {
					break
				}
				rule.strength = rounded(rule.strength)
				next, err := c.try(ctx, best.Hops, prior, rule.String())
				if err != nil {
					return nil, err
				}
				if next.score() >= best.score() {
					break
				}
				best, moved = next, true
			}
		}
	}
	return best, err
}

// rounded has the digits of a strength that are told.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	if err != nil {
		panic("job: " + err.Error()) // what was formatted can be read
	}
	return y
}

// decide takes the first finalist, unless a later one is better by more than one standard error, or
// two of them against what is usual, or for edges that make neighbours differ.
func (c *choice) decide(finalists []*trial) *Choice {
	best := slices.MinFunc(finalists, func(a, b *trial) int { return cmp.Compare(a.score(), b.score()) })
	made := &Choice{Metric: fmt.Sprintf("log_loss by %d folds of %d labels", len(c.parts), len(c.known))}
	if len(c.parts) == 1 {
		made.Metric = fmt.Sprintf("log_loss by one fold of %d labels", len(c.known))
	}
	chosen := finalists[0]
	for _, t := range finalists {
		errors := 1.0
		if chosen == c.usual || t.rule().strength < 0 {
			errors = 2
		}
		if behind, err := apart(chosen, t); behind > errors*err {
			chosen = t
		}
		_, err := apart(t, best)
		made.Candidates = append(made.Candidates, t.candidate(err))
	}
	made.Chosen, made.Seconds = made.Candidates[slices.Index(finalists, chosen)], c.spent()
	if chosen.Edges == edgesTogether && chosen != c.usual { // which ends as where no label is hidden
		made.MaxPasses = c.p.asked.togetherPasses()
	}
	return made
}

// apart is the mean difference of the scores of a and b, and its standard error.
func apart(a, b *trial) (mean, err float64) {
	x, y := a.Loss, b.Loss
	n := float64(len(x))
	for i := range x {
		mean += (x[i] - y[i]) / n
	}
	squares := 0.0
	for i := range x {
		d := x[i] - y[i] - mean
		squares += d * d
	}
	return mean + a.penalty() - b.penalty(), math.Sqrt(squares / (n - 1) / n)
}

// divide makes the folds.
func (c *choice) divide(labels []int32) {
	parts := dealLabels(c.p.Problem.Data[0], c.p.Options.Seed)
	if c.p.large() {
		held := slices.Sorted(slices.Values(parts[0]))
		compared := slices.DeleteFunc(slices.Clone(c.known), func(s int32) bool {
			_, found := slices.BinarySearch(held, s)
			return !found
		})
		if len(compared) >= leastLabels { // fewer of one fold would tell nothing
			parts, c.known = parts[:1], compared
		}
	}
	number := map[int32]int{}
	for i, s := range c.known {
		number[s] = i
	}
	for _, held := range parts {
		f := labelFold{left: slices.Clone(labels)}
		for _, s := range held {
			if i, compared := number[s]; compared {
				f.held = append(f.held, i)
				f.left[s] = crf.Unobserved
			}
		}
		c.parts = append(c.parts, f)
	}
}

// prepare makes data with means over hops; false where they would take too much memory, or
// are not to be had.
func (c *choice) prepare(ctx context.Context, hops int) (bool, error) {
	set := c.p.Set
	if hops > set.Recipe.Hops {
		if !c.p.HopsOpen || !set.CanAverage() || c.late() {
			return false, nil
		}
		var large *memory.Error
		var err error
		set, err = set.Averaged(ctx, hops, c.p.Options.Memory)
		for _, e := range c.p.Evaluations {
			if err == nil {
				_, err = e.averaged(ctx, set, c.p.Options.Memory)
			}
		}
		if errors.As(err, &large) || errors.Is(err, errOtherFeatures) {
			c.run.watch.note("means over %d hops were not tried: %v", hops, err)
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	in := set.Instances[0]
	if c.p.Options.Standardise {
		scale, err := standardise.Of(ctx, &set.Schema, set.Instances, c.p.Options.Threads)
		if err != nil {
			return false, err
		}
		if scale != nil {
			if in, err = scale.Instance(in, nil); err != nil {
				return false, err
			}
		}
	}
	c.data[hops] = &hopped{set: set, in: in, fitted: map[float64][]*crf.Model{}}
	return true, nil
}

// late reports whether the time for the choice is over.
func (c *choice) late() bool {
	return c.p.Options.MaxTime > 0 && c.spent() >= pathShare*c.p.Options.MaxTime.Seconds()
}

func (c *choice) spent() float64 { return c.state.Seconds + time.Since(c.started).Seconds() }

// try measures a candidate, or remembers it.
func (c *choice) try(ctx context.Context, hops int, prior float64, edges string) (*trial, error) {
	for _, t := range c.state.Tried {
		if t.Hops == hops && t.Prior == prior && t.Edges == edges {
			return t, nil
		}
	}
	data := c.data[hops]
	models, err := c.fit(ctx, data, prior)
	if err == nil && edges == edgesTogether {
		models, err = c.fitTogether(ctx, data, prior, models)
	}
	if err != nil {
		return nil, err
	}
	t := trial{Hops: hops, Prior: prior, Edges: edges, Hit: make([]bool, len(c.known))}
	logs, errs := make([][]float64, len(c.known)), make([]error, len(c.parts))
	if err := parallel.Each(ctx, len(c.parts), c.p.Options.Threads, func(k int) {
		errs[k] = c.measure(ctx, &t, logs, data, models[k], &c.parts[k])
	}); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	best := c.temper(t, logs)
	c.state.Tried = append(c.state.Tried, &best)
	return &best, c.saveState()
}

// temper gives a trial the power of beliefs, and the losses, with which its score is smallest.
func (c *choice) temper(t trial, logs [][]float64) (best trial) {
	in, labels := c.p.Problem.Data[0], c.p.Problem.Data[0].Samples()[0]
	middle := cmp.Or(t.rule().power, 1)
	steps := powerSteps
	if !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	for step := -steps; step <= steps; step++ {
		t.Power, t.Loss = rounded(middle*math.Pow(math.Sqrt2, float64(step))), make([]float64, len(logs))
		for i, of := range logs {
			s := c.known[i]
			sum := 0.0
			for _, x := range of {
				sum += math.Exp(t.Power * (x - of[labels[s]]))
			}
			t.Loss[i] = min(math.Log(sum), -math.Log(leastProbability))
			if weights := c.p.Problem.ClassWeights; weights != nil {
				t.Loss[i] *= weights[in.NodeType(s)][labels[s]]
			}
		}
		if best.Loss == nil || t.score() < best.score() {
			best = t
		}
	}
	return best
}

// fit learns node weights without edges from the labels of each fold.
func (c *choice) fit(ctx context.Context, data *hopped, prior float64) ([]*crf.Model, error) {
	if models := data.fitted[prior]; models != nil {
		return models, nil
	}
	settings := learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance, MaxPasses: choicePasses, Memory: -1}
	models, err := c.fitFolds(ctx, prior, settings, nil, func(k int) (*crf.Model, *crf.Instance, error) {
		m, err := crf.NewModel(data.set.Schema)
		if err != nil {
			return nil, nil, err
		}
		in, err := labelledAlone(data.in, c.parts[k].left)
		return m, in, err
	})
	if err == nil {
		data.fitted[prior] = models
	}
	return models, err
}

// fitTogether learns edges and nodes at once from the labels of each fold, beginning with the
// nodes.
func (c *choice) fitTogether(ctx context.Context, data *hopped, prior float64, nodes []*crf.Model) ([]*crf.Model, error) {
	settings := c.p.Settings
	settings.Threads, settings.Resume, settings.MaxPasses = 1, nil, c.p.asked.togetherPasses()
	settings.Step = nil // the automatic one: each fold has its own
	if limit := c.p.Options.MaxTime; limit > 0 {
		settings.MaxTime = max(time.Millisecond, time.Duration((pathShare*limit.Seconds()-c.spent())/float64(len(c.parts))*float64(time.Second)))
	}
	return c.fitFolds(ctx, prior, settings, c.p.Problem.Counting, func(k int) (*crf.Model, *crf.Instance, error) {
		in, err := relabelled(data.in, [][]int32{c.parts[k].left})
		return nodes[k], in, err
	})
}

// togetherPasses is what bounds learning of edges and nodes at once, where that is chosen.
func (o *Options) togetherPasses() float64 { return cmp.Or(o.MaxPasses, togetherPasses) }

// fitFolds learns from what of gives for each fold.
func (c *choice) fitFolds(ctx context.Context, prior float64, s learn.Settings, numbers counting.Func, of func(k int) (*crf.Model, *crf.Instance, error)) ([]*crf.Model, error) {
	o := c.p.Options
	if prior > 0 {
		o.Prior = prior
	}
	models, errs := make([]*crf.Model, len(c.parts)), make([]error, len(c.parts))
	if err := parallel.Each(ctx, len(models), c.p.Options.Threads, func(k int) {
		m, in, err := of(k)
		if err != nil {
			errs[k] = err
			return
		}
		var fitted *learn.Result
		fitted, errs[k] = learn.Fit(ctx, learn.Problem{Model: m, Data: []*crf.Instance{in}, Counting: numbers, L2: o.l2(in.Weight()), ClassWeights: c.p.Problem.ClassWeights}, s)
		if errs[k] == nil {
			models[k] = fitted.Model
		}
	}); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // some are not learned to their end
		return nil, context.Cause(ctx)
	}
	return models, errors.Join(errs...)
}

// measure predicts the labels of a fold that were held out, given the others, and puts the logarithms of
// beliefs into logs.
func (c *choice) measure(
	ctx context.Context, t *trial, logs [][]float64, data *hopped, m *crf.Model, part *labelFold,
) error {
	in, rule, numbers := data.in, t.rule(), c.p.Problem.Counting
	if t.Edges == noEdges {
		in, numbers = in.WithoutEdges(), nil
	}
	in, err := relabelled(in, [][]int32{part.left})
	if err == nil && t.Edges != noEdges {
		m, err = rule.of(ctx, m, []*crf.Instance{in})
	}
	if err != nil {
		return err
	}
	w := infer.Predictor{Model: m, Counting: numbers, Limits: evaluationLimits}
	if len(c.parts) == 1 {
		w.Threads = c.p.Options.Threads
	}
	beliefs, err := w.Predict(ctx, in, part.left)
	if err != nil {
		return err
	}
	labels := c.p.Problem.Data[0].Samples()[0]
	for _, i := range part.held {
		s := c.known[i]
		t.Hit[i] = beliefs.Labels[s] == labels[s]
		for _, p := range beliefs.Of(int(s)) {
			logs[i] = append(logs[i], math.Log(max(leastProbability, p)))
		}
	}
	return nil
}

// saveState writes how far the choice has come.
func (c *choice) saveState() error {
	if c.run.folder == nil {
		return nil
	}
	path := c.run.files.Path(choiceStateFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	state := c.state
	state.Seconds = c.spent()
	return c.run.files.WriteSealed(choiceStateFile, state)
}

func (c *choice) readState() error {
	if c.run.folder == nil || !c.run.folder.Resume {
		return nil
	}
	path := c.run.files.Path(choiceStateFile)
	if _, err := readRecord(path, &c.state); err != nil {
		return err
	}
	for _, t := range c.state.Tried {
		if len(t.Loss) != len(c.known) || len(t.Hit) != len(c.known) {
			return dataf("%s: it is of %d labels, and there are %d; remove it to choose anew", path, len(t.Loss), len(c.known))
		}
	}
	return nil
}

// recallChoice takes what was chosen in the run that is resumed, if that had come so far.
func (p *Prepared) recallChoice(ctx context.Context, folder *Folder) error {
	if folder == nil || !folder.Resume {
		return nil
	}
	made, err := readChoice(folder.files.Path(choiceFile))
	if err != nil || made == nil {
		return err
	}
	if p.choosing {
		own, err := p.chosen(ctx, made)
		if err != nil {
			return err
		}
		*p = *own
	}
	if p.choice == nil {
		p.tell(made)
	}
	p.lessTime(made)
	return nil
}

// tell notes what was chosen, and no longer asks to compare with no edges, which were a candidate.
func (p *Prepared) tell(made *Choice) {
	asking := p.featuresFirstNote()
	p.choice, p.Notes = made, slices.Clone(p.Notes)
	if i := slices.Index(p.Notes, asking); i >= 0 {
		p.Notes[i] = p.featuresFirstNote()
	}
	p.Notes = append(p.Notes, made.note())
}

// lessTime takes the time of the choice from that of the training.
func (p *Prepared) lessTime(made *Choice) {
	if s := &p.Settings; s.MaxTime > 0 {
		s.MaxTime = max(time.Millisecond, s.MaxTime-time.Duration(made.Seconds*float64(time.Second)))
	}
}

// readChoice reads what was chosen in a run that is resumed; nil if there was nothing to choose.
func readChoice(file string) (made *Choice, err error) {
	_, err = readRecord(file, &made)
	return made, err
}

// note says what was chosen.
func (c *Choice) note() string {
	text := fmt.Sprintf("labels are hidden: %d candidates were compared %s, and chosen is --edges %s --hops %d", len(c.Candidates), strings.TrimPrefix(c.Metric, "log_loss "), c.Chosen.Edges, c.Chosen.Hops)
	if c.Chosen.Prior > 0 {
		text += fmt.Sprintf(" --prior %g", c.Chosen.Prior)
	}
	if c.MaxPasses > 0 {
		text += fmt.Sprintf(" --max-passes %g", c.MaxPasses)
	}
	text += fmt.Sprintf(": log loss %.4f, accuracy %s", c.Chosen.Loss, percent(float64(c.Chosen.Accuracy)))
	first := c.Candidates[0]
	text += fmt.Sprintf("; of %s %.4f, %s", first, first.Loss, percent(float64(first.Accuracy)))
	if slices.ContainsFunc(c.Candidates, func(x Candidate) bool { return x.Loss < c.Chosen.Loss }) {
		text += "; the first stays unless a later one is better by over one standard error, " +
			"or by two against what is usual, and for a negative strength"
	}
	return text
}

// Table lists the candidates for a reader.
func (c *Choice) Table() report.Table {
	t := report.Table{Headers: []string{"hops", "prior", "edges", "log loss", "accuracy", ""}}
	for _, x := range c.Candidates {
		mark := ""
		if x == c.Chosen {
			mark = "chosen"
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(x.Hops), fmt.Sprintf("%g", x.Prior), x.Edges,
			Known("%.4f", x.Loss), percent(float64(x.Accuracy)), mark})
	}
	return t
}
