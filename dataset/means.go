package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/memory"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/parallel"
)

// averaged replaces features by means: by that over a node and its neighbours, as many times as there are hops. A
// feature that is one for all nodes stays one, to the last bit. Sparse features stay sparse, and dense ones dense. Sums
// run in the order of a node's edges. known says that nodes have a bias, the last feature, where theirs are known: the
// means are over these. allowed is as Options.Memory.
func averaged(ctx context.Context, f *crf.Features, of *graph.Graph, hops int, known bool,
	allowed int64) (crf.Features, error) {
	m := f.Data()
	if m.Dim == 0 || hops == 0 {
		return *f, nil
	}
	dense := m.Start == nil // and so are means, all entries of which are in their sparse form
	for range hops {
		next := &crf.FeatureData{Rows: m.Rows, Dim: m.Dim, Start: make([]int, 1, m.Rows+1), Column: []int32{},
			Value: []float64{}}
		if err := hop(m, next, of, func() error {
			const entry, copies = 12, 3 // beside the means of the hop before, and with room to grow
			return cmp.Or(parallel.Ended(ctx), memory.Check(fmt.Sprintf("means of features over %d hops", hops),
				float64(copies*entry*len(next.Column)), allowed))
		}); err != nil {
			return crf.Features{}, err
		}
		m = next
	}
	if known {
		m = amongKnown(m)
	}
	if dense {
		return crf.Dense(m.Value, m.Dim)
	}
	return crf.Sparse(m.Start, m.Column, m.Value, m.Dim)
}

// amongKnown divides sparse means by the share of known nodes in them, which is the mean of their bias. Where there is
// any, the feature before the bias, which says that nothing is known, goes.
func amongKnown(m *crf.FeatureData) *crf.FeatureData {
	among := &crf.FeatureData{Rows: m.Rows, Dim: m.Dim, Start: make([]int, 1, m.Rows+1)}
	unknown, bias := int32(m.Dim-2), int32(m.Dim-1)
	for i := range m.Rows {
		columns, values := m.Column[m.Start[i]:m.Start[i+1]], m.Value[m.Start[i]:m.Start[i+1]]
		share, reached := 1.0, len(columns) > 0 && columns[len(columns)-1] == bias
		if reached {
			share = values[len(values)-1]
		}
		for j, c := range columns {
			if !(reached && c == unknown) {
				among.Column, among.Value = append(among.Column, c), append(among.Value, values[j]/share)
			}
		}
		among.Start = append(among.Start, len(among.Column))
	}
	return among
}

// hop adds the means of rows over nodes and their neighbours to next, as long as allow has no error.
func hop(m, next *crf.FeatureData, of *graph.Graph, allow func() error) error {
	sums, seen := make([]float64, m.Dim), make([]bool, m.Dim)
	var touched []int32
	var scratch []float64
	add := func(j int) {
		row := m.Entries(j, &scratch)
		for i := range row.N {
			c, v := row.At(i)
			if sums[c] += v; !seen[c] {
				seen[c] = true
				touched = append(touched, int32(c))
			}
		}
	}
	const together = 256 // nodes, which take little time
	for i := range of.NumNodes() {
		if i%together == 0 {
			if err := allow(); err != nil {
				return err
			}
		}
		touched = touched[:0]
		add(i)
		for _, d := range of.Incoming(int32(i)) {
			add(int(of.Source(d)))
		}
		slices.Sort(touched)
		for _, c := range touched {
			next.Column, next.Value = append(next.Column, c), append(next.Value, sums[c]/float64(1+of.Degree(int32(i))))
			sums[c], seen[c] = 0, false
		}
		next.Start = append(next.Start, len(next.Column))
	}
	return allow()
}

// mostHops bounds Options.Hops: means over so many hardly tell apart the nodes of a connected part.
const mostHops = 16

// CanAverage reports whether Averaged serves: graph tables, read with hops of 0, whose nodes have features and a bias.
func (s *Set) CanAverage() bool {
	r := &s.Recipe
	return len(s.given) > 0 && r.Hops == 0 && r.FeatureDim > 0 && r.Bias
}

// Averaged returns the set as it is read with Options.Hops, and leaves this one as it is. memory
// is as in Options, and what the means would take beyond it is a *memory.Error.
func (s *Set) Averaged(ctx context.Context, hops int, allowed int64) (*Set, error) {
	if !s.CanAverage() {
		return nil, errors.New("dataset: means over neighbourhoods are for graph tables whose nodes have features and a bias")
	}
	return s.averaged(ctx, hops, allowed)
}

func (s *Set) averaged(ctx context.Context, hops int, allowed int64) (*Set, error) {
	own, known := *s, s.Recipe.Bias && onlyList(s.Recipe.Sheets.Nodes)
	own.given, own.Instances, own.Recipe.Hops = nil, make([]*crf.Instance, len(s.Instances)), hops
	for i, in := range s.Instances {
		means, err := averaged(ctx, &s.given[i], in.Graph, hops, known, allowed)
		if err != nil {
			return nil, err
		}
		spec := in.Spec()
		spec.NodeFeat[0] = means
		if own.Instances[i], err = crf.NewInstance(&own.Schema, spec); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return &own, nil
}
