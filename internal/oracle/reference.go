package oracle

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/mrf"
)

// Reference is one folder of ../shared/data/reference: a small model and its
// solutions by independent code. The maps are keyed by the name of the file
// without ".txt".
type Reference struct {
	// Model has the potentials of model.txt, which are logarithms in full
	// precision; model.uai rounds some beyond exp's range to zero.
	Model *mrf.Pairwise
	// Solutions are the files with a log Z: exact, bp, convex_*, trw_*.
	Solutions map[string]*Solution
	// Counts are the entropy counting numbers of counts_*.
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

// LoadReference reads every file of a reference folder. Errors name the file
// and line.
func LoadReference(dir string) (*Reference, error) {
	model, err := readModel(filepath.Join(dir, "model.txt"))
	if err != nil {
		return nil, err
	}
	r := &Reference{Model: model, Solutions: map[string]*Solution{}, Counts: map[string]*Counts{},
		Rho: map[string][]float64{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := r.load(path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// load reads one file into the map that its name belongs to.
func (r *Reference) load(path string) (err error) {
	name := strings.TrimSuffix(filepath.Base(path), ".txt")
	switch {
	case name == "model":
	case strings.HasPrefix(name, "rho_"):
		r.Rho[name], err = readRho(path, r.Model.Graph.NumEdges())
	case strings.HasPrefix(name, "counts_"):
		r.Counts[name], err = readCounts(path, r.Model)
	default:
		r.Solutions[name], err = readSolution(path, r.Model)
	}
	return err
}

// eachLine calls visit with the fields of every line that is neither empty nor
// a comment, and adds file and line to its error.
func eachLine(path string, visit func(fields []string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := visit(fields); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return lines.Err()
}

// numbers parses every field as a float64.
func numbers(fields []string) ([]float64, error) {
	values := make([]float64, len(fields))
	for i, field := range fields {
		value, err := strconv.ParseFloat(field, 64)
		if err != nil {
			// The smallest probabilities are denormal or below, which is fine.
			if !errors.Is(err, strconv.ErrRange) || value > 1 {
				return nil, err
			}
		}
		values[i] = value
	}
	return values, nil
}

// integers parses the first count fields after the keyword.
func integers(fields []string, count int) ([]int, error) {
	if len(fields) < 1+count {
		return nil, fmt.Errorf("%d fields, want at least %d", len(fields), 1+count)
	}
	values := make([]int, count)
	for i := range values {
		value, err := strconv.Atoi(fields[1+i])
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// readModel reads lines "n nodes E edges", "node s states θ…" and
// "edge e u v states states θ…", nodes and edges in ascending order.
func readModel(path string) (*mrf.Pairwise, error) {
	p := &mrf.Pairwise{NodeAt: []int{0}, EdgeAt: []int{0}}
	var u, v []int32
	err := eachLine(path, func(fields []string) error {
		switch fields[0] {
		case "n":
			return nil
		case "node":
			head, err := integers(fields, 2)
			if err != nil || head[0] != len(p.Card) {
				return errors.Join(err, fmt.Errorf("want node %d", len(p.Card)))
			}
			values, err := numbers(fields[3:])
			p.Card = append(p.Card, int32(head[1]))
			p.Node = append(p.Node, values...)
			p.NodeAt = append(p.NodeAt, len(p.Node))
			return err
		case "edge":
			head, err := integers(fields, 5)
			if err != nil || head[0] != len(u) {
				return errors.Join(err, fmt.Errorf("want edge %d", len(u)))
			}
			values, err := numbers(fields[6:])
			u, v = append(u, int32(head[1])), append(v, int32(head[2]))
			p.Edge = append(p.Edge, values...)
			p.EdgeAt = append(p.EdgeAt, len(p.Edge))
			return err
		}
		return fmt.Errorf("unknown keyword %q", fields[0])
	})
	if err != nil {
		return nil, err
	}
	p.Graph, err = graph.FromEdges(len(p.Card), u, v)
	if err != nil {
		return nil, err
	}
	return p, p.Network().Validate()
}

// readSolution reads lines "logZ value", "node s p…" and "edge e u v p…".
func readSolution(path string, p *mrf.Pairwise) (*Solution, error) {
	s := &Solution{Nodes: make([][]float64, len(p.Card)), Edges: make([][]float64, p.Graph.NumEdges())}
	err := eachLine(path, func(fields []string) (err error) {
		switch fields[0] {
		case "logZ":
			values, err := numbers(fields[1:])
			if err != nil || len(values) != 1 {
				return errors.Join(err, errors.New("want one number after logZ"))
			}
			s.LogZ = values[0]
			return nil
		case "node":
			return readRow(s.Nodes, fields, 1)
		case "edge":
			return readRow(s.Edges, fields, 3)
		}
		return fmt.Errorf("unknown keyword %q", fields[0])
	})
	return s, err
}

// readRow reads a line of a keyword, headLen integers of which the first is the
// row, and the row's values.
func readRow(rows [][]float64, fields []string, headLen int) error {
	head, err := integers(fields, headLen)
	if err != nil {
		return err
	}
	if head[0] < 0 || head[0] >= len(rows) {
		return fmt.Errorf("%s %d does not exist", fields[0], head[0])
	}
	rows[head[0]], err = numbers(fields[1+headLen:])
	return err
}

// readCounts reads lines "node s c" and "edge e c".
func readCounts(path string, p *mrf.Pairwise) (*Counts, error) {
	nodes, edges := make([][]float64, len(p.Card)), make([][]float64, p.Graph.NumEdges())
	err := eachLine(path, func(fields []string) error {
		switch fields[0] {
		case "node":
			return readRow(nodes, fields, 1)
		case "edge":
			return readRow(edges, fields, 1)
		}
		return fmt.Errorf("unknown keyword %q", fields[0])
	})
	if err != nil {
		return nil, err
	}
	counts := &Counts{}
	for _, row := range nodes {
		counts.Node = append(counts.Node, row...)
	}
	for _, row := range edges {
		counts.Edge = append(counts.Edge, row...)
	}
	if len(counts.Node) != len(nodes) || len(counts.Edge) != len(edges) {
		return nil, fmt.Errorf("%s: %d node and %d edge counts, want %d and %d", path, len(counts.Node), len(counts.Edge),
			len(nodes), len(edges))
	}
	return counts, nil
}

// readRho reads one number per edge.
func readRho(path string, numEdges int) ([]float64, error) {
	var rho []float64
	err := eachLine(path, func(fields []string) error {
		values, err := numbers(fields)
		rho = append(rho, values...)
		return err
	})
	if err == nil && len(rho) != numEdges {
		err = fmt.Errorf("%s: %d numbers, want one for each of %d edges", path, len(rho), numEdges)
	}
	return rho, err
}
