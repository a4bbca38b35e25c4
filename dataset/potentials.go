package dataset

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/mrf"
)

var potentialsArrays = arrayRules{
	{name: edgesArray}, {name: statesArray}, {name: thetaArray, float: true}, {name: edgeThetaArray, float: true},
	{name: constantArray, float: true},
}

// readPotentialsFile reads the arrays that ReadNetwork describes.
func readPotentialsFile(path string, allowed int64) (*mrf.Pairwise, error) {
	file, size, err := infile.Open(path, "arrays in npz format")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readPotentials(filepath.ToSlash(path), file, size, memory.NewBudget(allowed))
}

func readPotentials(path string, r io.ReaderAt, size int64, budget *memory.Budget) (*mrf.Pairwise, error) {
	c, list := readArchive(path, r, size, potentialsArrays, budget)
	f := &potentialsFile{path: path, c: c, p: &mrf.Pairwise{NodeAt: []int{0}, EdgeAt: []int{0}}}
	if len(list) > 0 {
		if c != nil && c.arrays[thetaArray].shape == nil && c.arrays[edgeThetaArray].shape == nil {
			return nil, f.fail("", "it holds no potentials (%s, %s); an instance is a network only together with a model",
				thetaArray, edgeThetaArray)
		}
		return nil, list[0]
	}
	for _, read := range []func() error{f.readStates, f.readNodes, f.readGraph, f.readEdges, f.readConstant} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return f.p, nil
}

// potentialsFile is a file of potentials on its way to a network.
type potentialsFile struct {
	path string
	c    *npzContents
	p    *mrf.Pairwise
	k    int // largest number of states
}

func (f *potentialsFile) fail(place, format string, arguments ...any) error {
	return &Error{File: f.path, Place: place, Problem: fmt.Sprintf(format, arguments...)}
}

// readStates finds out the number of nodes, and of the states of each.
func (f *potentialsFile) readStates() error {
	theta, ok := f.c.arrays[thetaArray]
	if !ok {
		return f.fail(thetaArray, "the array is missing: want log potentials [nodes, states]")
	}
	if len(theta.shape) != 2 || theta.shape[0] < 1 || theta.shape[1] < 1 {
		return f.fail(thetaArray, "shape is %s, want [nodes, states] with at least one of each", shapeText(theta.shape))
	}
	n := theta.shape[0]
	f.k = theta.shape[1]
	f.p.Card = make([]int32, n)
	states, given := f.c.arrays[statesArray]
	if given && !slices.Equal(states.shape, []int{n}) && len(states.shape) > 0 {
		return f.fail(statesArray, "shape is %s, want [%d], a number for each row of theta", shapeText(states.shape), n)
	}
	cards := states.ints
	if !given {
		cards = []int32{int32(f.k)}
	}
	for s := range f.p.Card {
		f.p.Card[s] = cards[min(s, len(cards)-1)]
		if f.p.Card[s] < 1 || int(f.p.Card[s]) > f.k {
			return f.fail(fmt.Sprintf("%s[%d]", statesArray, s), "it is %d, want 1 to %d, the columns of theta", f.p.Card[s],
				f.k)
		}
	}
	return nil
}

// potential returns an element of an array, which must be a finite number or −Inf.
func (f *potentialsFile) potential(name string, m *array, at int) (float64, error) {
	x := m.at(at)
	if math.IsNaN(x) || math.IsInf(x, 1) {
		return 0, f.fail(name+indexText(m.shape, at), "potential is %v, want a finite number or -inf", x)
	}
	return x, nil
}

func (f *potentialsFile) readNodes() error {
	theta := f.c.arrays[thetaArray]
	for s, card := range f.p.Card {
		for i := range int(card) {
			x, err := f.potential(thetaArray, &theta, s*f.k+i)
			if err != nil {
				return err
			}
			f.p.Node = append(f.p.Node, x)
		}
		f.p.NodeAt = append(f.p.NodeAt, len(f.p.Node))
	}
	return nil
}

func (f *potentialsFile) readGraph() error {
	edges := f.c.arrays[edgesArray] // none: no edges
	if edges.shape != nil && (len(edges.shape) != 2 || edges.shape[1] != 2) {
		return f.fail(edgesArray, "shape is %s, want [edges, 2]", shapeText(edges.shape))
	}
	u, v := make([]int32, len(edges.ints)/2), make([]int32, len(edges.ints)/2)
	for e := range u {
		u[e], v[e] = edges.ints[2*e], edges.ints[2*e+1]
	}
	g, err := graph.FromEdges(len(f.p.Card), u, v)
	if err != nil {
		return &Error{File: f.path, Problem: err.Error(), Cause: err}
	}
	f.p.Graph = g
	return nil
}

func (f *potentialsFile) readEdges() error {
	m, k := f.p.Graph.NumEdges(), f.k
	theta, ok := f.c.arrays[edgeThetaArray]
	shared := slices.Equal(theta.shape, []int{k, k})
	switch {
	case !ok && m == 0:
		return nil
	case !ok:
		return f.fail(edgeThetaArray, "the array is missing: want log potentials [%d, %d, %d] of the edges, or [%d, %d] "+
			"for all alike", m, k, k, k, k)
	case !shared && !slices.Equal(theta.shape, []int{m, k, k}):
		return f.fail(edgeThetaArray, "shape is %s, want [%d, %d, %d], or [%d, %d] for all edges alike",
			shapeText(theta.shape), m, k, k, k, k)
	}
	if err := f.makeRoom(); err != nil {
		return err
	}
	for e := range int32(m) {
		table := int(e) * k * k
		if shared {
			table = 0
		}
		for i := range int(f.p.Card[f.p.Graph.U(e)]) {
			for j := range int(f.p.Card[f.p.Graph.V(e)]) {
				x, err := f.potential(edgeThetaArray, &theta, table+i*k+j)
				if err != nil {
					return err
				}
				f.p.Edge = append(f.p.Edge, x)
			}
		}
		f.p.EdgeAt = append(f.p.EdgeAt, len(f.p.Edge))
	}
	return nil
}

// makeRoom asks for the memory of the tables of all edges: one for all alike is copied.
func (f *potentialsFile) makeRoom() error {
	size := 0.0
	u, v := f.p.Graph.Ends()
	for e := range u {
		size += float64(f.p.Card[u[e]]) * float64(f.p.Card[v[e]])
	}
	const bytes = 8
	if err := f.c.budget.Take(fmt.Sprintf("the potentials of %d edges", len(u)), bytes*size); err != nil {
		return &Error{File: f.path, Place: edgeThetaArray, Problem: err.Error(), Cause: err}
	}
	f.p.Edge, f.p.EdgeAt = make([]float64, 0, int(size)), make([]int, 1, len(u)+1)
	return nil
}

func (f *potentialsFile) readConstant() error {
	constant, ok := f.c.arrays[constantArray]
	if !ok {
		return nil
	}
	if len(constant.shape) > 0 {
		return f.fail(constantArray, "shape is %s, want a single number", shapeText(constant.shape))
	}
	var err error
	f.p.Constant, err = f.potential(constantArray, &constant, 0)
	return err
}

// Names of the arrays of a file of potentials, beside edges and states.
const (
	thetaArray     = "theta"
	edgeThetaArray = "theta_uv"
	constantArray  = "constant"
)

// Arrays of more than freePadding bytes may be mostPadding times what is in them: one
// variable of a million states must not make a file of terabytes.
const (
	freePadding = 1 << 28
	mostPadding = 64
)

// writePotentials writes the arrays that ReadNetwork reads, with −Inf in the places
// beyond a node's states.
func writePotentials(path string, p *mrf.Pairwise) error {
	n, m, k := len(p.Card), p.Graph.NumEdges(), 0
	for _, card := range p.Card {
		k = max(k, int(card))
	}
	padded, held := 8*(float64(n)*float64(k)+float64(m)*float64(k)*float64(k)), 8*float64(len(p.Node)+len(p.Edge))
	// The table of one edge is in memory while it is written.
	large := m > 0 && memory.Check("", 8*float64(k)*float64(k), 0) != nil
	if large || padded > freePadding && padded > mostPadding*held {
		return &Error{File: path, Problem: fmt.Sprintf("arrays have room for the largest number of states, %d, "+
			"everywhere: they would take %s for potentials of %s", k, memory.Text(padded), memory.Text(held)),
			Remedy: "write a .uai file"}
	}
	nodeTable := func(row []float64, s int) { fillRow(row, p.Node[p.NodeAt[s]:p.NodeAt[s+1]]) }
	edgeTable := func(table []float64, e int) {
		fillRow(table, nil)
		columns := int(p.Card[p.Graph.V(int32(e))])
		for i := range int(p.Card[p.Graph.U(int32(e))]) {
			copy(table[i*k:], p.Edge[p.EdgeAt[e]+i*columns:][:columns])
		}
	}
	return npy.WriteArchive(path, npy.RowsOf(edgesArray, edgeOf(p.Graph), m, 2), npy.ArrayOf(statesArray, p.Card, n),
		npy.RowsOf(thetaArray, nodeTable, n, k), npy.RowsOf(edgeThetaArray, edgeTable, m, k, k),
		npy.ArrayOf(constantArray, []float64{p.Constant}))
}

func edgeOf(g *graph.Graph) func(ends []int32, e int) {
	return func(ends []int32, e int) { ends[0], ends[1] = g.U(int32(e)), g.V(int32(e)) }
}

// fillRow copies values and fills the rest with −Inf.
func fillRow(row, values []float64) {
	for i := copy(row, values); i < len(row); i++ {
		row[i] = math.Inf(-1)
	}
}
