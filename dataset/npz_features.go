package dataset

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// featureSide is what node features and edge features have in common: the
// arrays they come from and the types they belong to.
type featureSide struct {
	array string   // node_features or edge_features
	names []string // of the types
	of    func(*npzInstance) map[string]matrix
	count func(in *npzInstance) int // elements: nodes or edges
	types func(in *npzInstance) []int32
}

func (l *npzLoader) nodeSide(names []string) featureSide {
	return featureSide{
		array: nodeFeaturesArray, names: names,
		of:    func(in *npzInstance) map[string]matrix { return in.nodeFeatures },
		count: func(in *npzInstance) int { return in.nodes },
		types: func(in *npzInstance) []int32 { return in.nodeTypes },
	}
}

// edgeSide needs the edge types of every instance to be known.
func (l *npzLoader) edgeSide(names []string) featureSide {
	return featureSide{
		array: edgeFeaturesArray, names: names,
		of:    func(in *npzInstance) map[string]matrix { return in.edgeFeatures },
		count: func(in *npzInstance) int { return in.edges },
		types: func(in *npzInstance) []int32 { return in.edgeTypes },
	}
}

// counts returns the number of elements of every type.
func (s *featureSide) counts(in *npzInstance) []int {
	counts := make([]int, len(s.names))
	types := s.types(in)
	if types == nil && len(counts) > 0 {
		counts[0] = s.count(in)
	}
	for _, t := range types {
		counts[t]++
	}
	return counts
}

// array of the features of a type in an instance.
func (s *featureSide) find(in *npzInstance, t int) (m matrix, name string, ok bool) {
	if m, ok := s.of(in)[""]; ok {
		return m, s.array, true
	}
	m, ok = s.of(in)[s.names[t]]
	return m, s.array + "." + s.names[t], ok
}

// check reports arrays of unknown types and arrays whose rows are not the
// elements of their type.
func (l *npzLoader) checkFeatures(s *featureSide, in *npzInstance) {
	counts := s.counts(in)
	found := s.of(in)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		if kind == "" {
			continue
		}
		t := slices.Index(s.names, kind)
		m := found[kind]
		switch {
		case t < 0:
			l.at(in, s.array+"."+kind, suggestion(kind, s.names), "there is no type %q", kind)
		case m.rows() != counts[t]:
			l.at(in, s.array+"."+kind, "", "it has %d rows, want %d, one for each element of the type", m.rows(), counts[t])
		}
	}
}

// dims returns the length of every type's feature vectors over the training
// data, 0 for types without features.
func (l *npzLoader) dims(s *featureSide) []int {
	dims := make([]int, len(s.names))
	first := make([]*npzInstance, len(s.names))
	for _, in := range l.instances {
		for t, rows := range s.counts(in) {
			if rows == 0 {
				continue
			}
			m, name, ok := s.find(in, t)
			columns := 0
			if ok {
				columns = m.columns()
			}
			if first[t] == nil {
				first[t], dims[t] = in, columns
			}
			if columns != dims[t] {
				l.at(in, name, "every instance needs the same features", "it has %d columns, %s has %d", columns, first[t].path, dims[t])
				break
			}
		}
	}
	return dims
}

// features freezes the features of every type of one instance; dims are the
// lengths of the types' feature vectors.
func (l *npzLoader) features(s *featureSide, in *npzInstance, form string, dims []int) []crf.Features {
	counts := s.counts(in)
	frozen := make([]crf.Features, len(s.names))
	for t := range frozen {
		m, name, ok := s.find(in, t)
		switch {
		case form == FormConstant || counts[t] == 0:
			frozen[t] = crf.Constant(counts[t], dims[t])
			continue
		case !ok:
			frozen[t] = crf.Constant(counts[t], 0)
			continue
		}
		shared := name == s.array && len(s.names) > 1 && s.types(in) != nil
		if shared {
			m = m.selectRows(s.types(in), int32(t))
		}
		f, err := m.features()
		if err != nil {
			l.valueError(in, name, err, func(row int) int {
				if shared {
					return nthOf(s.types(in), int32(t), row)
				}
				return row
			})
			continue
		}
		frozen[t] = f
	}
	return frozen
}

// nthOf returns the index of the nth element of a type.
func nthOf(types []int32, want int32, n int) int {
	for i, t := range types {
		if t == want {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// valueError places a *crf.Error in the array of the file.
func (l *npzLoader) valueError(in *npzInstance, array string, err error, row func(int) int) {
	var value *crf.Error
	if !errors.As(err, &value) {
		l.at(in, array, "", "%v", err)
		return
	}
	place := fmt.Sprintf("%s[%d]", array, row(value.Index[0]))
	if len(value.Index) > 1 {
		place = fmt.Sprintf("%s[%d,%d]", array, row(value.Index[0]), value.Index[1])
	}
	l.at(in, place, "", "%s", value.Reason)
}

// binCounts returns the number of bins of every edge type in the training data:
// as dataset.json says, or one more than the largest bin.
func (l *npzLoader) binCounts(names []string) []int {
	largest := int32(0)
	for _, in := range l.instances {
		for e, bin := range in.edgeBins.data {
			if bin < 0 || bin >= mostFeatures {
				l.at(in, fmt.Sprintf("%s[%d]", edgeBinsArray, e), "", "is %d, want 0 to %d", bin, mostFeatures-1)
				break
			}
			largest = max(largest, bin)
		}
	}
	counts := make([]int, len(names))
	for b := range counts {
		counts[b] = int(largest) + 1
		if l.manifest.EdgeBins > 0 {
			counts[b] = l.manifest.EdgeBins
		}
		if b < len(l.manifest.EdgeTypes) && l.manifest.EdgeTypes[b].Bins > 0 {
			counts[b] = l.manifest.EdgeTypes[b].Bins
		}
	}
	return counts
}

// bins freezes edge_bins for every edge type of one instance.
func (l *npzLoader) bins(in *npzInstance) []crf.Features {
	edgeTypes := l.set.Schema.EdgeTypes
	frozen := make([]crf.Features, len(edgeTypes))
	for b, t := range edgeTypes {
		bins, all := in.edgeBins.data, in.edgeTypes == nil
		if !all {
			bins = selectInts(bins, in.edgeTypes, int32(b))
		} else if b > 0 {
			bins = nil
		}
		f, err := crf.Bins(bins, t.Features)
		if err != nil {
			l.valueError(in, edgeBinsArray, err, func(row int) int {
				if all {
					return row
				}
				return nthOf(in.edgeTypes, int32(b), row)
			})
			continue
		}
		frozen[b] = f
	}
	return frozen
}

func selectInts(values, types []int32, want int32) []int32 {
	var selected []int32
	for i, t := range types {
		if t == want {
			selected = append(selected, values[i])
		}
	}
	return selected
}
