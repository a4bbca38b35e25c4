package job

import (
	"cmp"
	"context"
	"encoding/json"
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

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/safetensors"
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
	text := fmt.Sprintf("{edges=%s} {hops=%d}", c.Edges, c.Hops)
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
	switch {
	case c.Chosen.L2 == 0 && best.Loss < c.Chosen.Loss:
		return text + "; the first stays unless a later one is better by over one standard error, " +
			"or by two against what is usual, and for a negative strength"
	case c.Chosen.L2 > 0 && c.Chosen == c.Candidates[0]:
		return text + "; it is the largest value that was tried: features tell little of the labels"
	case c.Chosen.L2 > 0 && c.Chosen == c.Candidates[len(c.Candidates)-1]:
		return text + "; it is the smallest value that was tried: smaller ones may be as good"
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
	// Fits of folds end at choiceTolerance of the first norm of the gradient, or after choicePasses: the loss
	// hardly changes any more.
	choiceTolerance, choicePasses = 1e-4, 600
	// Values of l2 go down from largestL2 per variable to smallestL2 in factors of √10, and end where
	// the loss has not improved for pathPatience of them.
	largestL2, smallestL2, pathStep, pathPatience = 1.0, 1e-6, 0.31622776601683794, 3
)

// trial is what came of one candidate. Edges are those before labels are asked for a power of beliefs.
type trial struct {
	Candidate
	Power  float64   `json:"power"`  // of beliefs, with which the score is smallest
	Losses []float64 `json:"losses"` // of each label that was held out, or of each fold
	Hit    []bool    `json:"hit"`    // of each label
}

func (t *trial) rule() edgeRule {
	if t.Edges == "" {
		return edgeRule{}
	}
	rule, err := parseEdges(t.Edges)
	if err != nil {
		panic("job: " + err.Error()) // it was made of a rule
	}
	return rule
}

// shown is the candidate for a reader, with the power that was found.
func (t *trial) shown(err float64) Candidate {
	c, rule := t.Candidate, t.rule()
	if rule.power = t.Power; t.Edges != "" {
		c.Edges = rule.String()
	}
	c.Loss, c.Error = runfolder.Float(t.loss()), runfolder.Float(err)
	return c
}

func (t *trial) loss() float64 {
	sum := 0.0
	for _, x := range t.Losses {
		sum += x
	}
	return sum / float64(len(t.Losses))
}

// score is what trials are compared by.
func (t *trial) score() float64 { return t.loss() + t.penalty() }

// penalty is a label's share of two normal priors. Weights have one of deviation 1: they are half of a
// rule's strength on either side of their middle. The logarithm of the power has the other. Where all
// labels that were held out are right, the loss alone falls with any strength.
func (t *trial) penalty() float64 {
	rule := t.rule()
	half, steps := rule.strength/2, math.Log(t.Power/cmp.Or(rule.power, 1))/powerDeviation
	return (half*half + steps*steps) / 2 / float64(len(t.Losses))
}

// apart is the mean difference of the scores of a and b, and its standard error.
func apart(a, b *trial) (mean, err float64) {
	n, squares := float64(len(a.Losses)), 0.0
	for i, x := range a.Losses {
		mean += (x - b.Losses[i]) / n
	}
	for i, x := range a.Losses {
		d := x - b.Losses[i] - mean
		squares += d * d
	}
	return mean + a.penalty() - b.penalty(), math.Sqrt(squares / max(1, n-1) / n)
}

// fold is a part of the data to learn from, and another to predict.
type fold struct {
	data []*crf.Instance
	held *Evaluation

	left   []int32 // the labels that are left, where labels are held out
	number []int   // of the labels that are held out, among all that are compared
}

// selection is a choice under way.
type selection struct {
	p       *Prepared
	run     *run
	folds   []fold
	metric  string
	known   []int32 // nodes whose labels are held out, where edges are chosen
	data    map[place]*hopped
	started time.Time
	// usual stays, unless another is surely better: it is what is learned where no label is hidden, with
	// labels of most nodes, or, without features, what fewer labels have. nil: there is none.
	usual *trial
	state selectionState
}

// selectionState is how far a choice has come: enough to go on, to the last bit.
type selectionState struct {
	Tried     []*trial    `json:"tried"`
	Tolerance []float64   `json:"tolerance"` // [folds] norms of the gradient at which fits for l2 end; 0: not known yet
	Seconds   float64     `json:"seconds"`
	weights   [][]float64 // [folds] that the last value of l2 led to; nil: none
}

// choose replaces the preparation by that of the candidate which predicts best what was held out, where something
// is left open.
func (r *run) choose(ctx context.Context) error {
	if !r.p.open() {
		return nil
	}
	c := &selection{p: r.p, run: r, data: map[place]*hopped{}, started: time.Now()}
	made, err := c.search(ctx)
	r.chosenFor = c.state.Seconds
	if ctx.Err() != nil {
		return r.interrupted(fmt.Sprintf("while candidates were compared, after %d of them", len(c.state.Tried)))
	}
	if err == nil && r.folder != nil {
		err = r.files.WriteSealed(choiceFile, made)
	}
	if err == nil {
		err = r.adopt(ctx, made)
	}
	if err != nil || r.folder == nil {
		return err
	}
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := os.Remove(r.files.Path(choiceStateFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// interrupted is the end of a run that has come to no weights yet.
func (r *run) interrupted(while string) error {
	remedy := "nothing was written: start again"
	if r.folder != nil {
		remedy = fmt.Sprintf("go on with {resume!blockbp train %s --resume}", r.files.Dir())
	}
	return &Error{Interrupted, fmt.Errorf("interrupted %s; %s", while, remedy)}
}

// adopt goes on with the training that was chosen, in the time that is left.
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
	if r.folder != nil {
		r.folder.Config.Options = p.resolved(r.folder.Config.Options)
	}
	return nil
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
		prepared, err := Prepare(ctx, o, t)
		if err != nil {
			return nil, err
		}
		own = *prepared
	}
	own.recall(made)
	return &own, nil
}

// recall notes what was chosen, and takes the time of the choice from that of the training. Nothing asks any
// longer to compare with no edges, which were a candidate.
func (p *Prepared) recall(made *Choice) {
	asking := p.featuresFirstNote()
	p.choice, p.Notes = made, slices.Clone(p.Notes)
	if i := slices.Index(p.Notes, asking); i >= 0 {
		p.Notes[i] = p.featuresFirstNote()
	}
	p.Notes = append(p.Notes, made.note())
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

// search tries candidates, and decides.
func (c *selection) search(ctx context.Context) (*Choice, error) {
	if err := c.divide(); err != nil {
		return nil, err
	}
	if err := c.readState(); err != nil {
		return nil, err
	}
	grid := c.overEdges
	if c.p.Options.AutoL2 {
		grid = c.overL2
	}
	finalists, err := grid(ctx)
	if err != nil {
		return nil, err
	}
	return c.decide(finalists), nil
}

// overL2 tries regularisers from large to small, each from the weights of the one before.
func (c *selection) overL2(ctx context.Context) (finalists []*trial, err error) {
	variables, least, worse := meanVariables(c.p.Problem.Data), math.Inf(1), 0
	for value := largestL2; value >= smallestL2*(1-1e-9) && worse < pathPatience; value *= pathStep {
		t, err := c.try(ctx, Candidate{L2: rounded(value*variables, 3)})
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
	if c.run.watch.Candidate != nil {
		c.run.watch.Candidate(t.shown(0))
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
		case chosen == c.usual || t.rule().strength < 0:
			errors = 2
		}
		if behind, err := apart(chosen, t); behind > errors*err {
			chosen = t
		}
		_, err := apart(t, best)
		made.Candidates = append(made.Candidates, t.shown(err))
	}
	made.Chosen, made.Seconds = made.Candidates[slices.Index(finalists, chosen)], c.spent()
	if chosen.Edges == edgesTogether && chosen != c.usual { // which ends as where no label is hidden
		made.MaxPasses = c.p.asked.togetherPasses()
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
		Metric: c.metric, Cut: true, Standardised: c.p.Options.Standardise, Seconds: c.spent()}
	for _, t := range finalists {
		made.Candidates = append(made.Candidates, t.shown(math.NaN()))
	}
	return made
}

// late reports whether the time for the choice is over.
func (c *selection) late() bool { return c.p.Options.MaxTime > 0 && c.left(1) <= 0 }

// left is the nth part of the time that is left for the choice.
func (c *selection) left(n int) time.Duration {
	seconds := choiceShare*c.p.Options.MaxTime.Seconds() - c.spent()
	return time.Duration(seconds / float64(n) * float64(time.Second))
}

func (c *selection) spent() float64 { return c.state.Seconds + time.Since(c.started).Seconds() }

// try measures a candidate, or remembers it.
func (c *selection) try(ctx context.Context, of Candidate) (*trial, error) {
	for _, t := range c.state.Tried {
		if t.L2 == of.L2 && t.Scale == of.Scale && t.Hops == of.Hops && t.Prior == of.Prior && t.Edges == of.Edges {
			return t, nil
		}
	}
	measure := c.tryEdges
	if of.L2 > 0 {
		measure = c.tryL2
	}
	of.Accuracy = 0 // it may begin with that of another
	t, err := measure(ctx, &trial{Candidate: of, Power: 1})
	if err != nil {
		return nil, err
	}
	c.state.Tried = append(c.state.Tried, t)
	return t, c.saveState()
}

// tryL2 learns all folds from where the value before has led. All fits of a fold end at the same norm of the gradient.
func (c *selection) tryL2(ctx context.Context, t *trial) (*trial, error) {
	s, n := c.p.Settings, len(c.folds)
	s.Resume, s.MaxPasses = nil, min(cmp.Or(s.MaxPasses, choicePasses), choicePasses)
	weights := make([][]float64, n)
	t.Losses = make([]float64, n)
	if c.p.Options.MaxTime > 0 {
		inTime, stop := context.WithTimeout(ctx, c.left(1))
		defer stop()
		ctx = inTime
	}
	for i, f := range c.folds {
		problem, tolerance := c.p.Problem, &c.state.Tolerance[i]
		problem.Data, problem.L2 = f.data, t.L2
		if w := c.state.weights; w != nil {
			problem.Model = problem.Model.Clone()
			problem.Model.Weights = w[i]
		}
		s.RelativeTolerance, s.GradientTolerance = max(c.p.Settings.RelativeTolerance, choiceTolerance), *tolerance
		if *tolerance > 0 {
			s.RelativeTolerance = 0
		}
		r, err := learn.Fit(ctx, problem, s)
		if err == nil && r.Status == learn.Interrupted {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if *tolerance == 0 {
			*tolerance = s.RelativeTolerance * r.FirstGradientNorm
		}
		if weights[i] = r.Model.Weights; len(c.p.Evaluations) > 0 { // whose features are as they are
			r.Model = c.p.original(r.Model)
		}
		w := c.p.inference(r.Model, infer.Limits{})
		scored, err := w.score(ctx, f.held, false, 0)
		if err != nil {
			return nil, err
		}
		if t.Losses[i] = scored.Score.MeanLogLoss(); math.IsNaN(t.Losses[i]) {
			return nil, fmt.Errorf("l2 %g gives no loss that is a number", t.L2)
		}
		t.Accuracy += runfolder.Float(scored.Score.Accuracy() / float64(n))
	}
	c.state.weights = weights
	return t, nil
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

// stateKey is that of the state among the metadata of its file.
const stateKey = "choice"

// saveState writes how far the choice has come, whole or not at all.
func (c *selection) saveState() error {
	if c.run == nil || c.run.folder == nil {
		return nil
	}
	path := c.run.files.Path(choiceStateFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	state := c.state
	state.Seconds = c.spent()
	var tensors []safetensors.Tensor
	for i, w := range state.weights {
		tensors = append(tensors, safetensors.New(strconv.Itoa(i), []int{len(w)}, w))
	}
	return safetensors.WriteFile(path, map[string]string{stateKey: jsonText(state), safetensors.ChecksumKey: ""}, tensors)
}

// readState reads it, if there is one.
func (c *selection) readState() error {
	c.state.Tolerance = make([]float64, len(c.folds))
	if c.run.folder == nil || !c.run.folder.Resume {
		return nil
	}
	path := c.run.files.Path(choiceStateFile)
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err = f.Verify(); err == nil {
		err = json.Unmarshal([]byte(f.Metadata()[stateKey]), &c.state)
	}
	units := len(c.folds)
	if c.known != nil {
		units = len(c.known)
	}
	other := func(t *trial) bool { return len(t.Losses) != units || len(t.Hit) != len(c.known) }
	if err == nil && (len(c.state.Tolerance) != len(c.folds) || slices.ContainsFunc(c.state.Tried, other)) {
		err = errors.New("it is of other folds")
	}
	for i := 0; i < len(c.folds) && c.p.Options.AutoL2 && err == nil; i++ {
		var w []float64
		if w, err = safetensors.Read[float64](f, strconv.Itoa(i)); err == nil && len(w) != c.p.Problem.Model.Layout.Size {
			err = fmt.Errorf("it has %d weights, want %d", len(w), c.p.Problem.Model.Layout.Size)
		}
		c.state.weights = append(c.state.weights, w)
	}
	if err != nil {
		return dataf("%s: %v; remove it to choose anew", path, err)
	}
	return nil
}
