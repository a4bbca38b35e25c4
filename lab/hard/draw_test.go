package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/learn"
)

// Problem is a problem of the suite that was drawn.
type Problem struct {
	Spec
	Learn learn.Problem // from weights of zero
	flat  *flat
}

// Draw makes a problem by its number.
func Draw(number int) (*Problem, error) {
	p := &Problem{Spec: SpecOf(number)}
	d := drawing{Spec: &p.Spec, rng: source(number, 1)}
	err := d.make()
	if err == nil {
		p.Learn = d.problem
		p.flat, err = flatten(&p.Learn)
	}
	if err != nil {
		return nil, fmt.Errorf("hard problem %d: %w", number, err)
	}
	return p, nil
}

// drawing is a problem in the making.
type drawing struct {
	*Spec
	rng     *rand.Rand
	shared  *graph.Graph // of all instances
	problem learn.Problem
	truth   *crf.Model // what labels by model come from
	scales  [][]float64
}

func (d *drawing) make() (err error) {
	if d.shared, err = d.network(); err != nil {
		return err
	}
	if d.problem.Model, err = crf.NewModel(d.schema()); err != nil {
		return err
	}
	d.drawScales()
	for i := range d.Instances {
		in, err := d.instance(i)
		if err != nil {
			return err
		}
		d.problem.Data = append(d.problem.Data, in)
	}
	d.problem.L2 = d.L2
	d.problem.Counting, err = d.numbers()
	return err
}

// network draws the graph. Instances share it, as files of counting numbers need.
func (d *drawing) network() (*graph.Graph, error) {
	n := d.Nodes
	switch d.Graph {
	case "grid":
		rows, cols := d.shape()
		return graph.Grid(rows, cols, graph.GridOptions{})
	case "ba":
		return gen.BarabasiAlbert(n, 2, d.rng)
	case "tree":
		return gen.Tree(n, d.rng)
	case "complete":
		return gen.Complete(n)
	case "chain", "pair":
		return gen.Chain(n)
	case "disconnected": // nodes alone, too
		return gen.ErdosRenyi(n, 0.9/float64(n), d.rng)
	}
	var u, v []int32
	for s := int32(1); s < int32(n); s++ {
		if d.Graph == "star" {
			u, v = append(u, 0), append(v, s)
		} else {
			u, v = append(u, s-1), append(v, s)
		}
	}
	if d.Graph == "cycle" {
		u, v = append(u, 0), append(v, int32(n-1))
	}
	return graph.FromEdges(n, u, v)
}

// shape returns the sides of a grid of about so many nodes.
func (d *drawing) shape() (rows, cols int) {
	rows = max(2, int(math.Sqrt(float64(d.Nodes))))
	return rows, max(2, d.Nodes/rows)
}

// nodeDim is the number of features of nodes of type a, and edgeDim of edges.
func (d *drawing) nodeDim(a int) int {
	switch d.Features {
	case "none":
		return 0
	case "constant":
		return 1
	}
	return 3 + a
}

func (d *drawing) edgeDim(states int) int {
	switch {
	case d.Edges == "constant" || states > 40: // a few hundred weights are enough
		return 1
	case d.Edges == "binned":
		return 3
	}
	return 2
}

// schema has a type of edges for every pair of node types. State 0 and pairs with it
// are never forbidden, so that there are labels for any network.
func (d *drawing) schema() crf.Schema {
	var s crf.Schema
	copies := func(n int) int {
		if d.Untied {
			return n
		}
		return 0
	}
	for a, k := range d.States {
		t := crf.NodeType{Name: fmt.Sprint("t", a), States: crf.NumberedStates(k), Features: d.nodeDim(a),
			Copies: copies(d.shared.NumNodes())}
		if d.Masked && k > 2 {
			t.Forbidden = []int{1 + d.rng.IntN(k-1)}
		}
		s.NodeTypes = append(s.NodeTypes, t)
	}
	for a := range d.States {
		for b := a; b < len(d.States); b++ {
			k, l := d.States[a], d.States[b]
			t := crf.EdgeType{Name: fmt.Sprint("t", a, b), U: a, V: b, Features: d.edgeDim(k * l),
				Copies: copies(d.shared.NumEdges())}
			if d.Masked {
				for x := 1; x < k; x++ {
					for y := 1; y < l; y++ {
						if d.rng.Float64() < 0.2 {
							t.Forbidden = append(t.Forbidden, [2]int{x, y})
						}
					}
				}
			}
			s.EdgeTypes = append(s.EdgeTypes, t)
		}
	}
	return s
}

// drawScales draws the scale of every feature of nodes, then of edges, the same in all
// instances, and the weights behind labels by model, of potentials of a few nats.
func (d *drawing) drawScales() {
	m := d.problem.Model
	d.truth = m.Clone()
	draw := func(features int, scaled bool, span crf.Span) {
		scales := slices.Repeat([]float64{1}, features)
		for j := range scales {
			if scaled {
				scales[j] = math.Pow(10, -2+4*d.rng.Float64()) // 0.01 to 100
			}
		}
		d.scales = append(d.scales, scales)
		for i := range span.Len {
			d.truth.Weights[span.At+i] = 1.5 * d.rng.NormFloat64() / scales[i/span.States%features]
		}
	}
	for a, span := range m.Layout.Node {
		draw(m.Schema.NodeTypes[a].Features, d.Features == "scaled" || d.Features == "correlated and scaled", span)
	}
	for b, span := range m.Layout.Edge {
		draw(m.Schema.EdgeTypes[b].Features, d.Edges == "scaled", span)
	}
}

// features draws those of rows nodes or edges of one kind.
func (d *drawing) features(kind string, rows, dim int, scales []float64) (crf.Features, error) {
	if kind == "constant" || kind == "none" || dim == 1 {
		return crf.Constant(rows, dim), nil
	}
	if kind == "binned" {
		bins := make([]int32, rows)
		for r := range bins {
			bins[r] = int32(d.rng.IntN(dim))
		}
		return crf.Bins(bins, dim)
	}
	x := make([]float64, rows*dim)
	for r := range rows {
		common := d.rng.NormFloat64()
		for j := range dim {
			value := d.rng.NormFloat64()
			switch kind {
			case "correlated", "correlated and scaled": // 0.95
				value = math.Sqrt(0.95)*common + math.Sqrt(0.05)*value
			case "rare":
				value = 0
				if d.rng.Float64() < 0.5/float64(j+1) {
					value = 1
				}
			}
			if j == 0 && kind == "scaled" {
				value = 1 // a constant beside the others
			}
			x[r*dim+j] = value * scales[j]
		}
	}
	return crf.Dense(x, dim)
}

// instance draws features and labels of one instance.
func (d *drawing) instance(i int) (*crf.Instance, error) {
	m := d.problem.Model
	spec := crf.InstanceSpec{Name: fmt.Sprint(i), Graph: d.shared}
	if d.Graph == "grid" {
		spec.Rows, spec.Cols = d.shape()
	}
	nodes := make([]int, len(d.States))
	for range d.shared.NumNodes() {
		a := d.rng.IntN(len(d.States))
		spec.NodeType = append(spec.NodeType, int32(a))
		nodes[a]++
	}
	if err := d.orient(&spec); err != nil {
		return nil, err
	}
	edges := make([]int, len(m.Schema.EdgeTypes))
	for _, b := range spec.EdgeType {
		edges[b]++
	}
	for a, n := range nodes {
		f, err := d.features(d.Features, n, m.Schema.NodeTypes[a].Features, d.scales[a])
		if err != nil {
			return nil, err
		}
		spec.NodeFeat = append(spec.NodeFeat, f)
	}
	for b, n := range edges {
		f, err := d.features(d.Edges, n, m.Schema.EdgeTypes[b].Features, d.scales[len(nodes)+b])
		if err != nil {
			return nil, err
		}
		spec.EdgeFeat = append(spec.EdgeFeat, f)
	}
	in, err := crf.NewInstance(&m.Schema, spec)
	if err != nil {
		return nil, err
	}
	if spec.Labels, err = d.labels(in); err != nil {
		return nil, err
	}
	return crf.NewInstance(&m.Schema, spec)
}

// orient gives edges their types, with the end of the smaller type first.
func (d *drawing) orient(spec *crf.InstanceSpec) (err error) {
	u, v := spec.Graph.Ends()
	u, v = slices.Clone(u), slices.Clone(v)
	for e := range u {
		if spec.NodeType[u[e]] > spec.NodeType[v[e]] {
			u[e], v[e] = v[e], u[e]
		}
		for b, t := range d.problem.Model.Schema.EdgeTypes {
			if t.U == int(spec.NodeType[u[e]]) && t.V == int(spec.NodeType[v[e]]) {
				spec.EdgeType = append(spec.EdgeType, int32(b))
			}
		}
	}
	if len(d.States) > 1 {
		spec.Graph, err = graph.FromEdges(spec.Graph.NumNodes(), u, v)
	}
	return err
}

// gibbsSweeps is how long labels by model are drawn; they need not be exact draws.
const gibbsSweeps = 30

// labels draws the samples of an instance. Where states or pairs are forbidden all kinds
// of labels are drawn by Gibbs sampling, which keeps to what is allowed.
func (d *drawing) labels(in *crf.Instance) (all [][]int32, err error) {
	truth := d.truth.Clone()
	switch d.Labels {
	case "noise", "same", "regions":
		clear(truth.Weights)
	}
	u, err := newUnit(truth, in, counting.Convex(in.Graph), nil)
	if err != nil {
		return nil, err
	}
	theta := make([]float64, u.entries)
	u.potentials(theta, truth.Weights)
	n := len(u.nodes)
	for range d.Samples {
		x := make([]int, n) // indices of allowed states; the first is state 0
		sweeps := gibbsSweeps
		if d.Labels == "same" {
			sweeps = 0
		}
		for range sweeps {
			for s := range n {
				u.draw(d.rng, theta, x, s)
			}
		}
		labels := make([]int32, n)
		for s := range labels {
			if d.Labels == "regions" && !d.Masked {
				x[s] = min(len(u.nodes[s].states)-1, s*3/n)
			}
			labels[s] = u.nodes[s].states[x[s]]
		}
		for s := range labels {
			if d.rng.Float64() < d.Hidden {
				labels[s] = crf.Unobserved
			}
		}
		all = append(all, labels)
	}
	return all, nil
}

// draw draws the state of one node given the others.
func (u *unit) draw(rng *rand.Rand, theta []float64, x []int, s int) {
	n := &u.nodes[s]
	p := slices.Clone(theta[n.at : n.at+len(n.states)])
	for _, h := range n.in {
		e := &u.edges[h.edge]
		for i := range p {
			if e.u == s {
				p[i] += theta[e.at+i*len(u.nodes[e.v].states)+x[e.v]]
			} else {
				p[i] += theta[e.at+x[e.u]*len(n.states)+i]
			}
		}
	}
	softmax(p)
	r := rng.Float64()
	for i, v := range p {
		if r -= v; r < 0 {
			x[s] = i
			return
		}
	}
}

// numbers draws counting numbers. Given ones are convex, with different c for every node
// and edge, or bent: with negative c_s, which edges may pay for or not.
func (d *drawing) numbers() (counting.Func, error) {
	switch d.Counting {
	case "file", "bent file":
		g := d.shared
		node, edge := make([]float64, g.NumNodes()), make([]float64, g.NumEdges())
		for e := range edge {
			edge[e] = 0.3 + d.rng.Float64()
		}
		for s := range node {
			node[s] = 0.2 + 1.5*d.rng.Float64()
		}
		if d.Counting == "bent file" {
			u, v := g.Ends()
			bend := of(d.rng, []float64{0.7, 1}) // the first is often convex all the same
			for e, c := range edge {
				node[u[e]] -= bend * c
				node[v[e]] -= bend * c
			}
		}
		return counting.Given("file", node, edge), nil
	}
	return counting.Parse(context.Background(), d.Counting, uint64(d.Number))
}
