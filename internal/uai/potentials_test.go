package uai

import (
	"archive/zip"
	"bytes"
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
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

func sameNetwork(a, b *mrf.Pairwise) bool {
	au, av := a.Graph.Ends()
	bu, bv := b.Graph.Ends()
	return slices.Equal(a.Card, b.Card) && slices.Equal(a.Node, b.Node) && slices.Equal(a.NodeAt, b.NodeAt) &&
		slices.Equal(a.Edge, b.Edge) && slices.Equal(a.EdgeAt, b.EdgeAt) && a.Constant == b.Constant &&
		slices.Equal(au, bu) && slices.Equal(av, bv)
}

// TestPotentialsRoundTrip: a random network with hard zeros and different numbers of states, to the last bit.
func TestPotentialsRoundTrip(t *testing.T) {
	g := oracle.Must(graph.Grid(2, 3, graph.GridOptions{}))(t)
	p := oracle.RandomPairwise(rand.New(rand.NewPCG(1, 1)), g, []int32{2, 3, 1, 3, 2, 3}, 1, 0.2)
	p.Constant = -0.25
	if again, err := readArrays(t, arraysOf(p)); err != nil || !sameNetwork(p, again) {
		t.Errorf("%v: read back %+v, wrote %+v", err, again, p)
	}
	if _, err := ReadPotentials(filepath.Join(t.TempDir(), "net.npz"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// readArrays reads arrays of which each is given as the bytes of a file.
func readArrays(t testing.TB, arrays map[string][]byte) (*mrf.Pairwise, error) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, data := range arrays {
		oracle.Must(oracle.Must(archive.Create(name + ".npy"))(t).Write(data))(t)
	}
	oracle.OK(t, archive.Close())
	return readPotentials("x.npz", bytes.NewReader(b.Bytes()), int64(b.Len()), memory.NewBudget(0))
}

func arrayOf[T npy.Number](values []T, shape ...int) []byte {
	var b bytes.Buffer
	if err := npy.Write(&b, shape, values); err != nil {
		panic(err) // a mistake in the test
	}
	return b.Bytes()
}

// arraysOf are those of a network, with −Inf beyond a node's states.
func arraysOf(p *mrf.Pairwise) map[string][]byte {
	n, m, k := len(p.Card), p.Graph.NumEdges(), int(slices.Max(p.Card))
	edges, none := []int32(nil), math.Inf(-1)
	theta, pair := slices.Repeat([]float64{none}, n*k), slices.Repeat([]float64{none}, m*k*k)
	for s := range n {
		copy(theta[s*k:], p.Node[p.NodeAt[s]:p.NodeAt[s+1]])
	}
	for e := range int32(m) {
		u, v := p.Graph.U(e), p.Graph.V(e)
		edges = append(edges, u, v)
		for i := range int(p.Card[u]) {
			copy(pair[(int(e)*k+i)*k:], p.Edge[p.EdgeAt[e]+i*int(p.Card[v]):][:p.Card[v]])
		}
	}
	return map[string][]byte{"edges": arrayOf(edges, m, 2), "states": arrayOf(p.Card, n), "theta": arrayOf(theta, n, k),
		"theta_uv": arrayOf(pair, m, k, k), "constant": arrayOf([]float64{p.Constant})}
}

// twoNodes are arrays of two nodes with two states and an edge, whose first end is the second node.
func twoNodes() map[string][]byte {
	return map[string][]byte{
		"theta":    arrayOf([]float32{1, 2, 3, 4}, 2, 2),
		"theta_uv": arrayOf([]float64{5, 6, 7, math.Inf(-1)}, 2, 2),
		"edges":    arrayOf([]int32{1, 0}, 1, 2),
	}
}

// TestPotentialsByHand: what may be left out, and one table for all edges.
func TestPotentialsByHand(t *testing.T) {
	p := oracle.Must(readArrays(t, twoNodes()))(t)
	if got := p.Network().LogScore([]int{0, 1}); got != 1+4+7 || p.Constant != 0 ||
		!math.IsInf(p.Network().LogScore([]int{1, 1}), -1) {
		t.Errorf("score %v", got)
	}
	p = oracle.Must(readArrays(t, map[string][]byte{"theta": twoNodes()["theta"]}))(t)
	if p.Graph.NumEdges() != 0 || p.Network().LogScore([]int{1, 1}) != 6 {
		t.Errorf("without edges: %+v", p)
	}
}

// TestPotentialsRefuse: mistakes are located.
func TestPotentialsRefuse(t *testing.T) {
	for _, c := range []struct {
		array string
		data  []byte // nil: left out
		want  string
	}{
		{"theta", nil, "x.npz:theta: the array is missing"},
		{"theta", arrayOf([]float64{1, 2}, 2), "x.npz:theta: shape is [2]"},
		{"theta", arrayOf([]float64{1, 2, math.NaN(), 4}, 2, 2), "x.npz:theta[1,0]: potential is NaN"},
		{"theta", arrayOf([]float64{1, 2, 3, 4, 5, 6}, 2, 3),
			"x.npz:theta_uv: shape is [2, 2], want 3 rows: theta has 3 states"},
		{"theta_uv", nil, "x.npz:theta_uv: the array is missing"},
		{"theta_uv", arrayOf([]float64{5, 6, math.Inf(1), 8}, 2, 2), "x.npz:theta_uv[1,0]: potential is +Inf"},
		{"edges", arrayOf([]int32{1, 0}, 2), "x.npz:edges: shape is [2]"},
		{"edges", arrayOf([]int32{1, 1}, 1, 2), "edges[0] = (1, 1)"},
		{"edges", arrayOf([]int32{1, 2}, 1, 2), "node 2 does not exist"},
		{"states", arrayOf([]int32{2}, 1), "x.npz:states: shape is [1]"},
		{"states", arrayOf([]int32{2, 3}, 2), "x.npz:states[1]: it is 3"},
		{"states", arrayOf([]int32{0}), "x.npz:states[0]: it is 0"},
		{"constant", arrayOf([]float64{2}, 1), "x.npz:constant: shape is [1]"},
		{"thetas", arrayOf([]float64{2}), "x.npz:thetas: unknown array; did you mean \"theta\"?"},
	} {
		arrays := twoNodes()
		if arrays[c.array] = c.data; c.data == nil {
			delete(arrays, c.array)
		}
		var located *Error
		if _, err := readArrays(t, arrays); !errors.As(err, &located) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.array, err, c.want)
		}
	}
	// A file of another kind is named as such.
	arrays := map[string][]byte{"edges": twoNodes()["edges"], "node_features": twoNodes()["theta"]}
	oracle.Fails(readArrays(t, arrays))(t, "x.npz: it holds no potentials (theta, "+
		"theta_uv); an instance is a network only together with a model")
}

// FuzzPotentials: whatever is read is a network that can be written and read again.
func FuzzPotentials(f *testing.F) {
	a := twoNodes()
	f.Add(a["theta"], a["theta_uv"], a["edges"], arrayOf([]int32{2, 1}, 2), arrayOf([]float64{2}))
	f.Fuzz(func(t *testing.T, theta, edgeTheta, edges, states, constant []byte) {
		p, err := readArrays(t, map[string][]byte{"theta": theta, "theta_uv": edgeTheta, "edges": edges, "states": states,
			"constant": constant})
		if err != nil {
			var located *Error
			if !errors.As(err, &located) {
				t.Fatalf("%v is no *Error", err)
			}
			return
		}
		oracle.OK(t, p.Network().Validate())
		if again, err := readArrays(t, arraysOf(p)); err != nil || !sameNetwork(p, again) {
			t.Fatalf("%v: read %+v, and again %+v", err, p, again)
		}
	})
}
