package crf

import (
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// Keeping returns the schema of in's network with some of its edges alone, in ascending order: untied types have so
// many copies less, and those that lose all of their edges are left out.
func (in *Instance) Keeping(kept []int32) Schema {
	s := Schema{NodeTypes: in.schema.NodeTypes}
	for b, t := range in.schema.EdgeTypes {
		n := 0
		for _, e := range kept {
			n += oneIf(in.EdgeType(e) == b)
		}
		if n == 0 {
			continue
		}
		if t.Copies > 0 {
			t.Copies = n
		}
		s.EdgeTypes = append(s.EdgeTypes, t)
	}
	return s
}

// KeepEdges returns the instance with these edges alone, for a schema of Keeping. Edges have the constant feature.
func (in *Instance) KeepEdges(schema *Schema, kept []int32) (*Instance, error) {
	spec := in.Spec()
	u, v := in.Graph.Ends()
	us, vs := make([]int32, len(kept)), make([]int32, len(kept))
	spec.EdgeType = make([]int32, len(kept))
	rows := make([]int, len(schema.EdgeTypes))
	for i, e := range kept {
		us[i], vs[i] = u[e], v[e]
		name := in.schema.EdgeTypes[in.EdgeType(e)].Name
		b := slices.IndexFunc(schema.EdgeTypes, func(t EdgeType) bool { return t.Name == name })
		spec.EdgeType[i] = int32(b)
		rows[b]++
	}
	spec.EdgeFeat = nil
	for b, t := range schema.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, Constant(rows[b], t.Features))
	}
	var err error
	if spec.Graph, err = graph.FromEdges(in.Graph.NumNodes(), us, vs); err != nil {
		return nil, err
	}
	return NewInstance(schema, spec)
}

func oneIf(x bool) int {
	if x {
		return 1
	}
	return 0
}
