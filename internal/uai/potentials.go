package uai

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/mrf"
)

// Names of the arrays of a file of log potentials.
const (
	thetaArray     = "theta"
	edgeThetaArray = "theta_uv"
	edgesArray     = npy.Edges
	statesArray    = "states"
	constantArray  = "constant"
)

var potentialArrays = npy.Rules{
	{Name: thetaArray, Float: true, Shape: "[n, states]", Missing: "give log potentials of nodes"},
	{Name: statesArray, Shape: "[] or [n]"},
	{Name: edgesArray, Shape: "[m, 2]", Turned: "turn it round, by edges.T"},
	{Name: constantArray, Float: true, Shape: "[]"},
	{Name: edgeThetaArray, Float: true, Shape: "[states, states] or [m, states, states]"},
}

// ReadPotentials reads the arrays that dataset.ReadNetwork describes, with so much memory as asked for; 0: four
// fifths of what the machine has available.
func ReadPotentials(path string, allowed int64) (*mrf.Pairwise, error) {
	file, size, err := fileio.Open(path, "arrays in npz format")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readPotentials(filepath.ToSlash(path), file, size, memory.NewBudget(allowed))
}

// potentialsFile is a file of potentials on its way to a network.
type potentialsFile struct {
	npy.Set
	budget *memory.Budget
	p      *mrf.Pairwise
	k      int // largest number of states
}

func readPotentials(path string, r io.ReaderAt, size int64, budget *memory.Budget) (*mrf.Pairwise, error) {
	f := &potentialsFile{Set: npy.Set{Problems: option.Problems{File: path}, Rules: potentialArrays}, budget: budget,
		p: &mrf.Pairwise{NodeAt: []int{0}, EdgeAt: []int{0}}}
	f.ReadArchive(r, size, budget)
	if len(f.List) > 0 && !f.Partial && f.Arrays[thetaArray].Shape == nil && f.Arrays[edgeThetaArray].Shape == nil {
		return nil, &Error{File: path, Problem: fmt.Sprintf("it holds no potentials (%s, %s); an instance is a network only "+
			"together with a model, as in blockbp sample DATA -m RUN", thetaArray, edgeThetaArray)}
	}
	known := map[string]npy.Count{"m": f.Count("m", edgesArray)}
	if n := f.Count("n", thetaArray); n.Of > 0 {
		known["n"], known["states"] = n, f.Count("states", thetaArray)
	}
	check := func() { f.Check(known) }
	for _, step := range []func(){check, f.readNodes, f.readEdges} {
		if step(); len(f.List) > 0 {
			return nil, f.List[0]
		}
	}
	return f.p, nil
}

// potential returns an element of an array, which must be a finite number or −Inf.
func (f *potentialsFile) potential(name string, m *npy.Values, at int) float64 {
	x := m.At(at)
	if math.IsNaN(x) || math.IsInf(x, 1) {
		f.Add(0, name+npy.IndexText(m.Shape, at), "", "potential is %v, want a finite number or -inf", x)
	}
	return x
}

// readNodes finds out the number of nodes and of the states of each, and takes their potentials, and the constant.
func (f *potentialsFile) readNodes() {
	if constant, given := f.Arrays[constantArray]; given {
		f.p.Constant = f.potential(constantArray, &constant, 0)
	}
	theta, states := f.Arrays[thetaArray], f.Arrays[statesArray]
	if theta.Len() == 0 {
		f.Add(0, thetaArray, "", "shape is %s, want nodes and states", npy.ShapeText(theta.Shape))
		return
	}
	n := theta.Shape[0]
	f.k = theta.Width()
	if states.Ints == nil {
		states.Ints = []int32{int32(f.k)}
	}
	for s := range n {
		card := states.Ints[min(s, len(states.Ints)-1)]
		if card < 1 || int(card) > f.k {
			f.Add(0, fmt.Sprintf("%s[%d]", statesArray, s), "", "it is %d, want 1 to %d, the columns of theta", card, f.k)
			return
		}
		for i := range int(card) {
			f.p.Node = append(f.p.Node, f.potential(thetaArray, &theta, s*f.k+i))
		}
		f.p.Card, f.p.NodeAt = append(f.p.Card, card), append(f.p.NodeAt, len(f.p.Node))
	}
}

func (f *potentialsFile) readEdges() {
	edges, k := f.Arrays[edgesArray], f.k
	m := len(edges.Ints) / 2 // none: no edges
	u, v, size, err := make([]int32, m), make([]int32, m), 0.0, error(nil)
	for e := range u {
		u[e], v[e] = edges.Ints[2*e], edges.Ints[2*e+1]
	}
	if f.p.Graph, err = graph.FromEdges(len(f.p.Card), u, v); err != nil {
		f.Add(0, "", "", "%v", err)
		return
	}
	theta, given := f.Arrays[edgeThetaArray]
	shared := len(theta.Shape) == 2
	switch {
	case !given && m == 0:
		return
	case !given:
		f.Add(0, edgeThetaArray, "",
			"the array is missing: want log potentials [%d, %d, %d] of the edges, or [%d, %d] for all alike", m, k, k, k, k)
		return
	}
	for e := range u { // one for all alike is copied
		size += float64(f.p.Card[u[e]]) * float64(f.p.Card[v[e]])
	}
	if err := f.budget.Take(fmt.Sprintf("the potentials of %d edges", m), 8*size); err != nil {
		f.Located(&Error{Place: edgeThetaArray, Problem: err.Error(), Cause: err})
		return
	}
	f.p.Edge = make([]float64, 0, int(size))
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
}
