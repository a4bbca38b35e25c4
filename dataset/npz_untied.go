package dataset

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
)

// untie leaves out types of edges, which are those of their ends, of networks whose nodes and edges all have weights of
// their own. Nodes of samples have the types of columns.
func (l *npzLoader) untie() {
	if !l.o.readsSamples() {
		return
	}
	for _, in := range l.instances {
		in.edges.types = nil
		if r := l.o.Recipe; r == nil || in.nodes.types != nil || len(r.Columns) != in.nodes.count {
			continue
		}
		in.nodes.types = numeric.Map(l.o.Recipe.Columns, func(c sampleColumn) int32 { return int32(c.Type) })
	}
}

// checkStructure checks that untied weights belong to the networks, and leaves the edges that have some.
func (l *npzLoader) checkStructure() {
	r, where := &l.set.Recipe, "those the model was trained on"
	if l.o.Schema == nil && r.Untied {
		r.Structure, where = structureOf(l.instances[0], &l.set.Schema), "those of "+l.instances[0].File
	}
	for _, in := range l.instances {
		if !r.Untied || structureOf(in, &l.set.Schema) == r.Structure {
			l.keepEdges(in)
			continue
		}
		remedy := "untied weights belong to one graph; train tied weights for several"
		if in.samples != nil {
			remedy = "name the table of edges of the training behind the samples, or give its {lattice}"
		}
		l.at(in, edgesArray, remedy, "its edges or numbers of states are not %s", where)
	}
}

// keepEdges leaves those that the recipe keeps, if it does not keep all.
func (l *npzLoader) keepEdges(in *npzInstance) {
	kept := l.set.Recipe.KeptEdges
	if n := len(kept); n > 0 && int(kept[n-1]) >= in.edges.count {
		l.at(in, edgesArray, "", "there are %d edges, and the model keeps edges up to %d", in.edges.count, kept[n-1])
	} else if n > 0 {
		if in.spec.Graph, in.edges.count = l.fewer.some(in.spec.Graph, kept), n; in.statistics != nil {
			l.warn("the initial model has weights of %d of %d edges: means of others are left out", n, len(in.statistics.edges))
			in.statistics.edges = formats.Take(in.statistics.edges, kept)
		}
	}
}

// some is the graph with some of its edges.
func (c *graphCache) some(g *graph.Graph, kept []int32) *graph.Graph {
	var ends []int32
	for _, e := range kept {
		ends = append(ends, g.U(e), g.V(e))
	}
	g, _ = c.get(g.NumNodes(), ends) // some edges of a graph make a graph
	return g
}

// KeepEdges returns the set with some of the edges of its untied networks, in ascending order, and no others: types
// have so many copies less, and those without edges are left out. The recipe keeps these of new data, too.
func (s *Set) KeepEdges(kept []int32) (*Set, error) {
	less, graphs := *s, graphCache{}
	less.Recipe.KeptEdges, less.Instances, less.Schema.EdgeTypes = kept, nil, nil
	var features []crf.Features
	types := make([]int32, len(kept)) // of the edges
	for b, t := range s.Schema.EdgeTypes {
		t.Copies = 0
		for i, e := range kept {
			if s.Instances[0].EdgeType(e) == b {
				types[i] = int32(len(features))
				t.Copies++
			}
		}
		if t.Copies > 0 {
			less.Schema.EdgeTypes, features = append(less.Schema.EdgeTypes, t), append(features, crf.Constant(t.Copies, 1))
		}
	}
	for _, in := range s.Instances {
		spec := in.Spec()
		spec.Graph, spec.EdgeType, spec.EdgeFeat = graphs.some(in.Graph, kept), types, features
		in, err := crf.NewInstance(&less.Schema, spec)
		if err != nil {
			return nil, err
		}
		less.Instances = append(less.Instances, in)
	}
	return &less, nil
}

// structureOf hashes what the weights of an untied model belong to. Which end of a symmetric
// edge comes first is no part of it.
func structureOf(in *npzInstance, s *crf.Schema) string {
	cards := make([]int32, in.nodes.count)
	for n := range cards {
		cards[n] = int32(s.NodeStates(in.nodes.typeOf(n)))
	}
	u, v := in.spec.Graph.Ends()
	if slices.ContainsFunc(s.EdgeTypes, func(t crf.EdgeType) bool { return t.Symmetric }) {
		u, v = slices.Clone(u), slices.Clone(v)
		for e := range u {
			if cards[u[e]] == cards[v[e]] {
				u[e], v[e] = min(u[e], v[e]), max(u[e], v[e])
			}
		}
	}
	return hashOf([]int32{int32(in.nodes.count)}, cards, u, v)
}
