package job

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// The values of Options.SelectEdges, before a colon and a number.
const (
	selectEBIC      = "ebic"      // and γ
	selectStability = "stability" // and how many halves of the samples
)

const (
	// defaultGamma is IsingFit's (van Borkulo et al. 2014).
	defaultGamma = 0.25
	// defaultHalves and stableShare: an edge is stable if so much of so many halves keep it (Meinshausen and Bühlmann
	// 2010 take shares of 0.6 to 0.9).
	defaultHalves, stableShare = 20, 0.6
)

// EdgeSelection says which edges stay.
type EdgeSelection struct {
	Rule    string  `json:"rule"`
	Kept    int     `json:"kept"`
	Of      int     `json:"of"`
	Penalty float64 `json:"penalty"` // λ; of stability the mean
}

// Text says it in a line.
func (s *EdgeSelection) Text() string { return fmt.Sprintf("%d of %d, by %s", s.Kept, s.Of, s.Rule) }

// note warns of what a choice of edges does to what is said of them.
func (s *EdgeSelection) note() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d edges stay, chosen by the same samples that their couplings are learned from: standard "+
		"errors, which take the edges as given, are too small", s.Kept, s.Of)
}

// selectsEdges reads the option: γ, and how many halves of the samples there are, 0: none.
func (o *Options) selectsEdges() (gamma, halves float64, err error) {
	rule, text, given := strings.Cut(o.SelectEdges, ":")
	gamma = defaultGamma
	number := &gamma
	if rule == selectStability {
		halves = defaultHalves
		number = &halves
	}
	if given {
		*number, err = strconv.ParseFloat(text, 64)
	}
	switch {
	case o.SelectEdges == "":
		return 0, 0, nil
	case rule != selectEBIC && rule != selectStability:
		err = usagef("{select-edges} %q: want ebic, ebic:GAMMA, stability or stability:HALVES%s", o.SelectEdges,
			option.Hint(rule, []string{selectEBIC, selectStability}))
	case err != nil, !(gamma >= 0 && gamma <= 1), halves != 0 && !(halves >= 2 && halves == math.Trunc(halves)):
		err = usagef("{select-edges} %q: want a gamma of 0 to 1, such as ebic:%v, or how many halves of the samples, 2 or "+
			"more, such as stability:%d", o.SelectEdges, defaultGamma, defaultHalves)
	case o.Physics == "":
		err = usagef("{select-edges} is for {model=ising} and {model=potts}, whose edges have tables of their own")
	}
	return gamma, halves, err
}

// selectEdges leaves the set, and those of evaluations, the edges that the samples tell of.
func (o *Options) selectEdges(ctx context.Context, t *Task) (found *EdgeSelection, err error) {
	gamma, halves, err := o.selectsEdges()
	switch {
	case err != nil || o.SelectEdges == "" || !t.Set.Recipe.Untied:
		return nil, err
	case t.Initial != nil || t.Reference != nil:
		return nil, usagef("{select-edges} goes with neither {init} nor {reference}, whose models have other edges")
	}
	b := &local.Bonds{Model: &crf.Model{Schema: t.Set.Schema, Layout: t.Set.Schema.Layout()}, Data: t.Set.Instances,
		Gamma: gamma, Threads: o.Threads}
	if err := memory.Check("the choice of edges", b.Bytes(), o.Memory); err != nil {
		return nil, err
	}
	if b.Data[0].Graph.NumEdges() == 0 {
		return nil, nil
	}
	found = &EdgeSelection{Of: b.Data[0].Graph.NumEdges(), Rule: fmt.Sprintf("the extended BIC with gamma %v", gamma)}
	if halves > 0 {
		found.Rule = fmt.Sprintf("stability: %s keeps them in %v of %v halves of the samples or more", found.Rule,
			stableShare, halves)
	}
	kept, err := o.keptEdges(ctx, b, halves, found)
	if err != nil {
		return nil, err
	}
	if found.Kept = len(kept); found.Kept == 0 {
		return nil, dataf("{select-edges=%s} keeps none of %d edges: the samples tell of no coupling by %s; want more "+
			"samples, {select-edges=ebic:0}, or none of it", o.SelectEdges, found.Of, found.Rule)
	}
	*t, err = t.with(func(set *dataset.Set) (*dataset.Set, error) { return set.KeepEdges(kept) })
	return found, err
}

// keptEdges are those that all samples keep, or, where there are halves, enough of these, which are drawn at random.
func (o *Options) keptEdges(ctx context.Context, b *local.Bonds, halves float64, found *EdgeSelection) (kept []int32,
	err error) {
	units, count, runs := samplesOf(b.Data), make([]float64, found.Of), max(1, halves)
	for h := range uint64(runs) {
		if halves > 0 {
			rng := rand.New(rand.NewPCG(o.Seed, h))
			rng.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
			b.Data = instancesOf(units[:(len(units)+1)/2])
		}
		b.Total, b.L2 = instances.TotalWeight(b.Data), o.l2(b.Data)
		edges, lambda, err := b.Choose(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range edges {
			count[e]++
		}
		found.Penalty += lambda / runs
	}
	rare := func(e int32) bool { return !(count[e] >= stableShare*runs) }
	return slices.DeleteFunc(numeric.To(len(count)), rare), nil
}
