package infer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// reference is one folder of ../shared/data/reference: a small model and its solutions by independent code. The maps
// are keyed by the name of the file without ".txt".
type reference struct {
	// Model has the potentials of model.txt, logarithms in full precision; model.uai rounds beyond the range of exp to 0.
	Model *mrf.Pairwise
	// Solutions are the files with a log Z: exact, bp, convex_*, trw_*.
	Solutions map[string]*solution
	// Counts are those of counts_*.
	Counts map[string]*counts
	// Rho are the edge appearances of rho_*, one per edge.
	Rho map[string][]float64
}

// solution is a value of log Z, exact or approximate, with marginals.
type solution struct {
	LogZ  float64     // natural logarithm
	Nodes [][]float64 // [node][state]
	Edges [][]float64 // [edge][i*Card[v]+j]
}

// counts are the entropy counting numbers c_s and c_uv of EQUATIONS (2).
type counts struct {
	Node []float64 // [nodes]
	Edge []float64 // [edges]
}

// loadReference reads every file of a reference folder.
func loadReference(t *testing.T, dir string) *reference {
	t.Helper()
	r := &reference{Solutions: map[string]*solution{}, Counts: map[string]*counts{}, Rho: map[string][]float64{}}
	for _, path := range oracle.Must(filepath.Glob(filepath.Join(dir, "*.txt")))(t) {
		of, name := readNumbers(t, path), strings.TrimSuffix(filepath.Base(path), ".txt")
		switch kind, _, _ := strings.Cut(name, "_"); kind {
		case "model":
			r.Model = readModel(t, of)
		case "rho":
			r.Rho[name] = slices.Concat(of[""]...)
		case "counts":
			c := &counts{}
			for _, row := range of["node"] {
				c.Node = append(c.Node, row[1])
			}
			for _, row := range of["edge"] {
				c.Edge = append(c.Edge, row[1])
			}
			r.Counts[name] = c
		default:
			r.Solutions[name] = readSolution(of)
		}
	}
	return r
}

// readNumbers returns those of the lines of a file, by the word in front of them, "" where there is none.
func readNumbers(t *testing.T, path string) map[string][][]float64 {
	t.Helper()
	all := map[string][][]float64{}
	for line := range strings.Lines(string(oracle.Must(os.ReadFile(path))(t))) {
		word, fields, row := "", strings.Fields(line), []float64(nil)
		if len(fields) == 0 || fields[0] == "n" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if unicode.IsLetter(rune(fields[0][0])) {
			word, fields = fields[0], fields[1:]
		}
		for _, field := range fields {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil && (x > 1 || !errors.Is(err, strconv.ErrRange)) { // the smallest probabilities are 0
				t.Fatal(path, line, err)
			}
			row = append(row, x)
		}
		all[word] = append(all[word], row)
	}
	return all
}

// readModel reads lines "node s states θ…" and "edge e u v states states θ…", in ascending order.
func readModel(t *testing.T, of map[string][][]float64) *mrf.Pairwise {
	t.Helper()
	p := &mrf.Pairwise{NodeAt: []int{0}, EdgeAt: []int{0}}
	var u, v []int32
	for _, row := range of["node"] {
		p.Card, p.Node = append(p.Card, int32(row[1])), append(p.Node, row[2:]...)
		p.NodeAt = append(p.NodeAt, len(p.Node))
	}
	for _, row := range of["edge"] {
		u, v, p.Edge = append(u, int32(row[1])), append(v, int32(row[2])), append(p.Edge, row[5:]...)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	p.Graph = oracle.Must(graph.FromEdges(len(p.Card), u, v))(t)
	oracle.OK(t, p.Network().Validate())
	return p
}

// readSolution reads lines "logZ value", "node s p…" and "edge e u v p…".
func readSolution(of map[string][][]float64) *solution {
	s := &solution{LogZ: of["logZ"][0][0]}
	for _, row := range of["node"] {
		s.Nodes = append(s.Nodes, row[1:])
	}
	for _, row := range of["edge"] {
		s.Edges = append(s.Edges, row[3:])
	}
	return s
}
