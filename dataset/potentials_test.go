package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// someNetwork is a random network with hard zeros and different numbers of states.
func someNetwork(tb testing.TB) *mrf.Pairwise {
	tb.Helper()
	g := oracle.Must(graph.Grid(2, 3, graph.GridOptions{}))(tb)
	p := oracle.RandomPairwise(rand.New(rand.NewPCG(1, 1)), g, []int32{2, 3, 1, 3, 2, 3}, 1, 0.2)
	p.Constant = -0.25
	return p
}

func sameNetwork(a, b *mrf.Pairwise) bool {
	au, av := a.Graph.Ends()
	bu, bv := b.Graph.Ends()
	return slices.Equal(a.Card, b.Card) && slices.Equal(a.Node, b.Node) && slices.Equal(a.NodeAt, b.NodeAt) && slices.Equal(a.Edge, b.Edge) &&
		slices.Equal(a.EdgeAt, b.EdgeAt) && a.Constant == b.Constant && slices.Equal(au, bu) && slices.Equal(av, bv)
}

// TestPotentialsRoundTrip: to the last bit.
func TestPotentialsRoundTrip(t *testing.T) {
	p, path := someNetwork(t), filepath.Join(t.TempDir(), "net.npz")
	oracle.OK(t, writePotentials(path, p))
	again, err := readPotentialsFile(path, 0)
	if err != nil || !sameNetwork(p, again) {
		t.Errorf("%v: read back %+v, wrote %+v", err, again, p)
	}
	if _, err := readPotentialsFile(path+"x", 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// potentialArrays are those of two nodes with two states and an edge.
func potentialArrays() map[string][]byte {
	le := binary.LittleEndian
	return map[string][]byte{
		"theta":    npyOf("<f4", "False", "(2, 2)", le, []float32{1, 2, 3, 4}),
		"theta_uv": npyOf("<f8", "False", "(2, 2)", le, []float64{5, 6, 7, math.Inf(-1)}),
		"edges":    npyOf("<i8", "False", "(1, 2)", le, []int64{1, 0}),
	}
}

// TestPotentialsOfManyStates: a table of states × states is made for edges that are
// there, and refused before it is made where it is too large.
func TestPotentialsOfManyStates(t *testing.T) {
	dir := t.TempDir()
	for text, refused := range map[string]bool{
		"MARKOV\n2\n400000 400000\n0\n":                               false,
		"MARKOV\n3\n400000 2 2\n1\n2 1 2\n4\n1 2 3 4\n":               true,
		"MARKOV\n2000\n400000" + strings.Repeat(" 2", 1999) + "\n0\n": true, // a row as wide for every node
	} {
		n := oracle.Must(ReadNetwork(filepath.Join(writeFiles(t, map[string]string{"net.uai": text}), "net.uai")))(t)
		var large *Error
		if err := WriteNetwork(filepath.Join(dir, "net.npz"), n); (err != nil) != refused || refused && !(errors.As(err, &large) && strings.Contains(err.Error(), "they would take")) {
			t.Errorf("%.30q: %v, want a refusal: %t", text, err, refused)
		}
	}
}

// TestPotentialsByHand: what may be left out, and one table for all edges.
func TestPotentialsByHand(t *testing.T) {
	data := zipOf(t, potentialArrays())
	p, err := readPotentials("x.npz", bytes.NewReader(data), int64(len(data)), memory.NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	// x_1 is the first end of the edge.
	if got := p.LogScore([]int{0, 1}); got != 1+4+7 || p.Constant != 0 || !math.IsInf(p.LogScore([]int{1, 1}), -1) {
		t.Errorf("score %v", got)
	}
	alone := zipOf(t, map[string][]byte{"theta": potentialArrays()["theta"]})
	if p, err = readPotentials("x.npz", bytes.NewReader(alone), int64(len(alone)), memory.NewBudget(0)); err != nil || p.Graph.NumEdges() != 0 || p.LogScore([]int{1, 1}) != 6 {
		t.Errorf("without edges: %+v, %v", p, err)
	}
}

// TestPotentialsRefuse: mistakes are located.
func TestPotentialsRefuse(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		array string
		data  []byte // nil: left out
		want  string
	}{
		{"theta", nil, "x.npz:theta: the array is missing"},
		{"theta", npyOf("<f8", "False", "(2,)", le, []float64{1, 2}), "x.npz:theta: shape is [2]"},
		{"theta", npyOf("<f8", "False", "(2, 2)", le, []float64{1, 2, math.NaN(), 4}), "x.npz:theta[1,0]: potential is NaN"},
		{"theta", npyOf("<f8", "False", "(2, 3)", le, []float64{1, 2, 3, 4, 5, 6}), "x.npz:theta_uv: shape is [2, 2], want [1, 3, 3]"},
		{"theta_uv", nil, "x.npz:theta_uv: the array is missing"},
		{"theta_uv", npyOf("<f8", "False", "(2, 2)", le, []float64{5, 6, math.Inf(1), 8}), "x.npz:theta_uv[1,0]: potential is +Inf"},
		{"edges", npyOf("<i8", "False", "(2,)", le, []int64{1, 0}), "x.npz:edges: shape is [2]"},
		{"edges", npyOf("<i8", "False", "(1, 2)", le, []int64{1, 1}), "edges[0] = (1, 1)"},
		{"edges", npyOf("<i8", "False", "(1, 2)", le, []int64{1, 2}), "node 2 does not exist"},
		{"states", npyOf("<i8", "False", "(1,)", le, []int64{2}), "x.npz:states: shape is [1]"},
		{"states", npyOf("<i8", "False", "(2,)", le, []int64{2, 3}), "x.npz:states[1]: it is 3"},
		{"states", npyOf("<i8", "False", "()", le, []int64{0}), "x.npz:states[0]: it is 0"},
		{"constant", npyOf("<f8", "False", "(1,)", le, []float64{2}), "x.npz:constant: shape is [1]"},
		{"thetas", npyOf("<f8", "False", "()", le, []float64{2}), "x.npz:thetas: unknown array; did you mean \"theta\"?"},
	} {
		arrays := potentialArrays()
		delete(arrays, c.array)
		if c.data != nil {
			arrays[c.array] = c.data
		}
		data := zipOf(t, arrays)
		_, err := readPotentials("x.npz", bytes.NewReader(data), int64(len(data)), memory.NewBudget(0))
		var located *Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.array, err, c.want)
		}
	}
}

// TestPotentialsOfInstances: a file of another kind is named as such.
func TestPotentialsOfInstances(t *testing.T) {
	data := zipOf(t, map[string][]byte{"edges": potentialArrays()["edges"], "node_features": potentialArrays()["theta"]})
	if _, err := readPotentials("x.npz", bytes.NewReader(data), int64(len(data)), memory.NewBudget(0)); err == nil || !strings.Contains(err.Error(), "x.npz: it holds no potentials (theta, theta_uv); an instance is a network only together with a model") {
		t.Errorf("an instance: %v", err)
	}
	if _, err := readPotentials("x.npz", strings.NewReader("no archive"), 10, memory.NewBudget(0)); err == nil || !strings.Contains(err.Error(), "not an npz file") {
		t.Errorf("no archive: %v", err)
	}
}

// FuzzPotentials: whatever is read is a network that can be written and read again.
func FuzzPotentials(f *testing.F) {
	a := potentialArrays()
	le := binary.LittleEndian
	f.Add(a["theta"], a["theta_uv"], a["edges"], npyOf("<i8", "False", "(2,)", le, []int64{2, 1}), npyOf("<f8", "False", "()", le, []float64{2}))
	f.Fuzz(func(t *testing.T, theta, edgeTheta, edges, states, constant []byte) {
		data := zipOf(t, map[string][]byte{"theta": theta, "theta_uv": edgeTheta, "edges": edges, "states": states, "constant": constant})
		p, err := readPotentials("x.npz", bytes.NewReader(data), int64(len(data)), memory.NewBudget(0))
		if err != nil {
			var located *Error
			if !errors.As(err, &located) {
				t.Fatalf("%v is no *Error", err)
			}
			return
		}
		oracle.OK(t, p.Network().Validate())
		path := filepath.Join(t.TempDir(), "x.npz")
		oracle.OK(t, writePotentials(path, p))
		if again, err := readPotentialsFile(path, 0); err != nil || !sameNetwork(p, again) {
			t.Fatalf("%v: read %+v, and again %+v", err, p, again)
		}
	})
}
