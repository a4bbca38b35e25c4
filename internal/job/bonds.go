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
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/memory"
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
	// Violation is the largest by which a condition of a minimum on the path is missed, relative to its penalty.
	Violation float64 `json:"violation"`
}

// Text says it in a line.
func (s *EdgeSelection) Text() string { return fmt.Sprintf("%d of %d, by %s", s.Kept, s.Of, s.Rule) }

// selectsEdges reads the option.
func (o *Options) selectsEdges() (rule string, number float64, err error) {
	rule, text, given := strings.Cut(o.SelectEdges, ":")
	number = map[string]float64{selectEBIC: defaultGamma, selectStability: defaultHalves}[rule]
	if given {
		number, err = strconv.ParseFloat(text, 64)
	}
	whole := number >= 2 && number == math.Trunc(number)
	switch {
	case rule == "":
		return "", 0, nil
	case rule == selectEBIC && (err != nil || !(number >= 0 && number <= 1)):
		return "", 0, usagef("{select-edges} %q: want a number of 0 to 1, such as ebic:%v", o.SelectEdges, defaultGamma)
	case rule == selectStability && (err != nil || !whole):
		return "", 0, usagef("{select-edges} %q: want how many halves of the samples to look at, 2 or more, such as "+
			"stability:%d", o.SelectEdges, defaultHalves)
	case rule != selectEBIC && rule != selectStability:
		return "", 0, usagef("{select-edges} %q: want ebic, ebic:GAMMA, stability or stability:HALVES%s", o.SelectEdges,
			option.Hint(rule, []string{selectEBIC, selectStability}))
	case o.Physics == "":
		return "", 0, usagef("{select-edges} is for {model=ising} and {model=potts}, whose edges have tables of their own")
	}
	return rule, number, nil
}

// selectEdges leaves the set, and those of evaluations, the edges that the samples tell of.
func (o *Options) selectEdges(ctx context.Context, t *Task) (*EdgeSelection, error) {
	rule, number, err := o.selectsEdges()
	if err != nil || rule == "" || !t.Set.Recipe.Untied {
		return nil, err
	}
	if t.Initial != nil || t.Reference != nil {
		return nil, usagef("{select-edges} goes with neither {init} nor {reference}, whose models have other edges")
	}
	b := &local.Bonds{Model: &crf.Model{Schema: t.Set.Schema, Layout: t.Set.Schema.Layout()}, Data: t.Set.Instances,
		Total: sampleCount(t.Set.Instances), Gamma: defaultGamma, Threads: o.Threads}
	b.L2 = o.l2(b.Total)
	found := &EdgeSelection{Of: b.Data[0].Graph.NumEdges()}
	if err := memory.Check("the choice of edges", b.Bytes(), o.Memory); err != nil {
		return nil, err
	}
	var kept []int32
	if rule == selectEBIC {
		b.Gamma, found.Rule = number, fmt.Sprintf("the extended BIC with gamma %v", number)
		var chosen *local.Chosen
		if chosen, err = b.Choose(ctx); err == nil {
			kept, found.Penalty, found.Violation = chosen.Edges, chosen.Penalty, chosen.Violation
		}
	} else {
		found.Rule = fmt.Sprintf("stability: the extended BIC with gamma %v keeps them in %v of %v halves of the samples or "+
			"more", defaultGamma, stableShare, number)
		kept, err = o.stable(ctx, b, int(number), found)
	}
	if err != nil {
		return nil, err
	}
	if found.Kept = len(kept); found.Kept == 0 {
		return nil, dataf("{select-edges=%s} keeps none of %d edges: the samples tell of no coupling by %s; want more "+
			"samples, or {select-edges=ebic:0}", o.SelectEdges, found.Of, found.Rule)
	}
	if t.Set, err = t.Set.KeepEdges(kept); err != nil {
		return nil, err
	}
	sets := t.Evaluations
	t.Evaluations = nil
	for _, e := range sets {
		own := *e
		if own.Set, err = e.Set.KeepEdges(kept); err != nil {
			return nil, err
		}
		own.Instances = own.Set.Instances
		t.Evaluations = append(t.Evaluations, &own)
	}
	return found, nil
}

// stable returns the edges that so many random halves of the samples keep.
func (o *Options) stable(ctx context.Context, b *local.Bonds, halves int, found *EdgeSelection) (kept []int32,
	err error) {
	count, data, total := make([]int, found.Of), b.Data, b.Total
	for h := range halves {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(h)))
		b.Data = nil
		for _, in := range data {
			spec := in.Spec()
			spec.Labels = slices.Clone(spec.Labels)
			rng.Shuffle(len(spec.Labels), func(i, j int) {
				spec.Labels[i], spec.Labels[j] = spec.Labels[j], spec.Labels[i]
			})
			spec.Labels = spec.Labels[:(len(spec.Labels)+1)/2]
			half, err := crf.NewInstance(in.Schema(), spec)
			if err != nil {
				return nil, err
			}
			b.Data = append(b.Data, half)
		}
		b.Total = sampleCount(b.Data)
		b.L2 = o.l2(b.Total)
		chosen, err := b.Choose(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range chosen.Edges {
			count[e]++
		}
		found.Penalty += chosen.Penalty / float64(halves)
		found.Violation = max(found.Violation, chosen.Violation)
	}
	b.Data, b.Total = data, total
	for e, n := range count {
		if float64(n) >= stableShare*float64(halves) {
			kept = append(kept, int32(e))
		}
	}
	return kept, nil
}

// note warns of what a choice of edges does to what is said of them.
func (s *EdgeSelection) note() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d edges stay, chosen by the same samples that their couplings are learned from: standard "+
		"errors, which take the edges as given, are too small", s.Kept, s.Of)
}
