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

// hopMeans replaces features by means: by that over a node and its neighbours, as many times as there are hops. Nodes
// whose features are not known have no share. With S for the means over a node and its neighbours, the features X
// become S^hops X / S^hops known, row by row: a feature that is one for all known nodes stays one, to the last bit.
//
// Sparse features stay sparse, and dense ones dense. Sums run in the order of a node's edges.
type hopMeans struct {
	Context context.Context
	Graph   *graph.Graph
	Known   []bool // [node] its features are known; nil: those of all are
	Hops    int
	Memory  int64 // as Options.Memory
}

// Of returns the means of features, and which nodes have any; nil: all.
func (s *hopMeans) Of(f *crf.Features) (means crf.Features, reached []bool, err error) {
	weight, err := s.weights()
	if err != nil {
		return means, nil, err
	}
	for _, w := range weight {
		reached = append(reached, w > 0)
	}
	m := f.Data()
	if m.Dim == 0 {
		return *f, reached, nil
	}
	for hop := range s.Hops {
		last := hop == s.Hops-1
		if m, err = s.hop(m, map[bool][]float64{true: weight}[last]); err != nil {
			return means, nil, err
		}
	}
	if m.Start == nil {
		means, err = crf.Dense(m.Double, m.Dim)
	} else {
		means, err = crf.Sparse(m.Start, m.Column, m.Value, m.Dim)
	}
	return means, reached, err
}

// hop returns the means of rows over nodes and their neighbours, of known features if their weights are given.
func (s *hopMeans) hop(m *crf.FeatureData, weight []float64) (*crf.FeatureData, error) {
	next := &crf.FeatureData{Rows: m.Rows, Dim: m.Dim}
	if m.Start != nil {
		next.Start, next.Column, next.Value = make([]int, 1, m.Rows+1), []int32{}, []float64{}
	} else {
		next.Double = make([]float64, 0, len(m.Double))
	}
	sums, seen, all := make([]float64, m.Dim), make([]bool, m.Dim), numbersTo(m.Dim)
	var touched []int32
	add := func(j int) {
		columns, values := all, []float64(nil)
		if m.Start == nil {
			values = m.Double[j*m.Dim:][:m.Dim]
		} else if columns = m.Column[m.Start[j]:m.Start[j+1]]; m.Value != nil {
			values = m.Value[m.Start[j]:m.Start[j+1]]
		}
		for i, c := range columns {
			v := 1.0
			if values != nil {
				v = values[i]
			}
			if sums[c] += v; !seen[c] {
				seen[c] = true
				touched = append(touched, c)
			}
		}
	}
	const together = 256 // nodes, which take little time
	for i := range s.Graph.NumNodes() {
		if i%together == 0 {
			if err := cmp.Or(parallel.Ended(s.Context), s.allow(next)); err != nil {
				return nil, err
			}
		}
		touched = touched[:0]
		add(i)
		for _, d := range s.Graph.Incoming(int32(i)) {
			add(int(s.Graph.Source(d)))
		}
		slices.Sort(touched)
		for _, c := range touched {
			x := sums[c] / float64(1+s.Graph.Degree(int32(i)))
			if weight != nil && weight[i] != 0 {
				x /= weight[i]
			}
			if sums[c], seen[c] = 0, false; m.Start == nil {
				next.Double = append(next.Double, x)
			} else {
				next.Column, next.Value = append(next.Column, c), append(next.Value, x)
			}
		}
		if m.Start != nil {
			next.Start = append(next.Start, len(next.Column))
		}
	}
	return next, s.allow(next)
}

// allow refuses means in the making that take too much memory, beside those of the hop before, and with room to grow.
func (s *hopMeans) allow(next *crf.FeatureData) error {
	const number, entry, copies = 8, 12, 3
	return memory.Check(fmt.Sprintf("means of features over %d hops", s.Hops),
		float64(copies*(number*cap(next.Double)+entry*len(next.Column))), s.Memory)
}

// weights are S^hops known; nil where all are ones.
func (s *hopMeans) weights() (weights []float64, err error) {
	if s.Known == nil {
		return nil, nil
	}
	x := &crf.FeatureData{Rows: len(s.Known), Dim: 1, Double: make([]float64, len(s.Known))}
	for i, known := range s.Known {
		if known {
			x.Double[i] = 1
		}
	}
	for range s.Hops {
		if x, err = s.hop(x, nil); err != nil {
			return nil, err
		}
	}
	return x.Double, nil
}

// mostHops bounds Options.Hops: means over so many hardly tell apart the nodes of a connected part.
const mostHops = 16

// hops is over how many of them features are means.
func (o *Options) hops() int {
	if o.Recipe != nil {
		return o.Recipe.Hops
	}
	return o.Hops
}

// givenFeatures are those of a table's nodes.
type givenFeatures struct {
	features crf.Features
	known    []bool // [node] nil: those of all are
}

// averaged returns means of features over neighbourhoods, with so much memory as Options.Memory has it.
func (f *givenFeatures) averaged(ctx context.Context, of *graph.Graph, hops int, allowed int64) (givenFeatures, error) {
	s := hopMeans{Context: ctx, Graph: of, Known: f.known, Hops: hops, Memory: allowed}
	means, reached, err := s.Of(&f.features)
	return givenFeatures{means, reached}, err
}

// complete adds the columns for the bias, and for features that are not known, to those of a plain table.
func (f *givenFeatures) complete(r *Recipe) (crf.Features, error) {
	if r.Sheets != nil {
		return f.features, nil
	}
	m := f.features.Data()
	var rows sparseRows
	var row []sparseValue
	for i := range m.Rows {
		row = row[:0]
		for at := m.Start[i]; at < m.Start[i+1]; at++ {
			x := sparseValue{m.Column[at], 1}
			if m.Value != nil {
				x.value = m.Value[at]
			}
			row = append(row, x)
		}
		if r.Missing && !f.known[i] {
			row = append(row, sparseValue{int32(r.FeatureDim + 1), 1})
		} else if r.Bias {
			row = append(row, sparseValue{int32(r.FeatureDim), 1})
		}
		rows.add(row)
	}
	return rows.features(r.nodeDim())
}

// smooth replaces the features of a graph's nodes by means, where that is asked for.
func (l *tableLoader) smooth(g *tableGraph) {
	hops := l.o.hops()
	if hops == 0 || g.given.features.Dim() == 0 {
		return
	}
	means, err := g.given.averaged(l.ctx, g.topology, hops, l.o.Memory)
	if err != nil {
		l.fail(ofFile(g.nodes.file, err))
		return
	}
	if without := count(g.given.known, false); without > 0 {
		l.warn("%s: the features of %d nodes are not known; means over %d hops leave %d of them without", g.nodes.file,
			without, hops, count(means.known, false))
	}
	g.given = means
}

func count(list []bool, value bool) (n int) {
	for _, x := range list {
		if x == value {
			n++
		}
	}
	return n
}

// CanAverage reports whether Averaged serves: graph tables that were read with hops of 0, whose
// nodes have features, and a bias where the features of some are not known.
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
	own, means := *s, make([]givenFeatures, len(s.Instances))
	own.given, own.Instances = nil, make([]*crf.Instance, len(s.Instances))
	own.Recipe.Hops, own.Recipe.Missing = hops, false
	for i, in := range s.Instances {
		var err error
		if means[i], err = s.given[i].averaged(ctx, in.Graph, hops, allowed); err != nil {
			return nil, err
		}
		own.Recipe.Missing = own.Recipe.Missing || count(means[i].known, false) > 0
	}
	own.Schema.NodeTypes = slices.Clone(s.Schema.NodeTypes)
	if t := &own.Schema.NodeTypes[0]; s.Recipe.Missing && !own.Recipe.Missing {
		t.Features, t.FeatureNames = t.Features-1, t.FeatureNames[:len(t.FeatureNames)-1]
	}
	for i, in := range s.Instances {
		spec := in.Spec()
		var err error
		if spec.NodeFeat[0], err = means[i].complete(&own.Recipe); err == nil {
			own.Instances[i], err = crf.NewInstance(&own.Schema, spec)
		}
		if err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return &own, nil
}
