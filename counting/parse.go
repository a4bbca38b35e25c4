package counting

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/graph"
)

// FileError locates a problem in a file of counting numbers.
type FileError struct {
	File   string
	Line   int // from 1; 0: the file as a whole
	Reason string
}

// Error implements error.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Read reads counting numbers from text with the lines
//
//	node i c_i
//	edge e c_e
//
// i a node and e an edge of g, each given once. Empty lines and lines that begin
// with # are skipped. The numbers must be such that New takes them. The
// result has its Facts proved. Errors are *FileError.
func Read(r io.Reader, name string, g *graph.Graph) (*Numbers, error) {
	node, edge, err := ReadCounts(r, name, g.NumNodes(), g.NumEdges())
	if err != nil {
		return nil, err
	}
	c, err := New(name, g, node, edge)
	if err != nil {
		return nil, &FileError{name, 0, err.Error()}
	}
	c.Prove(g)
	return c, nil
}

// ReadCounts reads the numbers that such a text gives for nodes 0 to nodes−1 and
// edges 0 to edges−1, before they are taken together: that is New's part.
// Errors are *FileError.
func ReadCounts(r io.Reader, name string, nodes, edges int) (node, edge []float64, err error) {
	node, edge = constants(nodes, math.NaN()), constants(edges, math.NaN())
	scanner := bufio.NewScanner(r)
	line := 0
	for scanner.Scan() {
		line++
		fields := strings.Fields(scanner.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := readCount(fields, node, edge); err != nil {
			return nil, nil, &FileError{name, line, err.Error()}
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, nil, &FileError{name, line + 1, err.Error()}
	}
	for i, x := range slices.Concat(node, edge) {
		if math.IsNaN(x) {
			what := fmt.Sprintf("node %d", i)
			if i >= len(node) {
				what = fmt.Sprintf("edge %d", i-len(node))
			}
			return nil, nil, &FileError{name, 0, fmt.Sprintf("no line for %s; the network has %d nodes and %d edges", what, len(node), len(edge))}
		}
	}
	return node, edge, nil
}

func readCount(fields []string, node, edge []float64) error {
	if len(fields) != 3 {
		return fmt.Errorf("%d fields, want three: \"node i c\" or \"edge e c\"", len(fields))
	}
	values := node
	switch fields[0] {
	case "node":
	case "edge":
		values = edge
	default:
		return fmt.Errorf("first field is %q, want node or edge", fields[0])
	}
	i, err := strconv.Atoi(fields[1])
	if err != nil || i < 0 || i >= len(values) {
		return fmt.Errorf("%s number is %q, want 0 to %d", fields[0], fields[1], len(values)-1)
	}
	x, err := strconv.ParseFloat(fields[2], 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("counting number is %q, want a finite number", fields[2])
	}
	if !math.IsNaN(values[i]) {
		return fmt.Errorf("%s %d is given twice", fields[0], i)
	}
	if want := whatIsWanted(x); fields[0] == "edge" && want != "" {
		return fmt.Errorf("counting number of edge %d is %v, want %s", i, x, want)
	}
	values[i] = x
	return nil
}
