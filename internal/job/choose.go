package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// This file goes from the labels that are given to the model that is learned from all of them:
//
//  1. openEdges asks whether options and data leave something open. If so, candidates lists the grid of what is
//     compared: means of features over hops and, for each number of hops, kinds of edges, each with the strength and
//     the prior that a climb begins with. Where all labels are known, scales of features are the grid (chooseScale).
//  2. compare goes through the grid, and climb changes strength and prior for as long as the score falls. It begins
//     with the grid's, or with what the same edges came to with fewer hops, where that is better.
//  3. try is the scorer. Known labels are dealt to folds (folds.go). A candidate learns from all but one, and predicts
//     that one, unless it falls behind a rival before (fallsBehind). Its score is the log loss of these at the best
//     power of beliefs; priors of strength, power and prior, and mistakes not seen yet, add to it.
//  4. decide takes a finalist. The first is what is usual, or else the simplest. A later one is chosen where its score
//     is smaller by more than one standard error of the difference, two against what is usual, none for edges alone.
//  5. choice.json and the report keep all finalists, each the best of its kind, and a note says what was chosen.
//  6. chosen prepares the training anew: it learns from all labels, and nothing that a fold has learned stays.

// Candidate is a set of settings, and how well they predict what was held out.
type Candidate struct {
	Scale string  `json:"scale,omitempty"` // of features of nodes, as Options.Scale; "": as the options say
	Hops  int     `json:"hops"`
	Prior float64 `json:"prior"` // 0: that of the options, or their l2
	// Edges is as Options.Edges, with the power of beliefs; potts:0 are node features alone.
	Edges edgeRule `json:"edges"`
	// Loss and Accuracy are of what was held out. Error is the standard error of the difference of
	// Loss to the smallest one's.
	Loss     runfolder.Float `json:"log_loss"`
	Accuracy runfolder.Float `json:"accuracy"`
	Error    runfolder.Float `json:"error"`
}

// String is the settings as the command line has them.
func (c Candidate) String() string {
	if c.Scale != "" {
		return "{scale=" + c.Scale + "}"
	}
	text := fmt.Sprintf("{edges=%s}", c.Edges)
	if c.Hops > 0 {
		text += fmt.Sprintf(" {hops=%d}", c.Hops)
	}
	if c.Prior > 0 {
		text += fmt.Sprintf(" {prior=%g}", c.Prior)
	}
	return text
}

// trial is a candidate with what came of it, and with the power of beliefs that has the smallest score.
type trial struct {
	Candidate
	asked    Candidate // without that power
	losses   []float64 // of each label that was held out
	surprise float64   // the mean loss of these, were each another than the likeliest
}

const (
	// leastLabels is how many known labels folds take. With more than mostLabels, or more than
	// mostPairs of states on edges, all candidates would take longer than minutes in all folds: one
	// fold tells enough, and features and prior stay. With more than largestPairs edges are learned.
	leastLabels, mostLabels, mostPairs, largestPairs = 2 * mostFolds, 2000, 1 << 20, 1 << 24
	// leastSigned is how many few labels tell whether neighbours are alike or differ. That has to make labels e
	// times as likely, which is leastEvidence: by standard errors alone eight labels took a ring of classes, where
	// neighbours are alike, for another now and then.
	leastSigned, leastEvidence = 4, 1
	// mostOfMost is mostLabels where labels of most nodes are known, and learning takes seconds.
	mostOfMost = 500
	// mostKnown is the share of known labels up to which the others are taken for what is to be
	// predicted from these, as the folds are.
	mostKnown = 0.9
	// togetherPairs is for how many pairs of states on edges it is tried to learn these with nodes: more would take
	// longer than all other candidates.
	togetherPairs = 1 << 17
)

// openEdges decides, where options and data leave it open how edges are made, which candidates folds of labels choose
// from, or, where labels are too few for that, what is justified. It says so.
func (p *Prepared) openEdges(ctx context.Context) (said string, err error) {
	if !p.hides() {
		return "", nil
	}
	grid, err := p.candidates(ctx)
	few, alone := p.fewLabels(), p.Group == nil || p.Group.Size() == 1
	switch {
	case err != nil || len(grid) == 0:
		return "", err
	case len(grid) > 1 && alone:
		p.grid = grid
		return "", nil
	case len(grid) > 1 && !few:
		return fmt.Sprintf("{note=hidden}labels are hidden: one process would choose by folds of labels how edges are made, "+
			"and %d learn them together; compare with {no-edges}", p.Group.Size()), nil
	}
	chosen := Candidate{Edges: grid[len(grid)-1].Edges}
	rest := ""
	if p.asked.leavesPrior() {
		chosen.Prior = grid[len(grid)-1].Prior
		p.Options.Prior = chosen.Prior
		rest = map[bool]string{true: ", and classes to be equally frequent", false: ", and features to tell little"}[p.bare()]
	}
	p.Options.Edges = chosen.Edges.String()
	borne := map[bool]string{true: " and edges bear out"}[p.mostHidden() && !p.large()]
	return fmt.Sprintf("{note=few-labels}few labels: %d are too few to choose by, neighbours are taken to be alike, as "+
		"far as degrees and the number of states justify%s%s: %s",
		len(knownLabels(p.Problem.Data[0])), borne, rest, chosen), nil
}

// candidates are the grid, or none where there is nothing to compare, as where labels of most nodes are known and edges
// that are learned, which are what is usual, would take too long. For each number of hops the usual comes first, then
// the simplest, and edges alone last, which features that tell something beat. Few labels tell too little of features,
// or of how frequent classes are, and edges carry chance; fewer still tell whether neighbours are alike or differ,
// and may speak against the strength that edges bear out, no more: groups can be found where neighbours differ, too.
func (p *Prepared) candidates(ctx context.Context) (grid []Candidate, err error) {
	in, given, even := p.Problem.Data[0], p.Set.Recipe.Hops, 0.
	hidden, large := p.mostHidden(), p.large()
	tries := pairsOf(in) <= togetherPairs && p.everyStateSeen() // edges that are learned with nodes, which takes seconds
	bare, balances, moments := hidden && p.bare(), p.made(edgesBalanced), p.made(edgesMoments)
	usual, strength := justified(in), rounded(meanCoupling(in))
	alike, apart := edgeRule{name: edgesPotts, strength: strength}, edgeRule{name: edgesPotts, strength: -strength}
	if bare || p.fewLabels() {
		alike, apart = edgeRule{name: edgesBalanced, strength: 1}, edgeRule{name: edgesBalanced, strength: -1}
		even = p.fewPrior()
	}
	borne, err := p.borneOut(ctx, usual)
	if p.fewLabels() {
		if balances && (p.bare() || p.plainEdges()) {
			grid = []Candidate{{Hops: given, Edges: usual, Prior: even}, {Hops: given, Edges: apart, Prior: even},
				{Hops: given, Edges: borne, Prior: even}}
		}
		if large || len(comparedLabels(in)) < leastSigned {
			grid = grid[min(2, len(grid)):]
		}
		return grid, err
	}
	most := given
	if p.HopsOpen && p.Set.CanAverage() && !large {
		most = choiceHops
	}
	for hops := given; hops <= most && (tries || hidden && moments); hops++ {
		for _, of := range []struct {
			tried bool
			edges edgeRule
			prior float64
		}{
			{bare && balances, borne, even},
			{!hidden && hops == given, together, 0},
			{true, noEdges, 0},
			{balances, alike, even},
			{balances, apart, 0},
			{moments, edgeRule{name: edgesMoments, strength: strength}, 0},
			{tries, together, 0},
			{hidden && hops == given && balances && !bare && !large, borne, evenPrior}, // edges alone
		} {
			if of.tried {
				grid = append(grid, Candidate{Hops: hops, Prior: of.prior, Edges: of.edges})
			}
		}
	}
	return grid, err
}

// hides reports whether labels of one network are hidden, and options leave it open how edges are made.
// Types of nodes without a label can be learned by their edges alone. Rules know no features of edges
// but their weight, so that where there are some, edges must be learned too, and not take longer than minutes. Without
// features of nodes few labels learn nothing of them: digits in a graph of distances were 44 % right for 98 %.
func (p *Prepared) hides() bool {
	o, data := &p.Options, p.Problem.Data
	asksHow := cmp.Or(p.asked.Method, learn.Auto) != learn.Auto || p.asked.Cut != (learn.Cut{}) || o.Together != 0 ||
		o.Order != orderCyclic || o.Step != autoStep || o.InnerSweeps != 0 || o.InnerTolerance != 0
	if o.Edges != edgesAuto || asksHow || p.Initial != nil || o.Physics != "" || o.Errors != errorsNone ||
		len(data) != 1 || len(data[0].Samples()) != 1 || p.knownShare() > mostKnown ||
		slices.ContainsFunc(p.labels().of, func(counts []int) bool { return slices.Max(counts) == 0 }) {
		return false
	}
	pairs := pairsOf(data[0])
	return pairs <= togetherPairs || pairs <= largestPairs && (!p.featured() || p.mostHidden() && p.bare())
}

// featured reports whether edges have features that rules do not know.
func (p *Prepared) featured() bool {
	return slices.ContainsFunc(p.Problem.Model.Schema.EdgeTypes, func(t crf.EdgeType) bool {
		return t.Features > 1 && (t.Features > 2 || weightColumn(&t) < 0) || t.Copies > 0
	})
}

// plainEdges reports whether the rule of few labels leaves nothing out that edges could tell.
func (p *Prepared) plainEdges() bool {
	schema := &p.Problem.Model.Schema
	return !p.featured() && len(carriers(schema, p.Set.Instances, edgesBalanced)) == len(schema.EdgeTypes)
}

// fewLabels reports that labels are too few to choose strengths of edges by.
func (p *Prepared) fewLabels() bool {
	labels := len(comparedLabels(p.Problem.Data[0]))
	return labels < leastLabels || p.bare() && labels < 2*leastLabels // ten chose worse (results/README.md)
}

// fewPrior is the prior of the weights of nodes that few labels justify: what all features tell together has the
// deviation ½, so that it decides where edges tell little, and gives way to several labelled neighbours. With ⅕
// features that tell much lose up to 19 points, with 1 those that tell nothing gain a third (results/README.md).
func (p *Prepared) fewPrior() float64 {
	if p.bare() {
		return evenPrior
	}
	const together = 0.5
	most := slices.MaxFunc(p.Problem.Model.Schema.NodeTypes,
		func(a, b crf.NodeType) int { return cmp.Compare(a.Features, b.Features) }).Features
	return max(evenPrior, rounded(together/math.Sqrt(float64(most))))
}

// made reports whether a rule could make weights of edges.
func (p *Prepared) made(rule string) bool {
	return len(carriers(&p.Problem.Model.Schema, p.Set.Instances, rule)) > 0
}

// large reports whether one fold, and the candidates that cost least, are all there is time for.
func (p *Prepared) large() bool {
	in := p.Problem.Data[0]
	known := len(knownLabels(in))
	return pairsOf(in) > mostPairs || known > mostLabels || known > mostOfMost && !p.mostHidden()
}

// pairsOf counts the pairs of states of all edges.
func pairsOf(in *crf.Instance) (n int) {
	u, v := in.Graph.Ends()
	for e := range u {
		n += in.States(u[e]) * in.States(v[e])
	}
	return n
}

const (
	// choiceShare of Options.MaxTime is for the choice: the training starts anew with all data.
	choiceShare = 0.5
	// choiceHops is the largest number that is tried: further neighbours add little, and fill sparse features.
	choiceHops = 2
	// Priors are tried from the default, in steps of 2, as long as each is better. Wider ones are
	// not: few labels often take them by chance (results/README.md).
	leastPrior, mostPrior = 1. / 64, 4.
	// evenPrior leaves all classes equally frequent.
	evenPrior = 1e-3
	// Strengths are tried from what is justified in steps of √2, as far as each is better.
	leastStrength, mostStrength = 1. / 64, 16.
)

// selection is a choice under way.
type selection struct {
	p       *Prepared
	watch   Watch
	metric  string
	tried   map[Candidate]*trial
	started time.Time

	// What candidates at hand learn from: features as seen has them, the scale that they are learned on, the folds.
	seen  Candidate
	scale *standardise.Map
	folds []fold
}

func (p *Prepared) newSelection(watch Watch) *selection {
	return &selection{p: p, watch: watch, tried: map[Candidate]*trial{}, started: time.Now()}
}

// late reports whether the time for the choice is over.
func (c *selection) late() bool { return c.p.Options.MaxTime > 0 && c.left(1) <= 0 }

// left is the nth part of the time that is left for the choice.
func (c *selection) left(n int) time.Duration {
	all := time.Duration(choiceShare * float64(c.p.Options.MaxTime))
	return (all - time.Since(c.p.Began)) / time.Duration(n)
}

// choose replaces the preparation by that of the candidate which predicts best what was held out, where something
// is left open, in the time that is left. A run that is interrupted meanwhile chooses anew.
func (r *run) choose(ctx context.Context) error {
	if r.p.grid == nil {
		return nil
	}
	c := r.p.newSelection(r.watch)
	finalists, err := c.compare(ctx, r.p.grid)
	if ctx.Err() != nil {
		return r.interrupted(fmt.Sprintf("while candidates were compared, after %d of them", len(c.tried)))
	}
	if err != nil {
		return err
	}
	before, made := r.p, c.decide(finalists)
	if r.folder != nil {
		err = r.files.WriteJSON(choiceFile, made)
	}
	if err == nil {
		r.p, err = before.chosen(ctx, made)
	}
	if err != nil {
		return err
	}
	for _, text := range r.p.Notes {
		if !slices.Contains(before.Notes, text) {
			r.watch.note("%s", text)
		}
	}
	if r.folder == nil {
		return nil
	}
	r.folder.Config.Options = r.p.resolved(r.folder.Config.Options)
	return r.writeConfig()
}

// compare climbs from each candidate of a grid. Finalists are what it comes to, in the order of the grid.
func (c *selection) compare(ctx context.Context, grid []Candidate) (finalists []*trial, err error) {
	alone, prior, ends := (*trial)(nil), 1., map[edgeRule]Candidate{}
	count := c.watch.counter("comparing candidates")
	defer count(len(grid), len(grid))
	for i, from := range grid {
		if count(i, len(grid)); len(finalists) > 0 && c.late() {
			break
		}
		if c.folds == nil || from.Hops != c.seen.Hops || from.Scale != c.seen.Scale {
			if there, err := c.see(ctx, from); err != nil || !there {
				return finalists, err
			}
			if from.Scale == "" {
				alone, prior = nil, 1
			}
		}
		if from.Prior = cmp.Or(from.Prior, prior); !c.p.asked.leavesPrior() {
			from.Prior = 0
		}
		starts := []Candidate{from}
		if end := ends[from.Edges]; end.Edges.strength != 0 {
			end.Hops = from.Hops
			starts = append(starts, end)
		}
		rival := (*trial)(nil)
		if from.Edges == together && from.Hops > c.p.Set.Recipe.Hops && len(finalists) > 0 {
			rival = slices.MinFunc(finalists, byScore)
		}
		found, err := c.climb(ctx, starts, alone, rival)
		if errors.As(err, new(*learn.DivergedError)) || err == nil && (found == nil || slices.Contains(finalists, found)) {
			continue
		} else if err != nil {
			return nil, err
		}
		if from.Edges == noEdges && alone == nil {
			alone, prior = found, found.Prior
		}
		ends[from.Edges], finalists = found.asked, append(finalists, found)
	}
	return finalists, nil
}

// climb takes steps of strength and prior from the best of some candidates, as long as one is better; nil: it falls
// behind a rival, is worse than node features alone by more than one standard error, or, with neighbours that differ,
// at all, or gains less than leastGain by another scale. Strengths come first: with weak edges narrow priors look good,
// and wide ones once edges are strong. The weaker edges are, the nearer they come to node features alone: so those
// below half of the grid's are for better ones.
func (c *selection) climb(ctx context.Context, starts []Candidate, alone, rival *trial) (best *trial, err error) {
	from := starts[0]
	for _, start := range starts {
		t, err := c.try(ctx, start, rival)
		if err != nil || t == nil {
			return nil, err
		}
		if best == nil || t.score() < best.score() {
			best = t
		}
	}
	if alone != nil {
		behind, err := apart(best, alone)
		worse := behind > err || from.Edges.strength < 0 && behind >= 0
		if from.Scale != "" {
			worse = best.score() > alone.score()*(1-leastGain)
		}
		if worse {
			return nil, nil
		}
	}
	moves := []struct{ strength, prior float64 }{{math.Sqrt2, 1}, {1 / math.Sqrt2, 1}, {1, 2}, {1, .5}}
	switch {
	case from.Edges == together && from.Hops == c.p.Set.Recipe.Hops: // the others take long
		moves = moves[2:3]
	case from.Edges == together || from.Edges.power != 0 || from.Scale != "" || c.p.fewLabels():
		moves = nil
	}
	for i, idle := 0, 0; idle < len(moves) && !c.late(); i, idle = i+1, idle+1 {
		by, next := moves[i%len(moves)], best.asked
		least, size := leastStrength, math.Abs(next.Edges.strength)*by.strength
		if alone != nil && best.score() >= alone.score() {
			least = .45 * math.Abs(from.Edges.strength) // steps of √2 are rounded
		}
		next.Prior, next.Edges.strength = next.Prior*by.prior, rounded(next.Edges.strength*by.strength)
		if by.prior == 1 && !(size >= least && size <= mostStrength) ||
			by.prior != 1 && (next.Prior < leastPrior || next.Prior > mostPrior || c.p.large()) {
			continue
		}
		if rival = nil; next.Edges == together {
			rival = best
		}
		t, err := c.try(ctx, next, rival)
		if err != nil {
			return nil, err
		}
		if t != nil && t.score() < best.score() {
			best, i, idle = t, i-1, -1 // once more the same way
		}
	}
	return best, nil
}

// see takes features as a candidate has them, and divides their labels into folds; false where means over hops would
// take too much memory, or nodes of an evaluation set have other ones, or labels are too few for folds.
func (c *selection) see(ctx context.Context, of Candidate) (bool, error) {
	p, scale, scaled := c.p, c.p.scale, c.p.Problem.Data
	t, err := p.over(ctx, of.Hops)
	if errors.As(err, new(*memory.Error)) || errors.Is(err, errOtherFeatures) {
		c.watch.note("means over %d hops were not tried: %v", of.Hops, err)
		return false, nil
	}
	if err == nil && t.Set != p.Set && p.Options.Standardise {
		scale, err = standardise.Measure(ctx, &t.Set.Schema, t.Set.Instances, p.Options.Threads)
	}
	if err == nil && (t.Set != p.Set || of.Scale != "") {
		scale, err = onScale(scale, cmp.Or(of.Scale, p.Options.Scale))
		if err == nil {
			scaled, err = onto(ctx, scale, t.Set.Instances, nil)
		}
	}
	if err == nil {
		c.seen, c.scale = of, scale
		c.divide(t.Set.Instances, scaled)
	}
	return len(c.folds) > 0, err
}

// over is the task with means over so many hops.
func (p *Prepared) over(ctx context.Context, hops int) (t Task, err error) {
	if t = p.Task; hops <= t.Set.Recipe.Hops {
		return t, nil
	}
	t, err = t.with(func(set *dataset.Set) (*dataset.Set, error) { return set.Averaged(ctx, hops, p.Options.Memory) })
	for _, e := range t.Evaluations {
		if err == nil && e.Set.Schema.NodeTypes[0].Features != t.Set.Schema.NodeTypes[0].Features {
			err = errOtherFeatures
		}
	}
	return t, err
}

// errOtherFeatures: means over hops leave nodes of an evaluation set, and none of the training, without features.
var errOtherFeatures = errors.New("the nodes of an evaluation set have other features")

const (
	// Powers of beliefs are so many steps of √2 to either side, whose logarithm has a normal prior of deviation
	// powerDeviation. The probability of a label is no smaller than the least one, lest it be all of the loss.
	powerSteps, powerDeviation, leastProbability = 6, 0.5, 1e-12
	// unseenMistakes is how many labels more, all wrong, candidates are charged with: few that are right prove
	// little, and where all are, the loss alone falls with any strength.
	unseenMistakes = 0.5
)

// try learns from what each fold leaves, and predicts what it holds out, or remembers it; nil: it falls behind a rival.
func (c *selection) try(ctx context.Context, of Candidate, rival *trial) (*trial, error) {
	if c.tried[of] != nil {
		return c.tried[of], nil
	}
	guesses, err := c.predictions(ctx, of, rival)
	if err != nil || guesses == nil {
		return nil, err
	}
	t := c.judge(of, guesses)
	if math.IsNaN(float64(t.Loss)) {
		return nil, fmt.Errorf("%s gives no loss that is a number", of)
	}
	c.tried[of] = t
	return t, nil
}

// fallsBehind reports that the folds that a trial has are worse than those of a rival by more than one standard error:
// a later finalist has to be better by as much. Of what a trial is charged with they take their share.
func fallsBehind(t, rival *trial) bool {
	n := len(t.losses)
	mean, err := difference(t.losses, rival.losses[:n])
	return mean+t.penalty()*float64(n)/float64(len(rival.losses))-rival.penalty() > err
}

// judge makes a trial of guesses. Of the powers of beliefs it has the one with the smallest score.
func (c *selection) judge(of Candidate, guesses []guess) (best *trial) {
	steps, n := powerSteps, float64(len(guesses))
	if of.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	for i := -steps; i <= steps; i++ {
		t, sum := &trial{Candidate: of, asked: of}, 0.
		t.Edges.power = rounded(cmp.Or(of.Edges.power, 1) * math.Pow(math.Sqrt2, float64(i)))
		for _, g := range guesses {
			loss, surprise := g.tempered(t.Edges.power)
			if t.losses, sum = append(t.losses, loss), sum+loss; steps > 0 {
				t.surprise += surprise / n
			}
			if g.label == g.likeliest {
				t.Accuracy += runfolder.Float(1 / n)
			}
		}
		if t.Loss = runfolder.Float(sum / n); best == nil || t.score() < best.score() {
			best = t
		}
	}
	return best
}

// tempered is what a label loses that is predicted by a power of beliefs, and what it would lose were the others than
// the likeliest right by turns.
func (g *guess) tempered(power float64) (loss, surprise float64) {
	const least = leastProbability
	own, most, sum, others := math.Log(max(least, g.beliefs[g.label])), -math.Log(least), 0.0, 0.0
	for a, x := range g.beliefs {
		x = math.Exp(power * (math.Log(max(least, x)) - own))
		if sum += x; int32(a) != g.likeliest {
			others += x
		}
	}
	ratio := sum * float64(len(g.beliefs)-1) / max(others, least)
	return g.weight * min(math.Log(sum), most), g.weight * min(math.Log(max(1, ratio)), most)
}

// rounded has two digits of a number: what is told is what is used.
func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64) // what was formatted can be read
	return y
}

// score is what trials are compared by.
func (t *trial) score() float64 { return float64(t.Loss) + t.penalty() }

// byScore compares trials.
func byScore(a, b *trial) int { return cmp.Compare(a.score(), b.score()) }

// penalty is a label's share of what unseen mistakes cost, and of three normal priors. Weights have one of deviation 1:
// they are half of a rule's strength on either side of their middle. The logarithms of the power, and of the deviation
// of the weights of features, have the others.
func (t *trial) penalty() float64 {
	half, steps := t.Edges.strength/2, math.Log(t.Edges.power/cmp.Or(t.asked.Edges.power, 1))/powerDeviation
	wider := math.Log(cmp.Or(t.Prior, 1)) / powerDeviation
	if t.Prior == evenPrior { // no deviation of weights: there are none
		wider = 0
	}
	return ((half*half+steps*steps+wider*wider)/2 + unseenMistakes*t.surprise) / float64(len(t.losses))
}

// apart is the mean difference of the scores of a and b, and its standard error.
func apart(a, b *trial) (mean, err float64) {
	mean, err = difference(a.losses, b.losses)
	return mean + a.penalty() - b.penalty(), err
}

// difference is that of the means of a and b, and its standard error.
func difference(a, b []float64) (mean, err float64) {
	n, squares := float64(len(a)), 0.0
	for i, x := range a {
		mean += (x - b[i]) / n
	}
	for i, x := range a {
		squares += (x - b[i] - mean) * (x - b[i] - mean)
	}
	return mean, math.Sqrt(squares / max(1, n-1) / n)
}

// decide takes the first finalist, unless a later one is better by more than one standard error, or two of them
// against what is usual, or for edges that make neighbours differ, which take leastEvidence of all labels, too. What is
// usual is the first one, if it has edges: what is learned where no label is hidden, with labels of most nodes, or,
// without features, what fewer labels have. Fewer labels tell whether neighbours are alike. If they are, their edges
// tell how much: the strength that these bear out is taken unless all labels have twice leastEvidence against it. Edges
// alone, without weights of features, are no less simple than features, and have to be no surer.
func (c *selection) decide(finalists []*trial) *Choice {
	made := &Choice{Metric: c.metric, Cut: c.late()}
	chosen, best := finalists[0], slices.MinFunc(finalists, byScore)
	for _, t := range finalists {
		behind, err := apart(chosen, t)
		usual, evidence := chosen == finalists[0], leastEvidence/float64(len(t.losses))
		borne := usual && t != chosen && t.Edges.name == edgesBalanced && t.Edges.strength > 0 && c.p.fewLabels()
		switch {
		case borne:
			err = -2 * evidence
		case t.Prior == evenPrior && chosen.Prior != evenPrior:
			err = 0
		case t.Edges.strength < 0:
			err = max(evidence, 2*err)
		case usual && chosen.asked.Edges != noEdges:
			err *= 2
		}
		if behind > err {
			chosen, made.Borne = t, borne
		}
		_, err = apart(t, best)
		t.Error = runfolder.Float(err)
		made.Candidates = append(made.Candidates, t.Candidate)
	}
	made.Chosen, made.Seconds = chosen.Candidate, time.Since(c.started).Seconds()
	return made
}

// chosen is the preparation of the training that was chosen.
func (p *Prepared) chosen(ctx context.Context, made *Choice) (*Prepared, error) {
	best, o := made.Chosen, p.asked
	o.Edges, o.Prior, o.Scale = best.Edges.String(), cmp.Or(best.Prior, o.Prior), p.Options.Scale
	t, err := p.over(ctx, best.Hops)
	if err != nil {
		return nil, err
	}
	own, err := Prepare(ctx, o, t)
	if err == nil {
		own.recall(made)
	}
	return own, err
}

// recall notes what was chosen.
func (p *Prepared) recall(made *Choice) {
	p.choice, p.Notes = made, append(slices.Clone(p.Notes), made.note())
}

// recallChoice takes what was chosen in the run that is resumed, if that had come so far.
func (p *Prepared) recallChoice(ctx context.Context, folder *Folder) error {
	var made *Choice
	if folder == nil || !folder.Resume {
		return nil
	} else if _, err := readRecord(folder.files.Path(choiceFile), &made); err != nil || made == nil {
		return err
	}
	if p.grid == nil {
		p.recall(made)
		return nil
	}
	own, err := p.chosen(ctx, made)
	if err == nil {
		*p = *own
	}
	return err
}

// interrupted is the end of a run that has come to no weights yet.
func (r *run) interrupted(while string) error {
	remedy := "nothing was written: start again"
	if r.folder != nil {
		remedy = "go on with " + string(Resumes(r.files.Dir()))
	}
	return &Error{Interrupted, fmt.Errorf("interrupted %s; %s", while, remedy)}
}

// A scale is chosen by at most mostScaling labels times features times states, as folds of more would take seconds, and
// by at most labelsPerFeature: with more of them the prior, and so the scale, hardly matters.
const mostScaling, labelsPerFeature = 1 << 21, 64

// leastGain is the share of the log loss that another scale has to gain: no prediction feels less, however sure it is.
const leastGain = 0.01

// chooseScale decides on the scale of features, where options leave it open: by labels that are held out, which node
// features alone predict with each scale, unless labels are too few, or so many that it does not matter. Where labels
// of a network are hidden, folds choose a prior: to choose twice is worse, and what they name must give the same model.
func (p *Prepared) chooseScale(ctx context.Context, each *standardise.Map) error {
	o := &p.Options
	if o.Scale != scaleAuto {
		return nil
	}
	if o.Scale = scaleEach; each == nil || p.knownShare() <= mostKnown || o.givesL2() || p.Initial != nil ||
		o.Physics != "" || each.Changed() < 2 || !p.suitScales() {
		return nil
	}
	alone, set := *p, *p.Set
	alone.Set, alone.scale = &set, each
	set.Instances = slices.DeleteFunc(withoutEdges(set.Instances),
		func(in *crf.Instance) bool { return len(in.Samples()) == 0 })
	c := alone.newSelection(Watch{})
	grid := numeric.Map([]string{scaleEach, scaleOne + "1", scaleOne + "0.5"},
		func(scale string) Candidate { return Candidate{Scale: scale, Edges: noEdges} })
	finalists, err := c.compare(context.WithoutCancel(ctx), grid) // it takes seconds, and no folder is there to go on in
	if err != nil || len(finalists) == 0 || c.late() {
		return err // there was nothing to compare by, or no time
	}
	slices.SortStableFunc(finalists[1:], byScore)
	if made := c.decide(finalists); made.Chosen.Scale != scaleEach {
		o.Scale = made.Chosen.Scale
		p.note(made.note())
	}
	return nil
}

// suitScales reports whether labels are neither too few nor too many to choose a scale of node features by.
func (p *Prepared) suitScales() bool {
	labels, size, features := 0, 0, 0
	for a, t := range p.Problem.Model.Schema.NodeTypes {
		for _, in := range p.Problem.Data {
			f, held := in.NodeFeatures(a), in.NodeFeatures(a).Data().Column
			if t.Copies > 0 {
				return false
			}
			labels, features = labels+f.Rows(), max(features, f.Dim())
			size += cmp.Or(len(held), f.Rows()*f.Dim()) * len(t.States)
		}
	}
	return labels >= 2*leastLabels && size <= mostScaling && labels <= labelsPerFeature*features
}

// Choice is what was chosen by data that were held out, in the run folder and in result.json.
type Choice struct {
	Chosen Candidate `json:"chosen"`
	// Metric names what candidates are compared by.
	Metric string `json:"metric"`
	// Candidates are in the order in which they were tried. Where labels are hidden, each is the best of its kind.
	Candidates []Candidate `json:"candidates"`
	Seconds    float64     `json:"seconds"`
	// Cut: the time for the choice was over, perhaps before all were compared.
	Cut bool `json:"cut,omitempty"`
	// Borne: edges bear out the strength that was chosen, which few labels would not tell from what is usual.
	Borne bool `json:"borne,omitempty"`
}

// note says what was chosen; the table has the others.
func (c *Choice) note() string {
	how := strings.TrimPrefix(c.Metric, "log_loss ")
	if c.Cut {
		how += ", as far as half of {max-time} went"
	}
	text := fmt.Sprintf("{note=chosen}%d candidates were compared %s, and chosen is %s: log loss %.4f, accuracy %s",
		len(c.Candidates), how, c.Chosen, c.Chosen.Loss, percent(float64(c.Chosen.Accuracy)))
	if c.Borne {
		text += ", as edges bear this strength out"
	}
	if c.Chosen.Scale == "" {
		text = "labels are hidden: " + text
	}
	return text
}

// quality says for a report what is known of predictions without other labelled data; there may be no choice.
func (c *Choice) quality() string {
	if c == nil {
		return "How good the predictions are is not known: the run had no labelled data to compare with."
	}
	return fmt.Sprintf("Of the labels that folds held out %s were predicted right, at a log loss of %.4f. As they also "+
		"chose the candidate, new labels may be predicted less well.", percent(float64(c.Chosen.Accuracy)), c.Chosen.Loss)
}

// Table lists the candidates for a reader.
func (c *Choice) Table() report.Table {
	t := report.Table{Headers: []string{"candidate", c.Metric, "accuracy", ""}}
	for _, x := range c.Candidates {
		mark := ""
		if x == c.Chosen {
			mark = "chosen"
		}
		t.Rows = append(t.Rows, []string{option.Command(x.String()), Known("%.4f", x.Loss),
			percent(float64(x.Accuracy)), mark})
	}
	return t
}
