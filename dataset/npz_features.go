package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// featureSide is what node features and edge features have in common: the
// arrays they come from and the types they belong to.
type featureSide struct {
	array string   // node_features or edge_features
	names []string // of the types
	dims  []int    // of the types' feature vectors, as far as the schema has them
	of    func(*npzInstance) *elements
}

// sides returns both sides of the schema; the edge types of every instance must be known.
func (l *npzLoader) sides() (nodes, edges *featureSide) {
	nodes, edges = &featureSide{array: nodeFeaturesArray, of: nodesOf}, &featureSide{array: edgeFeaturesArray, of: edgesOf}
	for _, t := range l.set.Schema.NodeTypes {
		nodes.names, nodes.dims = append(nodes.names, t.Name), append(nodes.dims, t.Features)
	}
	for _, t := range l.set.Schema.EdgeTypes {
		edges.names, edges.dims = append(edges.names, t.Name), append(edges.dims, t.Features)
	}
	return nodes, edges
}

// find returns the features of a type in an instance, and the name of their array; all says
// that it has the rows of all types.
func (s *featureSide) find(in *npzInstance, t int) (m array, name string, all, ok bool) {
	features := s.of(in).features
	if m, ok = features[""]; ok && m.ints != nil {
		return m, edgeBinsArray, true, true
	} else if ok {
		return m, s.array, true, true
	}
	m, ok = features[s.names[t]]
	return m, s.array + "." + s.names[t], false, ok
}

// checkFeatures reports arrays of unknown types and arrays whose rows are not the elements of their type.
func (l *npzLoader) checkFeatures() {
	nodes, edges := l.sides()
	for _, in := range l.instances {
		for _, s := range []*featureSide{nodes, edges} {
			e := s.of(in)
			counts := e.counts(len(s.names))
			for _, kind := range slices.Sorted(maps.Keys(e.features)) {
				t := slices.Index(s.names, kind)
				switch {
				case kind == "", len(l.problems) >= mostPerFile:
				case t < 0:
					l.at(in, s.array+"."+kind, suggestion(kind, s.names), "there is no type %q", kind)
				case e.features[kind].shape[0] != counts[t]:
					l.at(in, s.array+"."+kind, "", "it has %d rows, want %d, one for each element of the type",
						e.features[kind].shape[0], counts[t])
				}
			}
		}
	}
}

// dims returns the length of every type's feature vectors over the training data, 0 for types without features.
func (l *npzLoader) dims(s *featureSide) []int {
	dims := make([]int, len(s.names))
	first := make([]*npzInstance, len(s.names))
	for _, in := range l.instances {
		for t, rows := range s.of(in).counts(len(s.names)) {
			if rows == 0 {
				continue
			}
			m, name, _, ok := s.find(in, t)
			columns := 0
			if ok {
				columns = m.columns()
			}
			if first[t] == nil {
				first[t], dims[t] = in, columns
			}
			if columns != dims[t] {
				l.at(in, name, "every instance needs the same features", "it has %d columns, %s has %d", columns, first[t].path,
					dims[t])
				break
			}
		}
	}
	return dims
}

// features freezes the features of every type of one instance.
func (l *npzLoader) features(s *featureSide, in *npzInstance, form string) []crf.Features {
	e := s.of(in)
	counts := e.counts(len(s.names))
	frozen := make([]crf.Features, len(s.names))
	for t := range frozen {
		m, name, all, ok := s.find(in, t)
		switch {
		case form == FormConstant || counts[t] == 0 && form != FormBins:
			frozen[t] = crf.Constant(counts[t], s.dims[t])
			continue
		case !ok:
			frozen[t] = crf.Constant(counts[t], 0)
			continue
		}
		var types []int32 // of the rows of the array; nil: all of type t
		if all && len(s.names) > 1 && e.types != nil {
			types = e.types
			m = m.take(rowsOfType(types, t))
		}
		var err error
		if frozen[t], err = m.features(s.dims[t]); err != nil {
			l.valueError(in, name, err, types, t)
		}
		frozen[t].Data().Owner = m.owner
	}
	return frozen
}

// rowsOfType returns the rows of the elements of a type, in order.
func rowsOfType(types []int32, want int) (rows []int32) {
	for r, t := range types {
		if int(t) == want {
			rows = append(rows, int32(r))
		}
	}
	return rows
}

// valueError places a *crf.Error in the array of the file, of which the rows of one of the types were looked at.
func (l *npzLoader) valueError(in *npzInstance, array string, err error, types []int32, t int) {
	var value *crf.Error
	if !errors.As(err, &value) {
		l.at(in, array, "", "%v", err)
		return
	}
	value.Array = array
	if types != nil {
		value.Index[0] = int(rowsOfType(types, t)[value.Index[0]])
	}
	if array == edgeFeaturesArray || array == edgeBinsArray {
		value.Index[0] = in.row(value.Index[0])
	}
	place, _, _ := strings.Cut(value.Error(), ": ")
	l.at(in, place, "", "%s", value.Reason)
}

// binCounts returns the number of bins of every edge type in the training data:
// as dataset.json says, or one more than the largest bin.
func (l *npzLoader) binCounts() []int {
	largest := newTop()
	for i, in := range l.instances {
		for e, bin := range in.edges.features[""].ints {
			if bin < 0 || bin >= mostFeatures {
				l.at(in, fmt.Sprintf("%s[%d]", edgeBinsArray, in.row(e)), "", "is %d, want 0 to %d", bin, mostFeatures-1)
				break
			}
			largest.see(bin, i, 0, e)
		}
	}
	count := int(max(0, largest.largest)) + 1
	told := slices.Repeat([]int{l.manifest.EdgeBins}, len(l.set.Schema.EdgeTypes))
	for b, t := range l.manifest.EdgeTypes[:min(len(told), len(l.manifest.EdgeTypes))] {
		told[b] = cmp.Or(t.Bins, told[b])
	}
	if !slices.Contains(told, 0) {
		return told
	}
	if doubt := largest.doubt("bin", ""); doubt != "" {
		in := l.instances[largest.at[0]]
		at := Error{File: in.path, Place: fmt.Sprintf("%s[%d]", edgeBinsArray, in.row(largest.at[2]))}
		if !l.refuseFar(&largest, at, doubt, `give "edge_bins" in `+ManifestName) {
			l.warn("edges are taken to have %d bins: %s; give \"edge_bins\" in %s to be sure", count, doubt, ManifestName)
		}
	}
	for b := range told {
		told[b] = cmp.Or(told[b], count)
	}
	return told
}
