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

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// networkFiles are what a network can be read from.
const networkFiles = "give one file, .uai, .bif, .fg, .wcsp, or .npz of log potentials; of data a model makes " +
	"networks in sample and convert (-m)"

// IsNetwork reports whether a file is most probably a network with explicit tables.
func IsNetwork(path string) bool {
	f := newPeek(path).best()
	return f != nil && f.kind == kindNetwork
}

// ReadNetwork reads a network with explicit tables: log potentials as arrays where
// the name ends in .npz, a .bif, .fg or .wcsp, else the UAI format, MARKOV or BAYES.
//
// The arrays are, with n nodes, m edges and k the largest number of states,
//
//	theta     [n, k] float        log potentials of nodes
//	theta_uv  [m, k, k] float     of edges, the first end's state first; [k, k]: all alike
//	edges     [m, 2] int          the ends of every edge
//	states    [n] int             the number of states of every node; left out: k
//	constant  [] float            what is added to every score; left out: 0
//
// Entries beyond a node's states are not looked at. Errors of the content are *Error.
func ReadNetwork(path string) (*mrf.Network, error) { return ReadNetworkWithin(path, 0) }

// ReadNetworkWithin is ReadNetwork with so many bytes of memory for the tables; 0 stands
// for four fifths of what the machine has available.
func ReadNetworkWithin(path string, allowed int64) (*mrf.Network, error) {
	if filepath.Ext(path) == ".npz" {
		p, err := readPotentialsFile(path, allowed)
		if err != nil {
			return nil, err
		}
		return p.Network(), nil
	}
	other := ""
	if isFolder(path) {
		other = "a folder"
	} else if f := newPeek(path).best(); f != nil && f.kind != kindNetwork && !atomicfile.IsOpen(path) {
		other = f.what
	}
	if other != "" {
		return nil, &Error{File: path, Problem: "it is " + other + ", where a network is wanted", Remedy: networkFiles}
	}
	n, err := uai.ReadFile(path)
	return n, located(err)
}

// ReadEvidence reads the states of observed variables of a network from a .uai.evid
// file: the state of each by its number. Several samples of them are an *Error.
func ReadEvidence(path string, n *mrf.Network) (map[int]int, error) {
	samples, err := uai.ReadEvidenceFile(path, n)
	switch {
	case err != nil:
		return nil, located(err)
	case len(samples) > 1:
		return nil, &Error{File: path, Problem: fmt.Sprintf("%d evidence samples, want at most one", len(samples))}
	case len(samples) == 0:
		return map[int]int{}, nil
	}
	return samples[0], nil
}

// WriteNetwork writes a network as ReadNetwork reads it, whole or not at all. Log
// values come back to the last bit. A network that the format cannot hold is an
// *Error.
func WriteNetwork(path string, n *mrf.Network) error {
	if filepath.Ext(path) == ".npz" {
		p, _, err := n.Pairwise()
		if err != nil {
			return &Error{File: path, Problem: err.Error(), Cause: err}
		}
		return writePotentials(path, p)
	}
	if err := uai.CheckWrite(n); err != nil {
		return &Error{File: path, Problem: err.Error(), Cause: err}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return uai.Write(w, n) })
}

var potentialsArrays = arrayRules{
	{name: thetaArray, float: true, shape: "[nodes, states]"}, {name: statesArray, shape: "[] or [nodes]"},
	{name: edgesArray, shape: "[edges, 2]"}, {name: constantArray, float: true, shape: "[]"},
	{name: edgeThetaArray, float: true, shape: "[edges, states, states] or [states, states]"},
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
			return nil, f.fail("", "it holds no potentials (%s, %s); an instance is a network only together with a "+
				"model, as blockbp convert DATA -m RUN makes them", thetaArray, edgeThetaArray)
		}
		return nil, list[0]
	}
	for _, read := range []func() error{f.checkShapes, f.readNodes, f.readEdges} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if constant, ok := c.arrays[constantArray]; ok {
		f.p.Constant = f.potential(constantArray, &constant, 0)
	}
	return f.p, f.wrong
}

// potentialsFile is a file of potentials on its way to a network.
type potentialsFile struct {
	path  string
	c     *npzContents
	p     *mrf.Pairwise
	k     int   // largest number of states
	wrong error // the first potential that is none
}

func (f *potentialsFile) fail(place, format string, arguments ...any) error {
	return &Error{File: f.path, Place: place, Problem: fmt.Sprintf(format, arguments...)}
}

func (f *potentialsFile) checkShapes() error {
	for _, rule := range potentialsArrays {
		a, given := f.c.arrays[rule.name]
		switch {
		case !given && rule.name == thetaArray:
			return f.fail(thetaArray, "the array is missing: want log potentials [nodes, states]")
		case given && (!rule.fits(a.shape) || rule.name == thetaArray && a.rows()*a.columns() == 0):
			return f.fail(rule.name, "shape is %s, want %s, with nodes and states", shapeText(a.shape), rule.shape)
		}
	}
	return nil
}

// potential returns an element of an array, which must be a finite number or −Inf.
func (f *potentialsFile) potential(name string, m *array, at int) float64 {
	x := m.at(at)
	if f.wrong == nil && (math.IsNaN(x) || math.IsInf(x, 1)) {
		f.wrong = f.fail(name+indexText(m.shape, at), "potential is %v, want a finite number or -inf", x)
	}
	return x
}

// readNodes finds out the number of nodes and of the states of each, and takes their potentials.
func (f *potentialsFile) readNodes() error {
	theta, states := f.c.arrays[thetaArray], f.c.arrays[statesArray]
	n := theta.rows()
	if f.k = theta.columns(); len(states.shape) > 0 && states.rows() != n {
		return f.fail(statesArray, "shape is %s, want [%d], a number for each row of theta", shapeText(states.shape), n)
	}
	if states.ints == nil {
		states.ints = []int32{int32(f.k)}
	}
	for s := range n {
		card := states.ints[min(s, len(states.ints)-1)]
		if card < 1 || int(card) > f.k {
			return f.fail(fmt.Sprintf("%s[%d]", statesArray, s), "it is %d, want 1 to %d, the columns of theta", card, f.k)
		}
		for i := range int(card) {
			f.p.Node = append(f.p.Node, f.potential(thetaArray, &theta, s*f.k+i))
		}
		f.p.Card, f.p.NodeAt = append(f.p.Card, card), append(f.p.NodeAt, len(f.p.Node))
	}
	return f.wrong
}

func (f *potentialsFile) readEdges() (err error) {
	edges := f.c.arrays[edgesArray].ints // none: no edges
	m, k := len(edges)/2, f.k
	u, v := make([]int32, m), make([]int32, m)
	for e := range u {
		u[e], v[e] = edges[2*e], edges[2*e+1]
	}
	if f.p.Graph, err = graph.FromEdges(len(f.p.Card), u, v); err != nil {
		return &Error{File: f.path, Problem: err.Error(), Cause: err}
	}
	theta, ok := f.c.arrays[edgeThetaArray]
	shared := len(theta.shape) == 2
	switch want := []int{m, k, k}; {
	case !ok && m == 0:
		return nil
	case !ok:
		return f.fail(edgeThetaArray, "the array is missing: want log potentials [%d, %d, %d] of the edges, or [%d, %d] "+
			"for all alike", m, k, k, k, k)
	case !slices.Equal(theta.shape, want[3-len(theta.shape):]):
		return f.fail(edgeThetaArray, "shape is %s, want [%d, %d, %d], or [%d, %d] for all edges alike",
			shapeText(theta.shape), m, k, k, k, k)
	}
	if err := f.makeRoom(u, v); err != nil {
		return err
	}
	for e := range u {
		table := e * k * k
		if shared {
			table = 0
		}
		for i := range int(f.p.Card[u[e]]) {
			for j := range int(f.p.Card[v[e]]) {
				f.p.Edge = append(f.p.Edge, f.potential(edgeThetaArray, &theta, table+i*k+j))
			}
		}
		f.p.EdgeAt = append(f.p.EdgeAt, len(f.p.Edge))
	}
	return f.wrong
}

// makeRoom asks for the memory of the tables of all edges: one for all alike is copied.
func (f *potentialsFile) makeRoom(u, v []int32) error {
	size := 0.0
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
