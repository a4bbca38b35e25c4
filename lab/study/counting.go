package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// noEdges stands for node features alone, beside the names of counting numbers.
const noEdges = "no edges"

// countingNames are what the study of counting numbers compares.
var countingNames = append([]string{noEdges}, counting.Names...)

// countingMultiples are l2 times the number of samples: the first is what results are
// shown for, beside the best of them.
var countingMultiples = []float64{1, 0.03, 0.3, 3, 30}

// countingPlan says what is measured on one set of data.
type countingPlan struct {
	Set       string    `json:"set"`
	Seed      uint64    `json:"seed"`
	Side      int       `json:"side"`
	Counting  []string  `json:"counting"`
	Multiples []float64 `json:"multiples"`
	Passes    float64   `json:"most_passes"`
}

// countingTrial is what came of learning with some numbers and l2.
type countingTrial struct {
	Counting  string  `json:"counting"`
	Multiple  float64 `json:"multiple"`
	LogLoss   float64 `json:"log_loss"` // held out, nats per variable
	Accuracy  float64 `json:"accuracy"`
	Converged bool    `json:"converged"`
	Passes    float64 `json:"passes"`
}

// countingTrials are those of one plan.
type countingTrials struct {
	Plan   countingPlan    `json:"plan"`
	Trials []countingTrial `json:"trials"`
}

// countingName is that of the study of counting numbers.
const countingName = "counting"

// countingStudy compares counting numbers by what the models predict.
func countingStudy() *Study {
	return &Study{
		Name: countingName, Title: "Which counting numbers predict best",
		Paper: "The paper takes counting numbers that make the objective convex, and its authors' code has all of them 1. This project promises more of the numbers that it takes by default.",
		parts: countingParts,
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := resultsOf[countingTrials](r, countingParts(s))
			if err != nil {
				return nil, err
			}
			f := &Findings{Data: all, Claims: countingClaims(all), Notes: []string{fmt.Sprintf(
				"Each set has %d networks to learn from and %d to predict; log loss and accuracy are of the latter. N is the number of networks learnt from; best is over l2 = c/N with c = %v, chosen on the networks that are predicted, for all alike. Means over the seeds.", learnt, tested, countingMultiples)}}
			f.Tables = []Table{
				{"losses", "Held-out log loss, nats per variable: at the best l2 / at l2 = 1/N.", countingTable(all, func(t countingTrial) float64 { return t.LogLoss }, "%.3f / %.3f", false)},
				{"accuracies", "Held-out accuracy, per cent: at the best l2 / at l2 = 1/N.", countingTable(all, func(t countingTrial) float64 { return 100 * t.Accuracy }, "%.1f / %.1f", true)},
				{"ranks", "Over all sets and seeds, 1 being the best; edges pay where the log loss at the best l2 is lower than without them.", countingRanks(all)},
			}
			return f, nil
		},
	}
}

func countingParts(s Settings) (all []part) {
	x := s.sizes()
	for i, set := range countingSets() {
		for seed := range x.countingSeeds {
			plan := countingPlan{Set: set.name, Seed: uint64(seed + 1), Side: x.countingSide, Counting: countingNames, Multiples: countingMultiples, Passes: 1000}
			const secondsPerNode = 0.01
			all = append(all, part{
				name: fmt.Sprintf("counting-%02d-seed%d", i, plan.Seed), plan: plan, seconds: secondsPerNode * float64(x.countingSide*x.countingSide),
				measure: func(ctx context.Context, lab *lab) (any, error) { return plan.measure(ctx, set, lab.threads) },
			})
		}
	}
	return all
}

// measure learns with all numbers and l2, and predicts.
func (p countingPlan) measure(ctx context.Context, set countingSet, threads int) (*countingTrials, error) {
	data, err := set.draw(p.Side, rand.New(rand.NewPCG(p.Seed, hashSeed(p.Set))))
	if err != nil {
		return nil, err
	}
	r := &countingTrials{Plan: p}
	for _, name := range p.Counting {
		for _, c := range p.Multiples {
			t, err := data.try(ctx, name, c, p.Passes, threads)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, l2 %g/N: %w", p.Set, name, c, err)
			}
			r.Trials = append(r.Trials, *t)
		}
	}
	return r, nil
}

// hashSeed gives every set a stream of its own.
func hashSeed(name string) (h uint64) {
	for _, c := range []byte(name) {
		h = 31*h + uint64(c)
	}
	return h
}

// try learns once and predicts what was held out.
func (h *heldOut) try(ctx context.Context, name string, multiple, passes float64, threads int) (*countingTrial, error) {
	instances, test := h.learn, h.test
	numbers, err := counting.Func(nil), error(nil)
	if name == noEdges {
		instances, test = withoutEdges(instances), withoutEdges(test)
	} else if numbers, err = counting.Parse(ctx, name, 1, false); err != nil {
		return nil, err
	}
	model, err := crf.NewModel(h.schema)
	if err != nil {
		return nil, err
	}
	t := &countingTrial{Counting: name, Multiple: multiple, LogLoss: math.Inf(1)}
	result, err := learn.Fit(ctx, learn.Problem{Model: model, Data: instances, Counting: numbers, L2: multiple / float64(len(instances))},
		learn.Settings{Method: learn.InnerDual, MaxPasses: passes, Threads: threads})
	var diverged *learn.DivergedError
	switch {
	case errors.As(err, &diverged):
		result, err = &learn.Result{Model: model}, nil // the weights of the start
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	t.Converged, t.Passes = result.Status == learn.Converged, result.Passes
	predictor := &infer.Predictor{Model: result.Model, Counting: numbers}
	score := infer.NewScore(len(h.schema.NodeTypes[0].States))
	for _, in := range test {
		beliefs, err := predictor.Predict(ctx, in, nil)
		if err != nil {
			return nil, err
		}
		score.Add(beliefs, in.Samples()[0], nil)
	}
	t.LogLoss, t.Accuracy = score.MeanLogLoss(), score.Accuracy()
	return t, nil
}

func withoutEdges(all []*crf.Instance) (alone []*crf.Instance) {
	for _, in := range all {
		alone = append(alone, in.WithoutEdges())
	}
	return alone
}

// at returns a trial.
func (r *countingTrials) at(name string, multiple float64) countingTrial {
	i := slices.IndexFunc(r.Trials, func(t countingTrial) bool { return t.Counting == name && t.Multiple == multiple })
	return r.Trials[i]
}

// best returns the trial of lowest log loss.
func (r *countingTrials) best(name string) countingTrial {
	best := r.at(name, r.Plan.Multiples[0])
	for _, t := range r.Trials {
		if t.Counting == name && t.LogLoss < best.LogLoss {
			best = t
		}
	}
	return best
}

// countingTable is a row for every set and a column for all numbers.
func countingTable(all []*countingTrials, value func(countingTrial) float64, format string, largest bool) report.Table {
	t := report.Table{Headers: append([]string{"set"}, countingNames...)}
	for _, set := range countingSets() {
		row, seeds := []string{set.name}, 0.0
		for _, name := range countingNames {
			best, usual := 0.0, 0.0
			seeds = 0
			for _, r := range all {
				if r.Plan.Set != set.name {
					continue
				}
				seeds++
				usual += value(r.at(name, r.Plan.Multiples[0]))
				most := value(r.best(name))
				for _, trial := range r.Trials {
					if trial.Counting == name && largest {
						most = max(most, value(trial))
					}
				}
				best += most
			}
			row = append(row, fmt.Sprintf(format, best/seeds, usual/seeds))
		}
		if seeds > 0 {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// countingSummary is what the ranks of some numbers are.
type countingSummary struct {
	usual, best, accuracy float64 // mean ranks: log loss at 1/N and at the best l2, accuracy at 1/N
	pays, converged       int     // sets on which edges pay; trials that converged
}

// summarise ranks all numbers, those without edges left out.
func summarise(all []*countingTrials) map[string]*countingSummary {
	sums := map[string]*countingSummary{}
	for _, name := range counting.Names {
		sum := &countingSummary{}
		sums[name] = sum
		for _, r := range all {
			first := r.Plan.Multiples[0]
			own, best := r.at(name, first), r.best(name)
			rank := func(worse func(other string) bool) float64 {
				n := 1.0
				for _, other := range counting.Names {
					if other != name && worse(other) {
						n++
					}
				}
				return n / float64(len(all))
			}
			sum.usual += rank(func(o string) bool { return differ(r.at(o, first).LogLoss, own.LogLoss) })
			sum.best += rank(func(o string) bool { return differ(r.best(o).LogLoss, best.LogLoss) })
			sum.accuracy += rank(func(o string) bool { return differ(-r.at(o, first).Accuracy, -own.Accuracy) })
			if differ(best.LogLoss, r.best(noEdges).LogLoss) {
				sum.pays++
			}
			for _, t := range r.Trials {
				if t.Counting == name && t.Converged {
					sum.converged++
				}
			}
		}
	}
	return sums
}

// differ reports whether a is less than b by more than what two runs to one optimum may
// end apart.
func differ(a, b float64) bool { return a < b-1e-3*math.Abs(b) }

func countingRanks(all []*countingTrials) report.Table {
	t := report.Table{Headers: append([]string{""}, counting.Names...)}
	sums := summarise(all)
	row := func(title string, value func(s *countingSummary) string) {
		cells := []string{title}
		for _, name := range counting.Names {
			cells = append(cells, value(sums[name]))
		}
		t.Rows = append(t.Rows, cells)
	}
	row("mean rank, log loss at l2 = 1/N", func(s *countingSummary) string { return fmt.Sprintf("%.2f", s.usual) })
	row("mean rank, log loss at the best l2", func(s *countingSummary) string { return fmt.Sprintf("%.2f", s.best) })
	row("mean rank, accuracy at l2 = 1/N", func(s *countingSummary) string { return fmt.Sprintf("%.2f", s.accuracy) })
	row("edges pay", func(s *countingSummary) string { return fmt.Sprintf("%d of %d", s.pays, len(all)) })
	row("converged", func(s *countingSummary) string {
		return fmt.Sprintf("%d of %d", s.converged, len(all)*len(countingMultiples))
	})
	return t
}

// countingClaims are what this project says of the numbers.
func countingClaims(all []*countingTrials) []Claim {
	sums := summarise(all)
	lowest := func(value func(*countingSummary) float64) (held bool, measured string) {
		held = true
		for _, name := range counting.Names {
			held = held && value(sums["trw"]) <= value(sums[name])
			measured += fmt.Sprintf("%s %.2f, ", name, value(sums[name]))
		}
		return held, measured[:len(measured)-2]
	}
	var claims []Claim
	add := func(name, statement string, held bool, measured string) {
		claims = append(claims, Claim{Name: name, Ours: true, Paper: statement, Measured: measured, Held: held})
	}
	held, measured := lowest(func(s *countingSummary) float64 { return s.usual })
	add("log loss at 1/N", "trw has the lowest mean rank in held-out log loss at l2 = 1/N", held, measured)
	held, measured = lowest(func(s *countingSummary) float64 { return s.best })
	add("log loss at best", "trw has the lowest mean rank in held-out log loss at the best l2", held, measured)
	held, measured = lowest(func(s *countingSummary) float64 { return s.accuracy })
	add("accuracy", "trw has the lowest mean rank in held-out accuracy at l2 = 1/N", held, measured)
	add("cover", "with cover, edges pay on every set", sums["cover"].pays == len(all), fmt.Sprintf("%d of %d", sums["cover"].pays, len(all)))
	better := 0
	for _, r := range all {
		if differ(r.best("trw").LogLoss, r.best("convex").LogLoss) {
			better++
		}
	}
	add("trw against convex", "trw has a lower log loss at its best l2 than convex at its own, on nine sets of ten", 10*better >= 9*len(all), fmt.Sprintf("%d of %d", better, len(all)))
	return claims
}
