package crf

import (
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// Keeping returns the schema of in's network with some of its edges alone, in ascending order: untied types have so
// many copies less, and those that lose all of their edges are left out.
func (in *Instance) Keeping(kept []int32) Schema {
	s, count := Schema{NodeTypes: in.schema.NodeTypes}, make([]int, len(in.schema.EdgeTypes))
	for _, e := range kept {
		count[in.EdgeType(e)]++
	}
	for b, t := range in.schema.EdgeTypes {
		if t.Copies > 0 {
			t.Copies = count[b]
		}
		if count[b] > 0 {
			s.EdgeTypes = append(s.EdgeTypes, t)
		}
	}
	return s
}

// KeepEdges returns the instance with these edges alone, for a schema of Keeping. Edges have the constant feature.
func (in *Instance) KeepEdges(schema *Schema, kept []int32) (_ *Instance, err error) {
	spec, rows := in.Spec(), make([]int, len(schema.EdgeTypes))
	us, vs := make([]int32, len(kept)), make([]int32, len(kept))
	spec.EdgeType, spec.EdgeFeat = make([]int32, len(kept)), nil
	for i, e := range kept {
		us[i], vs[i] = in.Graph.U(e), in.Graph.V(e)
		name := in.schema.EdgeTypes[in.EdgeType(e)].Name
		b := slices.IndexFunc(schema.EdgeTypes, func(t EdgeType) bool { return t.Name == name })
		spec.EdgeType[i] = int32(b)
		rows[b]++
	}
	for b, t := range schema.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, Constant(rows[b], t.Features))
	}
	if spec.Graph, err = graph.FromEdges(in.Graph.NumNodes(), us, vs); err != nil {
		return nil, err
	}
	return NewInstance(schema, spec)
}
