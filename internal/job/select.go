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
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Candidate is a set of settings, and how well they predict what was held out.
type Candidate struct {
	L2    float64 `json:"l2,omitempty"`    // 0: that of the options, or of a prior; else nothing below is open
	Scale string  `json:"scale,omitempty"` // of features of nodes, as Options.Scale; "": as the options say
	Hops  int     `json:"hops"`
	Prior float64 `json:"prior"` // 0: that of the options, or their l2
	// Edges is as Options.Edges, with the power of beliefs; potts:0 are node features alone.
	Edges string `json:"edges"`
	// Loss and Accuracy are of what was held out. Error is the standard error of the difference of
	// Loss to the smallest one's.
	Loss     runfolder.Float `json:"log_loss"`
	Accuracy runfolder.Float `json:"accuracy"`
	Error    runfolder.Float `json:"error"`
}

// String is the settings as the command line has them.
func (c Candidate) String() string {
	switch {
	case c.L2 > 0:
		return fmt.Sprintf("{l2=%g}", c.L2)
	case c.Scale != "":
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
	// MaxPasses bounds the training that was chosen; 0: the options do.
	MaxPasses float64 `json:"max_passes,omitempty"`
	Seconds   float64 `json:"seconds"`
	// Cut: the time for the choice was over, perhaps before all were compared.
	Cut bool `json:"cut,omitempty"`
	// Standardised: values of l2 are of standardised features.
	Standardised bool `json:"standardised,omitempty"`
}

// note says what was chosen, over what, and by how much.
func (c *Choice) note() string {
	how := strings.TrimPrefix(c.Metric, "log_loss ")
	if c.Cut {
		how += ", as far as half of {max-time} went"
	}
	chosen := c.Chosen.String()
	if c.Standardised {
		chosen += " {standardise}"
	}
	if !slices.Contains(c.Candidates, c.Chosen) {
		return fmt.Sprintf("{l2=auto} had no time to find the best value, as half of {max-time} sufficed for %d of them: "+
			"l2 is that of {prior=1}, %s", len(c.Candidates), chosen)
	}
	text := fmt.Sprintf("%d candidates were compared %s, and chosen is %s", len(c.Candidates), how, chosen)
	if c.Chosen.Edges != "" && c.Chosen.Scale == "" {
		text = "labels are hidden: " + text
	}
	if c.MaxPasses > 0 {
		text += fmt.Sprintf(" {max-passes=%g}", c.MaxPasses)
	}
	said := func(x Candidate) string {
		return fmt.Sprintf("%.4f, accuracy %s", x.Loss, percent(float64(x.Accuracy)))
	}
	text += ": log loss " + said(c.Chosen)
	others := slices.DeleteFunc(slices.Clone(c.Candidates), func(x Candidate) bool { return x == c.Chosen })
	if len(others) == 0 {
		return text
	}
	best := slices.MinFunc(others, func(a, b Candidate) int { return cmp.Compare(a.Loss, b.Loss) })
	over := best // the first one is what the others have to beat
	if c.Chosen != c.Candidates[0] && c.Chosen.L2 == 0 {
		over = c.Candidates[0]
	}
	text += fmt.Sprintf("; of %s %s", over, said(over))
	if c.Chosen.L2 == 0 && best.Loss < c.Chosen.Loss {
		text += "; the first stays unless a later one is better by over one standard error, or by two against what is " +
			"usual, and for a negative strength"
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
	// mostFolds bounds the folds of cross-validation.
	mostFolds = 5
	// choiceShare of Options.MaxTime is for the choice: the training starts anew with all data.
	choiceShare = 0.5
	// Fits of folds end at choiceTolerance of the first norm of the gradient, or after choicePasses, or, of edges
	// that are learned with nodes, after togetherPasses: the loss hardly changes any more.
	choiceTolerance, choicePasses, togetherPasses = 1e-4, 600, 500
	// Values of l2 go down from largestL2 per variable to smallestL2 in factors of √10, and end where
	// the loss has not improved for pathPatience of them.
	largestL2, smallestL2, pathStep, pathPatience = 1.0, 1e-6, 0.31622776601683794, 3
	// Powers of beliefs are so many steps of √2 to either side, whose logarithm has a normal prior of deviation
	// powerDeviation. The probability of a label is no smaller than the least one, lest it be all of the loss.
	powerSteps, powerDeviation, leastProbability = 6, 0.5, 1e-12
	// unseenMistakes is how many labels more, all wrong, candidates are charged with: few that are right prove
	// no certainty. It is the half of Krichevsky and Trofimov (1981).
	unseenMistakes = 0.5
)

// trial is what came of one candidate. Edges are those before labels are asked for a power of beliefs.
type trial struct {
	Candidate
	rule     edgeRule  // of Edges
	power    float64   // of beliefs, with which the score is smallest
	losses   []float64 // of each label that was held out
	surprise float64   // the mean loss of these, were each another than the likeliest
}

// shown is the candidate for a reader, with the power that was found.
func (t *trial) shown(err float64) Candidate {
	c, rule := t.Candidate, t.rule
	if rule.power = t.power; t.Edges != "" {
		c.Edges = rule.String()
	}
	c.Loss, c.Error = runfolder.Float(t.loss()), runfolder.Float(err)
	return c
}

func (t *trial) loss() float64 {
	sum := 0.0
	for _, x := range t.losses {
		sum += x
	}
	return sum / float64(len(t.losses))
}

// score is what trials are compared by.
func (t *trial) score() float64 { return t.loss() + t.penalty() }

// penalty is a label's share of what unseen mistakes cost, and of three normal priors. Weights have one of deviation 1:
// they are half of a rule's strength on either side of their middle. The logarithms of the power, and of the deviation
// of the weights of features, have the others. Where all labels that were held out are right, the loss alone falls with
// any strength.
func (t *trial) penalty() float64 {
	half, steps := t.rule.strength/2, math.Log(t.power/cmp.Or(t.rule.power, 1))/powerDeviation
	wider := math.Log(cmp.Or(t.Prior, 1)) / powerDeviation
	return ((half*half+steps*steps+wider*wider)/2 + unseenMistakes*t.surprise) / float64(len(t.losses))
}

// apart is the mean difference of the scores of a and b, and its standard error.
func apart(a, b *trial) (mean, err float64) {
	n, squares := float64(len(a.losses)), 0.0
	for i, x := range a.losses {
		mean += (x - b.losses[i]) / n
	}
	for i, x := range a.losses {
		d := x - b.losses[i] - mean
		squares += d * d
	}
	return mean + a.penalty() - b.penalty(), math.Sqrt(squares / max(1, n-1) / n)
}

// selection is a choice under way.
type selection struct {
	p       *Prepared
	watch   Watch
	metric  string
	folds   []fold // of the features at hand
	tried   map[Candidate]*trial
	started time.Time
	nodes   map[float64][]*crf.Model // models of these without edges, by the prior
	// usual stays, unless another is surely better: it is what is learned where no label is hidden, with
	// labels of most nodes, or, without features, what fewer labels have. nil: there is none.
	usual *trial
}

func (p *Prepared) newSelection(watch Watch) *selection {
	return &selection{p: p, watch: watch, tried: map[Candidate]*trial{}, started: time.Now()}
}

// choose replaces the preparation by that of the candidate which predicts best what was held out, where something
// is left open, in the time that is left. A run that is interrupted meanwhile chooses anew.
func (r *run) choose(ctx context.Context) error {
	if !r.p.open() {
		return nil
	}
	c := r.p.newSelection(r.watch)
	grid := c.overEdges
	if r.p.Options.AutoL2 {
		grid = c.overL2
	}
	finalists, err := grid(ctx)
	if ctx.Err() != nil {
		return r.interrupted(fmt.Sprintf("while candidates were compared, after %d of them", len(c.tried)))
	}
	if err != nil {
		return err
	}
	before, made := r.p, c.decide(finalists)
	if r.folder != nil {
		if err := r.files.WriteSealed(choiceFile, made); err != nil {
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
	own, best := *p, made.Chosen
	if best.L2 > 0 {
		own.Options.AutoL2, own.Options.L2, own.Problem.L2 = false, best.L2, best.L2
	} else {
		o, t := p.asked, p.Task
		o.Edges, o.MaxPasses, o.Prior = best.Edges, cmp.Or(o.MaxPasses, made.MaxPasses), cmp.Or(best.Prior, o.Prior)
		o.Scale = p.Options.Scale
		if best.Hops > t.Set.Recipe.Hops {
			var err error
			if t, err = t.averaged(ctx, best.Hops, p.Options.Memory); err != nil {
				return nil, err
			}
		}
		prepared, err := Prepare(ctx, o, t)
		if err != nil {
			return nil, err
		}
		own = *prepared
	}
	own.recall(made)
	return &own, nil
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
	if !p.open() {
		p.recall(made)
		return nil
	}
	own, err := p.chosen(ctx, made)
	if err == nil {
		*p = *own
	}
	return err
}

// overL2 tries regularisers from large to small.
func (c *selection) overL2(ctx context.Context) (finalists []*trial, err error) {
	if err := c.divide(c.p.Problem.Data); err != nil {
		return nil, err
	}
	within := ctx
	if c.p.Options.MaxTime > 0 { // what that does not suffice for is not compared
		inTime, stop := context.WithTimeout(ctx, c.left(1))
		defer stop()
		within = inTime
	}
	variables, least, worse := meanVariables(c.p.Problem.Data), math.Inf(1), 0
	for value := largestL2; value >= smallestL2*(1-1e-9) && worse < pathPatience; value *= pathStep {
		t, err := c.try(within, Candidate{L2: rounded(value*variables, 3)})
		over := err != nil && ctx.Err() == nil && c.late()
		if over || errors.As(err, new(*learn.DivergedError)) && len(finalists) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		if worse++; t.loss() < least {
			least, worse = t.loss(), 0
		}
		finalists = append(finalists, t)
		c.tell(t)
	}
	return finalists, nil
}

func (c *selection) tell(t *trial) {
	if c.watch.Candidate != nil {
		c.watch.Candidate(t.shown(0))
	}
}

// decide takes the first finalist, unless a later one is better by more than one standard error, or
// two of them against what is usual, or for edges that make neighbours differ. Of values of l2 the best is taken.
func (c *selection) decide(finalists []*trial) *Choice {
	if made := c.cutShort(finalists); made != nil {
		return made
	}
	best := slices.MinFunc(finalists, func(a, b *trial) int { return cmp.Compare(a.score(), b.score()) })
	made := &Choice{Metric: c.metric, Cut: c.late(), Standardised: c.p.Options.AutoL2 && c.p.Options.Standardise}
	chosen := finalists[0]
	for _, t := range finalists {
		errors := 1.0
		switch {
		case t.L2 > 0:
			errors = 0
		case chosen == c.usual || t.rule.strength < 0:
			errors = 2
		}
		if behind, err := apart(chosen, t); behind > errors*err {
			chosen = t
		}
		_, err := apart(t, best)
		made.Candidates = append(made.Candidates, t.shown(err))
	}
	made.Chosen, made.Seconds = made.Candidates[slices.Index(finalists, chosen)], time.Since(c.started).Seconds()
	if chosen.Edges == edgesTogether && chosen != c.usual { // which ends as where no label is hidden
		made.MaxPasses = cmp.Or(c.p.asked.MaxPasses, togetherPasses)
	}
	return made
}

// cutShort chooses the l2 of a prior of deviation 1 where the time was over before the best one was found, which may
// be smaller than all that were tried; nil: it was not.
func (c *selection) cutShort(finalists []*trial) *Choice {
	o, n, nan := Options{Prior: 1}, len(finalists), runfolder.Float(math.NaN())
	usual := rounded(o.l2(sampleCount(c.p.Problem.Data)), 3)
	better := func(i int) bool { return finalists[i].loss() < finalists[i-1].loss() }
	if !c.p.Options.AutoL2 || !c.late() || n > 1 && !better(n-1) || n > 0 && finalists[n-1].L2 <= usual {
		return nil
	}
	made := &Choice{Chosen: Candidate{L2: usual, Loss: nan, Accuracy: nan, Error: nan}, Candidates: []Candidate{},
		Metric: c.metric, Cut: true, Standardised: c.p.Options.Standardise, Seconds: time.Since(c.started).Seconds()}
	for _, t := range finalists {
		made.Candidates = append(made.Candidates, t.shown(math.NaN()))
	}
	return made
}

// late reports whether the time for the choice is over.
func (c *selection) late() bool { return c.p.Options.MaxTime > 0 && c.left(1) <= 0 }

// left is the nth part of the time that is left for the choice.
func (c *selection) left(n int) time.Duration {
	all := time.Duration(choiceShare * float64(c.p.Options.MaxTime))
	return (all - time.Since(c.started)) / time.Duration(n)
}

// try learns from what each fold leaves, and predicts what it holds out, or remembers what came of that. Of the
// powers of beliefs the trial has the one with the smallest score.
func (c *selection) try(ctx context.Context, of Candidate) (*trial, error) {
	of.Accuracy = 0 // it may begin with that of another
	if t := c.tried[of]; t != nil {
		return t, nil
	}
	models, err := c.learn(ctx, of)
	if err != nil {
		return nil, err
	}
	best := &trial{Candidate: of}
	if best.rule, err = parseEdges(cmp.Or(of.Edges, edgesTogether)); err != nil {
		return nil, err
	}
	var powers []float64
	steps := powerSteps
	if of.L2 > 0 || of.Scale != "" || !c.p.everyStateSeen() {
		steps = 0 // of others labels cannot tell how sure beliefs may be
	}
	for i := -steps; i <= steps; i++ {
		powers = append(powers, rounded(cmp.Or(best.rule.power, 1)*math.Pow(math.Sqrt2, float64(i)), 2))
	}
	losses, hits, surprise := make([][][]float64, len(c.folds)), make([]int, len(c.folds)), make([][]float64, len(c.folds))
	if err := c.eachFold(ctx, func(k int) (err error) {
		losses[k], hits[k], surprise[k], err = c.predict(ctx, best, powers, models[k], &c.folds[k])
		return err
	}); err != nil {
		return nil, err
	}
	for i, power := range powers {
		t := &trial{Candidate: of, rule: best.rule, power: power}
		for k := range c.folds {
			t.losses = append(t.losses, losses[k][i]...)
			t.Accuracy += runfolder.Float(hits[k])
			if steps > 0 {
				t.surprise += surprise[k][i]
			}
		}
		t.surprise /= float64(len(t.losses))
		t.Accuracy /= runfolder.Float(len(t.losses))
		if i == 0 || t.score() < best.score() {
			best = t
		}
	}
	if math.IsNaN(best.loss()) {
		return nil, fmt.Errorf("%s gives no loss that is a number", of)
	}
	c.tried[of] = best
	return best, nil
}

// learn learns with the settings of a candidate from what each fold leaves. Where edges are chosen, nodes are learned
// without them first.
func (c *selection) learn(ctx context.Context, of Candidate) (models []*crf.Model, err error) {
	o, s := c.p.Options, c.p.Settings
	if s.Resume, s.Threads = nil, c.inside(); of.L2 > 0 {
		o.L2, s.MaxPasses = of.L2, min(cmp.Or(s.MaxPasses, choicePasses), choicePasses)
		s.RelativeTolerance, s.GradientTolerance = max(s.RelativeTolerance, choiceTolerance), 0
		return c.fit(ctx, &o, s, slices.Repeat([]*crf.Model{c.p.Problem.Model}, len(c.folds)), false)
	}
	o.Prior = cmp.Or(of.Prior, o.Prior)
	if models = c.nodes[o.Prior]; models == nil {
		zero, err := crf.NewModel(*c.folds[0].data[0].Schema())
		if err != nil {
			return nil, err
		}
		alone := learn.Settings{Method: learn.Exact, RelativeTolerance: choiceTolerance, MaxPasses: choicePasses, Memory: -1}
		if models, err = c.fit(ctx, &o, alone, slices.Repeat([]*crf.Model{zero}, len(c.folds)), true); err != nil {
			return nil, err
		}
		c.nodes[o.Prior] = models
	}
	if of.Edges == edgesTogether {
		s.MaxPasses = cmp.Or(c.p.asked.MaxPasses, togetherPasses)
		return c.fit(ctx, &o, s, models, false)
	}
	return models, nil
}

// fit learns from what each fold leaves, beginning with its model: the nodes alone, or the network.
func (c *selection) fit(ctx context.Context, o *Options, s learn.Settings, from []*crf.Model, alone bool) (
	models []*crf.Model, err error) {
	models = make([]*crf.Model, len(c.folds))
	return models, c.eachFold(ctx, func(k int) (err error) {
		own, problem := s, c.p.Problem
		problem.Data, problem.Model = c.folds[k].data, from[k]
		if alone {
			problem.Counting = nil
			problem.Data, err = onlyNodes(problem.Data)
		} else {
			own.Step, err = learn.ParseStep(o.Step) // a rule of steps is of one run
		}
		if err != nil {
			return err
		}
		if !alone && !o.AutoL2 && o.MaxTime > 0 { // an equal part of what is left, and a first candidate in any case
			own.MaxTime = max(time.Millisecond, c.left(len(c.folds)-k))
		}
		problem.L2 = o.l2(sampleCount(problem.Data))
		fitted, err := learn.Fit(ctx, problem, own)
		if err == nil {
			models[k] = fitted.Model
		}
		return err
	})
}

// inside is how many threads work on one fold: one, unless there is one fold, or each takes as much as a training.
func (c *selection) inside() int {
	if len(c.folds) == 1 || c.p.Options.AutoL2 {
		return c.p.Options.Threads
	}
	return 1
}

// eachFold works on the folds with several threads.
func (c *selection) eachFold(ctx context.Context, do func(k int) error) error {
	errs := make([]error, len(c.folds))
	at := func(k int) { errs[k] = do(k) }
	if err := parallel.Each(ctx, len(c.folds), max(1, c.p.Options.Threads/c.inside()), at); err != nil {
		return err
	}
	if ctx.Err() != nil { // some are not learned to their end
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// foldLimits bound the inference of folds where edges are chosen: labels hardly change any more, at a few percent of
// the cost.
var foldLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// predict predicts what a fold holds out, given the others, and returns the losses of its labels with each of the
// powers of beliefs, how many are right, and for each power the sum of what they would lose if they were not.
func (c *selection) predict(ctx context.Context, of *trial, powers []float64, m *crf.Model, f *fold) (
	losses [][]float64, hits int, surprise []float64, err error) {
	held, w := *f.held, c.p.inference(m, foldLimits)
	w.Threads = c.inside()
	switch {
	case of.L2 > 0:
		if w.Limits = (infer.Limits{}); len(c.p.Evaluations) > 0 { // whose features are as they are
			w.Model = c.p.original(m)
		}
	case of.Edges == noEdges:
		w.Counting, held.Instances = nil, []*crf.Instance(nil)
		for _, in := range f.held.Instances {
			held.Instances = append(held.Instances, in.WithoutEdges())
		}
	default:
		if w.Model, err = of.rule.of(ctx, m, f.data, c.p.scale); err != nil {
			return nil, 0, nil, err
		}
		if of.rule.name == edgesBalanced {
			held.Instances = slices.Clone(held.Instances)
			for i, in := range held.Instances {
				if held.Instances[i], err = balanced(in, c.p.scale); err != nil {
					return nil, 0, nil, err
				}
			}
		}
	}
	losses, surprise = make([][]float64, len(powers)), make([]float64, len(powers))
	err = w.each(ctx, &held, false, func(i int, p prediction) error {
		samples, beliefs, node := held.compared(i, p.beliefs)
		for _, truth := range samples {
			for s, y := range truth {
				if y == crf.Unobserved || held.Count != nil && !held.Count[i][s] {
					continue
				}
				weight, least := 1.0, -math.Log(leastProbability)
				if weights := c.p.Problem.ClassWeights; weights != nil {
					weight = weights[held.Instances[i].NodeType(int32(node(s)))][y]
				}
				label := math.Log(max(leastProbability, beliefs.Of(s)[y]))
				for j, power := range powers {
					sum, others := 0.0, 0.0
					for a, x := range beliefs.Of(s) {
						x = math.Exp(power * (math.Log(max(leastProbability, x)) - label))
						if sum += x; int32(a) != beliefs.Labels[s] {
							others += x
						}
					}
					ratio := sum * float64(len(beliefs.Of(s))-1) / max(others, leastProbability)
					surprise[j] += weight * min(math.Log(max(1, ratio)), least)
					losses[j] = append(losses[j], weight*min(math.Log(sum), least))
				}
				if beliefs.Labels[s] == y {
					hits++
				}
			}
		}
		return nil
	})
	return losses, hits, surprise, err
}

// meanVariables is the mean number of variables per sample.
func meanVariables(data []*crf.Instance) float64 {
	nodes, samples := 0, 0
	for _, in := range data {
		nodes += in.Graph.NumNodes() * len(in.Samples())
		samples += len(in.Samples())
	}
	return float64(nodes) / float64(samples)
}

// rounded has so many digits of a number: what is told is what is used.
func rounded(x float64, digits int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		panic("job: " + err.Error()) // what was formatted can be read
	}
	return y
}
