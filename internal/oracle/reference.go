package oracle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/mrf"
)

// Reference is one folder of ../shared/data/reference: a small model and its solutions by independent code. The maps
// are keyed by the name of the file without ".txt".
type Reference struct {
	// Model has the potentials of model.txt, which are logarithms in full precision; model.uai rounds some beyond
	// exp's range to zero.
	Model *mrf.Pairwise
	// Solutions are the files with a log Z: exact, bp, convex_*, trw_*.
	Solutions map[string]*Solution
	// Counts are those of counts_*.
	Counts map[string]*Counts
	// Rho are the edge appearances of rho_*, one per edge.
	Rho map[string][]float64
}

// Solution is a value of log Z, exact or approximate, with marginals.
type Solution struct {
	LogZ  float64     // natural logarithm
	Nodes [][]float64 // [node][state]
	Edges [][]float64 // [edge][i*Card[v]+j]
}

// Counts are the entropy counting numbers c_s and c_uv of EQUATIONS (2).
type Counts struct {
	Node []float64 // [nodes]
	Edge []float64 // [edges]
}

// LoadReference reads every file of a reference folder.
func LoadReference(tb TB, dir string) *Reference {
	tb.Helper()
	r := &Reference{Solutions: map[string]*Solution{}, Counts: map[string]*Counts{}, Rho: map[string][]float64{}}
	for _, path := range Must(filepath.Glob(filepath.Join(dir, "*.txt")))(tb) {
		of, name := numbers(tb, path), strings.TrimSuffix(filepath.Base(path), ".txt")
		switch kind, _, _ := strings.Cut(name, "_"); kind {
		case "model":
			r.Model = model(tb, of)
		case "rho":
			r.Rho[name] = slices.Concat(of[""]...)
		case "counts":
			c := &Counts{}
			for _, row := range of["node"] {
				c.Node = append(c.Node, row[1])
			}
			for _, row := range of["edge"] {
				c.Edge = append(c.Edge, row[1])
			}
			r.Counts[name] = c
		default:
			r.Solutions[name] = solution(of)
		}
	}
	return r
}

// numbers are those of the lines of a file, by the word in front of them, "" where there is none.
func numbers(tb TB, path string) map[string][][]float64 {
	tb.Helper()
	all := map[string][][]float64{}
	for line := range strings.Lines(string(Must(os.ReadFile(path))(tb))) {
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
				tb.Fatal(path, line, err)
			}
			row = append(row, x)
		}
		all[word] = append(all[word], row)
	}
	return all
}

// model is made of lines "node s states θ…" and "edge e u v states states θ…", in ascending order.
func model(tb TB, of map[string][][]float64) *mrf.Pairwise {
	tb.Helper()
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
	p.Graph = Must(graph.FromEdges(len(p.Card), u, v))(tb)
	OK(tb, p.Network().Validate())
	return p
}

// solution is made of lines "logZ value", "node s p…" and "edge e u v p…".
func solution(of map[string][][]float64) *Solution {
	s := &Solution{LogZ: of["logZ"][0][0]}
	for _, row := range of["node"] {
		s.Nodes = append(s.Nodes, row[1:])
	}
	for _, row := range of["edge"] {
		s.Edges = append(s.Edges, row[3:])
	}
	return s
}
