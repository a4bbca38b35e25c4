package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/memory"
)

// CanAverage reports whether Averaged serves: graph tables that were read with hops of 0, whose
// nodes have features, and a bias where the features of some are not known.
func (s *Set) CanAverage() bool {
	r := &s.Recipe
	return r.Kind == KindGraph && r.Hops == 0 && r.FeatureDim > 0 && r.Bias
}

// Averaged returns the set as it is read with Options.Hops, and leaves this one as it is. memory
// is as in Options, and what the means would take beyond it is a *memory.Error.
func (s *Set) Averaged(ctx context.Context, hops int, allowed int64) (*Set, error) {
	if !s.CanAverage() {
		return nil, errors.New("dataset: means over neighbourhoods are for graph tables whose nodes have features and a bias")
	}
	own := *s
	own.Instances = make([]*crf.Instance, len(s.Instances))
	own.Recipe.Hops, own.Recipe.Missing = hops, false
	features, reached := make([]crf.Features, len(s.Instances)), make([][]bool, len(s.Instances))
	for i, in := range s.Instances {
		var err error
		if features[i], reached[i], err = s.average(ctx, in, hops, allowed); err != nil {
			return nil, err
		}
		own.Recipe.Missing = own.Recipe.Missing || count(reached[i], false) > 0
	}
	own.Schema.NodeTypes = append([]crf.NodeType(nil), s.Schema.NodeTypes...)
	if t := &own.Schema.NodeTypes[0]; s.Recipe.Missing && !own.Recipe.Missing {
		t.Features, t.FeatureNames = t.Features-1, t.FeatureNames[:len(t.FeatureNames)-1]
	}
	for i, in := range s.Instances {
		spec := in.Spec()
		spec.NodeFeat[0] = features[i]
		if s.Recipe.Missing {
			dim := own.Schema.NodeTypes[0].Features
			spec.NodeFeat[0] = mustSparse(withOnes(features[i].Data(), dim, func(r int) int32 {
				if reached[i][r] {
					return -1
				}
				return int32(dim - 1)
			}))
		}
		var err error
		if own.Instances[i], err = crf.NewInstance(&own.Schema, spec); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return &own, nil
}

// average makes the means of one graph's features, of which the bias is one.
func (s *Set) average(ctx context.Context, in *crf.Instance, hops int, allowed int64) (crf.Features, []bool, error) {
	features, known := *in.NodeFeatures(0), []bool(nil)
	if s.Recipe.Missing {
		features, known = withoutMissing(&features, s.Recipe.FeatureDim)
	}
	of := hopMeans{Context: ctx, Graph: in.Graph, Known: known, Hops: hops}
	if err := memory.Check(fmt.Sprintf("means of features over %d hops", hops), of.Bytes(&features), allowed); err != nil {
		return crf.Features{}, nil, err
	}
	return of.Of(&features)
}

// withoutMissing empties the sparse rows of nodes whose features are not known: those without
// a bias, whose column is that of the number given.
func withoutMissing(f *crf.Features, bias int) (crf.Features, []bool) {
	m := f.Data()
	known := make([]bool, m.Rows)
	start, column, value := []int{0}, make([]int32, 0, len(m.Column)), []float64(nil)
	if m.Value != nil {
		value = make([]float64, 0, len(m.Value))
	}
	for r := range known {
		from, to := m.Start[r], m.Start[r+1]
		for _, c := range m.Column[from:to] {
			known[r] = known[r] || int(c) == bias
		}
		if known[r] {
			column = append(column, m.Column[from:to]...)
			if m.Value != nil {
				value = append(value, m.Value[from:to]...)
			}
		}
		start = append(start, len(column))
	}
	return mustSparse(crf.Sparse(start, column, value, m.Dim)), known
}

func mustSparse(f crf.Features, err error) crf.Features {
	if err != nil {
		panic("dataset: " + err.Error()) // rows of a matrix are one again
	}
	return f
}
