package runstate

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/upsample"
)

// Digest is a sum over a sequence of numbers: another sequence has another one, but for a chance of 2⁻⁶⁴.
type Digest uint64

// add mixes in a number. Multiplication carries a change to higher bits only and the shift brings it down again, so
// that no two changes cancel by rule; the sum makes zeros count.
func (d *Digest) add(x uint64) {
	const odd = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio
	h := ((uint64(*d) + odd) ^ x) * odd
	*d = Digest(h ^ h>>32)
}

// AddFloats adds numbers by their bits.
func (d *Digest) AddFloats(x []float64) {
	for _, v := range x {
		d.add(math.Float64bits(v))
	}
}

func (d *Digest) addInts(x []int32) {
	for _, v := range x {
		d.add(uint64(uint32(v)))
	}
}

// String returns the digest as it is saved.
func (d Digest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// Of is that of data.
func Of(data []*crf.Instance) (d Digest) {
	graphs := map[*graph.Graph]Digest{}
	for _, in := range data {
		if _, ok := graphs[in.Graph]; !ok {
			graphs[in.Graph] = digestGraph(in.Graph)
		}
		d.add(uint64(graphs[in.Graph]))
		d.addInstance(in)
	}
	return d
}

func digestGraph(g *graph.Graph) (d Digest) {
	u, v := g.Ends()
	_, node, edge := g.Given()
	d.add(uint64(g.NumNodes()))
	for _, list := range [][]int32{u, v, node, edge} {
		d.addInts(list)
	}
	return d
}

func (d *Digest) addInstance(in *crf.Instance) {
	for s := range int32(in.Graph.NumNodes()) {
		d.add(uint64(in.NodeType(s)))
	}
	for e := range int32(in.Graph.NumEdges()) {
		d.add(uint64(in.EdgeType(e)))
	}
	for _, f := range instances.Features(in) {
		d.addFeatures(f)
	}
	d.addSchema(in.Schema())
	d.add(math.Float64bits(in.Weight()))
	d.add(uint64(len(in.Samples())))
	for _, labels := range in.Samples() {
		d.addInts(labels)
	}
	for i := range in.Samples() {
		if w := in.SampleWeight(i); w != 1 {
			d.add(uint64(i))
			d.add(math.Float64bits(w))
		}
	}
}

// addSchema adds what the schema forbids, and which types are symmetric.
func (d *Digest) addSchema(s *crf.Schema) {
	for a, t := range s.NodeTypes {
		for _, x := range t.Forbidden {
			d.addInts([]int32{int32(a), int32(x)})
		}
	}
	for b, t := range s.EdgeTypes {
		if t.Symmetric {
			d.add(uint64(b))
		}
		for _, x := range t.Forbidden {
			d.addInts([]int32{int32(b), int32(x[0]), int32(x[1])})
		}
	}
}

// addFeatures adds all entries: bins and sparse ones as they are kept, since a row can be much longer, and of a map
// that is upsampled its cells, which stand for the pixels.
func (d *Digest) addFeatures(f *crf.Features) {
	m, row := f.Data(), make([]float64, f.Dim())
	upsampled, isUpsampled := m.Computed.(*upsample.Map)
	switch {
	case m.Bins != nil && m.Book == nil:
		d.addInts(m.Bins)
	case m.Start != nil:
		d.addInts(m.Column)
		d.AddFloats(m.Value)
		for _, start := range m.Start {
			d.add(uint64(start))
		}
	case isUpsampled:
		var scratch []float32
		for cell := range int32(upsampled.NumCells()) {
			upsampled.Read(row, []int32{cell}, &scratch)
			d.AddFloats(row)
		}
	default:
		for r := range f.Rows() {
			f.Row(row, r)
			d.AddFloats(row)
		}
	}
}

// OfEach is a digest of things of which each is looked at once: many share them.
func OfEach[T any](things []*T, add func(*Digest, *T)) (d Digest) {
	known := map[*T]Digest{}
	for _, x := range things {
		one, ok := known[x]
		if !ok {
			add(&one, x)
			known[x] = one
		}
		d.add(uint64(one))
	}
	return d
}

// AddPartition adds the nodes of blocks.
func (d *Digest) AddPartition(p *partition.Partition) {
	for i := range p.Blocks {
		d.add(uint64(len(p.Blocks[i].Nodes)))
		d.addInts(p.Blocks[i].Nodes)
	}
}

// AddCounting adds counting numbers.
func (d *Digest) AddCounting(c *counting.Numbers) {
	d.AddFloats(c.Node)
	d.AddFloats(c.Edge)
}
