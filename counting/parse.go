package counting

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Read reads the counting numbers that a text gives for nodes 0 to nodes−1 and edges
// 0 to edges−1, by lines
//
//	node i c_i
//	edge e c_e
//
// each of which is given once, in decimal. Empty lines and lines that begin with # are skipped.
// The numbers are not taken together yet: that is New's part. Errors begin with name,
// which is that of the file, and the number of the line.
func Read(r io.Reader, name string, nodes, edges int) (node, edge []float64, err error) {
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
			return nil, nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, nil, fmt.Errorf("%s:%d: the line has more than %d bytes: this is no file of counting numbers",
			name, line+1, bufio.MaxScanTokenSize)
	} else if err != nil {
		return nil, nil, fmt.Errorf("%s:%d: %w", name, line+1, err)
	}
	for i, x := range slices.Concat(node, edge) {
		if math.IsNaN(x) {
			what := fmt.Sprintf("node %d", i)
			if i >= len(node) {
				what = fmt.Sprintf("edge %d", i-len(node))
			}
			return nil, nil, fmt.Errorf("%s: no line for %s; the network has %d nodes and %d edges",
				name, what, len(node), len(edge))
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
	x, err := numeric.ParseDecimal(fields[2])
	if err != nil {
		return fmt.Errorf("counting number is %q, want a finite decimal number", fields[2])
	}
	if !math.IsNaN(values[i]) {
		return fmt.Errorf("%s %d is given twice", fields[0], i)
	}
	if want := wantedCount(x); fields[0] == "edge" && want != "" {
		return fmt.Errorf("counting number of edge %d is %v, want %s", i, x, want)
	}
	values[i] = x
	return nil
}
