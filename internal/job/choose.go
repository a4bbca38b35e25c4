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

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

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
		if err := r.files.WriteJSON(choiceFile, made); err != nil {
			return err
		}
	}
	if r.p, err = before.chosen(ctx, made); err != nil {
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
		remedy = fmt.Sprintf("go on with {resume!blockbp train %s --resume}", r.files.Dir())
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
	if folder == nil || !folder.Resume {
		return nil
	}
	var made *Choice
	if _, err := readRecord(folder.files.Path(choiceFile), &made); err != nil || made == nil {
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
			}
			if err != nil {
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

// kinds are what climbs begin with: what is usual, then the simplest first. Without features few labels tell too
// little of how frequent classes are: edges that make neighbours alike would carry their chance frequencies from node
// to node.
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
	return kinds
}

// climb takes steps of strength and prior from a candidate, as long as one is better; nil: neighbours
// that differ are worse than node features alone.
func (c *selection) climb(ctx context.Context, from Candidate, alone *trial) (*trial, error) {
	best, err := c.try(ctx, from)
	if err != nil || alone != nil && from.Edges.strength < 0 && best.score() >= alone.score() {
		return nil, err
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
		size := math.Abs(next.Edges.strength) * by.strength
		next.Prior, next.Edges.strength = next.Prior*by.prior, rounded(next.Edges.strength*by.strength)
		if by.prior == 1 && !(size >= leastStrength && size <= mostStrength) ||
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
