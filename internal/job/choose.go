package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// What options leave open is chosen here, by one rule.
//
// Candidates are the settings that are compared: scales of features, where all labels are known; else means of
// features over hops, priors, and kinds of edges, each kind with the strength and the prior that a climb finds best.
// The known labels are dealt to folds. A candidate learns from all folds but one, and predicts that one. Its score is
// the log loss of what was predicted so, at the best power of beliefs; priors of strength, power and prior, and
// mistakes not seen yet, add to it (folds.go). The first candidate is what is usual, or else the simplest. A later
// one is chosen where its score is smaller by more than one standard error of the difference, or by two against what
// is usual. A note says what was chosen, and choice.json and the report have all candidates.

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
}

// note says what was chosen; the table has the others.
func (c *Choice) note() string {
	how := strings.TrimPrefix(c.Metric, "log_loss ")
	if c.Cut {
		how += ", as far as half of {max-time} went"
	}
	text := fmt.Sprintf("%d candidates were compared %s, and chosen is %s: log loss %.4f, accuracy %s", len(c.Candidates),
		how, c.Chosen, c.Chosen.Loss, percent(float64(c.Chosen.Accuracy)))
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

const (
	// leastLabels is how many known labels folds take. With more than mostLabels, or more than
	// mostPairs of states on edges, all candidates would take longer than minutes in all folds: one
	// fold tells enough, and features and prior stay. With more than largestPairs edges are learned.
	leastLabels, mostLabels, mostPairs, largestPairs = 2 * mostFolds, 2000, 1 << 20, 1 << 24
	// leastSigned is how many tell whether neighbours without features are alike or differ. That has to make labels e
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

// openEdges decides, where options and data leave it open how edges are made, whether folds of labels choose it, or,
// of labels that are too few, and nodes without features, what is justified. It says so. Where labels of most nodes are
// known, edges that are learned must be compared, as they are what is usual.
func (p *Prepared) openEdges() string {
	if !p.hides() {
		return ""
	}
	few, alone, in := p.fewLabels(), p.Group == nil || p.Group.Size() == 1, p.Problem.Data[0]
	compares := !few && (p.triesTogether() || p.mostHidden() && p.made(edgesMoments))
	justifies := few && p.bare() && p.mostHidden() && p.made(edgesBalanced)
	switch {
	case compares && !alone:
		return fmt.Sprintf("labels are hidden: one process would choose by folds of labels how edges are made, "+
			"and %d learn them together; compare with {no-edges}", p.Group.Size())
	case compares, justifies && alone && !p.large() && len(comparedLabels(in)) >= leastSigned:
		p.choosing = true // of few labels between neighbours that are alike and those that differ, no more
	}
	if p.choosing || !justifies {
		return ""
	}
	chosen := Candidate{Edges: justified(in)}
	if p.asked.Prior == 0 && !p.asked.givesL2() {
		chosen.Prior, p.Options.Prior = evenPrior, evenPrior
		p.Problem.L2 = p.Options.l2(sampleCount(p.Problem.Data))
	}
	p.Options.Edges = chosen.Edges.String()
	return fmt.Sprintf("few labels: %d are too few to choose by, neighbours are taken to be alike, as far as degrees and "+
		"the number of states justify, and classes to be equally frequent: %s", len(knownLabels(in)), chosen)
}

// fewLabels reports that labels are too few to choose strengths of edges by.
func (p *Prepared) fewLabels() bool {
	labels := len(comparedLabels(p.Problem.Data[0]))
	return labels < leastLabels || p.bare() && labels < 2*leastLabels // ten chose worse (results/README.md)
}

// made reports whether a rule could make weights of edges.
func (p *Prepared) made(rule string) bool {
	return len(carriers(&p.Problem.Model.Schema, p.Set.Instances, rule)) > 0
}

// hides reports whether labels of one network are hidden, and options leave it open how edges are made.
// Types of nodes without a label can be learned by their edges alone. Rules know no features of edges
// but their weight, so that where there are some, edges must be learned too, and not take longer than minutes.
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
	featured := slices.ContainsFunc(p.Problem.Model.Schema.EdgeTypes,
		func(t crf.EdgeType) bool {
			return t.Features > 1 && (t.Features > 2 || weightColumn(&t) < 0) || t.Copies > 0
		})
	return pairs <= togetherPairs || pairs <= largestPairs && !featured
}

// triesTogether reports whether edges that are learned with nodes are compared: where that takes no
// more than seconds, and begins with node features alone.
func (p *Prepared) triesTogether() bool {
	return pairsOf(p.Problem.Data[0]) <= togetherPairs && p.everyStateSeen()
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

// choose replaces the preparation by that of the candidate which predicts best what was held out, where something
// is left open, in the time that is left. A run that is interrupted meanwhile chooses anew.
func (r *run) choose(ctx context.Context) error {
	if !r.p.choosing {
		return nil
	}
	c := r.p.newSelection(r.watch)
	finalists, err := c.compare(ctx)
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

// interrupted is the end of a run that has come to no weights yet.
func (r *run) interrupted(while string) error {
	remedy := "nothing was written: start again"
	if r.folder != nil {
		remedy = "go on with " + string(Resumes(r.files.Dir()))
	}
	return &Error{Interrupted, fmt.Errorf("interrupted %s; %s", while, remedy)}
}

// chosen is the preparation of the training that was chosen.
func (p *Prepared) chosen(ctx context.Context, made *Choice) (*Prepared, error) {
	best, o, t := made.Chosen, p.asked, p.Task
	o.Edges, o.Prior, o.Scale = best.Edges.String(), cmp.Or(best.Prior, o.Prior), p.Options.Scale
	if best.Hops > t.Set.Recipe.Hops {
		var err error
		if t, err = t.averaged(ctx, best.Hops, p.Options.Memory); err != nil {
			return nil, err
		}
	}
	own, err := Prepare(ctx, o, t)
	if err == nil {
		own.recall(made)
	}
	return own, err
}

// recall notes what was chosen, and takes the time of the choice from that of the training.
func (p *Prepared) recall(made *Choice) {
	p.choice, p.Notes = made, append(slices.Clone(p.Notes), made.note())
	p.spend(time.Duration(made.Seconds * float64(time.Second)))
}

// spend takes time from that of the training.
func (p *Prepared) spend(spent time.Duration) {
	if s := &p.Settings; s.MaxTime > 0 {
		s.MaxTime = max(time.Millisecond, s.MaxTime-spent)
	}
}

// recallChoice takes what was chosen in the run that is resumed, if that had come so far.
func (p *Prepared) recallChoice(ctx context.Context, folder *Folder) error {
	var made *Choice
	if folder == nil || !folder.Resume {
		return nil
	} else if _, err := readRecord(folder.files.Path(choiceFile), &made); err != nil || made == nil {
		return err
	}
	if !p.choosing {
		p.recall(made)
		return nil
	}
	own, err := p.chosen(ctx, made)
	if err == nil {
		*p = *own
	}
	return err
}

// decide takes the first finalist, unless a later one is better by more than one standard error, or two of them
// against what is usual, or for edges that make neighbours differ, which take leastEvidence of all labels, too. What is
// usual is the first one, if it has edges: what is learned where no label is hidden, with labels of most nodes, or,
// without features, what fewer labels have.
func (c *selection) decide(finalists []*trial) *Choice {
	made := &Choice{Metric: c.metric, Cut: c.late()}
	chosen, best := finalists[0], finalists[0]
	for _, t := range finalists {
		errors, least := 1.0, 0.0
		if chosen == finalists[0] && chosen.Edges != noEdges {
			errors = 2
		}
		if t.Edges.strength < 0 {
			errors, least = 2, leastEvidence/float64(len(t.losses))
		}
		if behind, err := apart(chosen, t); behind > max(least, errors*err) {
			chosen = t
		}
		if t.score() < best.score() {
			best = t
		}
	}
	for _, t := range finalists {
		_, err := apart(t, best)
		made.Candidates = append(made.Candidates, t.shown(err))
	}
	made.Chosen, made.Seconds = made.Candidates[slices.Index(finalists, chosen)], time.Since(c.started).Seconds()
	return made
}

// compare asks of each number of hops which edges, and of each kind of edges which strength and prior. Finalists are
// the best of each kind, in the order in which kinds are asked for.
func (c *selection) compare(ctx context.Context) (finalists []*trial, err error) {
	given, open := c.p.Set.Recipe.Hops, c.p.asked.Prior == 0 && !c.p.asked.givesL2()
	most := max(given, choiceHops)
	if c.p.large() {
		most = given
	}
	for hops := given; hops <= most; hops++ {
		if there, err := c.over(ctx, hops); err != nil || !there {
			return finalists, err
		}
		alone, prior := (*trial)(nil), 1.
		for _, from := range c.kinds(hops == given) {
			if len(finalists) > 0 && c.late() {
				break
			}
			if from.Hops, from.Prior = hops, cmp.Or(from.Prior, prior); !open {
				from.Prior = 0
			}
			found, err := c.climb(ctx, from, alone)
			if errors.As(err, new(*learn.DivergedError)) || err == nil && (found == nil || slices.Contains(finalists, found)) {
				continue
			} else if err != nil {
				return nil, err
			}
			if from.Edges == noEdges {
				alone, prior = found, found.Prior
			}
			if finalists = append(finalists, found); c.watch.Candidate != nil {
				c.watch.Candidate(found.shown(0))
			}
		}
	}
	return finalists, nil
}

// kinds are what climbs begin with: what is usual, then the simplest first, and edges alone last, which features that
// tell something beat. Without features few labels tell too little of how frequent classes are, and edges carry chance.
func (c *selection) kinds(first bool) (kinds []Candidate) {
	in, strength, even := c.raw[0], rounded(meanCoupling(c.raw[0])), 0.
	alike, apart := edgeRule{name: edgesPotts, strength: strength}, edgeRule{name: edgesPotts, strength: -strength}
	if c.p.mostHidden() && c.p.bare() {
		alike, apart = edgeRule{name: edgesBalanced, strength: 1}, edgeRule{name: edgesBalanced, strength: -1}
		even = evenPrior
		if kinds = append(kinds, Candidate{Edges: justified(in), Prior: even}); c.p.fewLabels() {
			return append(kinds, Candidate{Edges: apart, Prior: even})
		}
	} else if first && !c.p.mostHidden() {
		kinds = append(kinds, Candidate{Edges: together})
	}
	kinds = append(kinds, Candidate{Edges: noEdges})
	if c.p.made(edgesBalanced) {
		kinds = append(kinds, Candidate{Edges: alike, Prior: even}, Candidate{Edges: apart})
	}
	if c.p.made(edgesMoments) {
		kinds = append(kinds, Candidate{Edges: edgeRule{name: edgesMoments, strength: strength}})
	}
	if c.p.triesTogether() {
		kinds = append(kinds, Candidate{Edges: together})
	}
	if first && even == 0 && c.p.mostHidden() && c.p.made(edgesBalanced) && !c.p.large() { // edges alone
		kinds = append(kinds, Candidate{Edges: justified(in), Prior: evenPrior})
	}
	return kinds
}

// climb takes steps of strength and prior from a candidate, as long as one is better; nil: it is worse than node
// features alone by more than one standard error, or, with neighbours that differ, at all. The weaker edges are, the
// nearer they come to these: so strengths below half of the first are for those that are better.
func (c *selection) climb(ctx context.Context, from Candidate, alone *trial) (*trial, error) {
	best, err := c.try(ctx, from)
	if err != nil {
		return nil, err
	}
	if alone != nil {
		if behind, err := apart(best, alone); behind > err || from.Edges.strength < 0 && behind >= 0 {
			return nil, nil
		}
	}
	moves := []struct{ strength, prior float64 }{{1, 2}, {1, .5}, {math.Sqrt2, 1}, {1 / math.Sqrt2, 1}}
	switch {
	case from.Edges == together && from.Hops == c.p.Set.Recipe.Hops: // the others take long
		moves = moves[:1]
	case from.Edges == together || from.Edges.power != 0 || c.p.fewLabels():
		moves = nil
	}
	for i, idle := 0, 0; idle < len(moves) && !c.late(); i, idle = i+1, idle+1 {
		by, next := moves[i%len(moves)], best.Candidate
		least, size := leastStrength, math.Abs(next.Edges.strength)*by.strength
		if alone != nil && best.score() >= alone.score() {
			least = .45 * math.Abs(from.Edges.strength) // steps of √2 are rounded
		}
		next.Prior, next.Edges.strength = next.Prior*by.prior, rounded(next.Edges.strength*by.strength)
		if by.prior == 1 && !(size >= least && size <= mostStrength) ||
			by.prior != 1 && (next.Prior < leastPrior || next.Prior > mostPrior || c.p.large()) {
			continue
		}
		t, err := c.try(ctx, next)
		if err != nil {
			return nil, err
		}
		if t.score() < best.score() {
			best, i, idle = t, i-1, -1 // once more the same way
		}
	}
	return best, nil
}

// over takes means over hops, and divides their labels into folds; false where means would take too much memory, or
// are not to be had.
func (c *selection) over(ctx context.Context, hops int) (bool, error) {
	p := c.p
	if hops == p.Set.Recipe.Hops {
		return true, c.divide(p.Set.Instances, p.Problem.Data, p.scale)
	}
	if !p.HopsOpen || !p.Set.CanAverage() || c.late() {
		return false, nil
	}
	task, err := p.Task.averaged(ctx, hops, p.Options.Memory)
	if errors.As(err, new(*memory.Error)) || errors.Is(err, errOtherFeatures) {
		c.watch.note("means over %d hops were not tried: %v", hops, err)
		return false, nil
	}
	var each *standardise.Map
	if err == nil && p.Options.Standardise {
		each, err = standardise.Measure(ctx, &task.Set.Schema, task.Set.Instances, p.Options.Threads)
	}
	if err != nil {
		return false, err
	}
	return true, c.divideOn(ctx, task.Set.Instances, each, p.Options.Scale)
}

// averaged is the task with means over so many hops.
func (t Task) averaged(ctx context.Context, hops int, allowed int64) (Task, error) {
	t, err := t.with(func(set *dataset.Set) (*dataset.Set, error) { return set.Averaged(ctx, hops, allowed) })
	for _, e := range t.Evaluations {
		if err == nil && e.Set.Schema.NodeTypes[0].Features != t.Set.Schema.NodeTypes[0].Features {
			err = errOtherFeatures
		}
	}
	return t, err
}

// errOtherFeatures: means over hops leave nodes of an evaluation set, and none of the training, without features.
var errOtherFeatures = errors.New("the nodes of an evaluation set have other features")

// A scale is chosen by at most mostScaling labels times features times states, as folds of more would take seconds, and
// by at most labelsPerFeature: with more of them the prior, and so the scale, hardly matters.
const mostScaling, labelsPerFeature = 1 << 21, 64

// leastGain is the share of the log loss that another scale has to gain: less is felt by no prediction, however sure
// folds are of it.
const leastGain = 0.01

// compareScales predicts labels that are held out by node features alone, with each scale; nil: labels are too few,
// or so many that it does not matter. Where labels of a network are hidden, folds choose a prior: to choose twice is
// worse, and what they name has to give the same model.
func (p *Prepared) compareScales(ctx context.Context, each *standardise.Map) (*Choice, error) {
	o := p.Options
	if each == nil || p.knownShare() <= mostKnown || o.givesL2() || p.Initial != nil || o.Physics != "" ||
		each.Changed() < 2 || !p.suitScales() {
		return nil, nil
	}
	alone := slices.DeleteFunc(withoutEdges(p.Set.Instances),
		func(in *crf.Instance) bool { return len(in.Samples()) == 0 })
	ctx = context.WithoutCancel(ctx) // it takes seconds, and no folder is there to go on in
	c := p.newSelection(Watch{})
	var tried []*trial
	for _, scale := range []string{scaleEach, scaleOne + "1", scaleOne + "0.5"} {
		if err := c.divideOn(ctx, alone, each, scale); err != nil || len(c.folds) == 0 || c.late() {
			return nil, err // there is nothing to compare by, or no time
		}
		t, err := c.try(ctx, Candidate{Scale: scale, Edges: noEdges})
		if err != nil {
			return nil, err
		}
		if len(tried) == 0 || t.score() <= tried[0].score()*(1-leastGain) {
			tried = append(tried, t)
		}
	}
	slices.SortStableFunc(tried[1:], func(a, b *trial) int { return cmp.Compare(a.score(), b.score()) })
	return c.decide(tried), nil
}

// suitScales reports whether features of nodes are dense, and their labels neither too few nor too many, to choose a
// scale by.
func (p *Prepared) suitScales() bool {
	labels, size, features := 0, 0, 0
	for a, t := range p.Problem.Model.Schema.NodeTypes {
		for _, in := range p.Problem.Data {
			f := in.NodeFeatures(a)
			if t.Copies > 0 || f.Data().Start != nil {
				return false
			}
			labels, features = labels+f.Rows(), max(features, f.Dim())
			size += f.Rows() * f.Dim() * len(t.States)
		}
	}
	return labels >= 2*leastLabels && size <= mostScaling && labels <= labelsPerFeature*features
}
