package job

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/nearest"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Costs say what it costs to take one state for another. Labels are then those of the least
// expected cost
//
//	argmin_j Σ_i τ_s(i) cost(i, j)
//
// under the beliefs τ_s of a node.
type Costs struct {
	of [][]float64 // [node type][truth · states + predicted]
}

// costFile is the ending of the names of files of costs. A list of them has none.
const costFile = ".csv"

// wantedCosts is what the option wants.
const wantedCosts = "want STATE=COST,…, the cost of missing a state, or a file " + costFile +
	" with a row for each true and a column for each predicted state"

// ParseCosts reads costs for the states of a model: STATE=COST,…, what it costs to miss a
// state, 1 for those that are not named, or the path of a file with all of them.
func ParseCosts(spec string, types []crf.NodeType) (*Costs, error) {
	if filepath.Ext(spec) == costFile {
		return readCosts(spec, types)
	}
	if !strings.Contains(spec, "=") {
		return nil, usagef("{cost} %q: %s", spec, wantedCosts)
	}
	missed := map[string]float64{}
	for part := range strings.SplitSeq(spec, ",") {
		name, text, _ := strings.Cut(part, "=")
		cost, err := numeric.ParseDecimal(text)
		switch _, twice := missed[name]; {
		case twice:
			return nil, usagef("{cost} %q: state %q has two costs, want one", spec, name)
		case err != nil || !isCost(cost):
			return nil, usagef("{cost} %q: %q has no cost that is a number, 0 or more; %s", spec, part, wantedCosts)
		case !slices.Contains(statesOf(types), name):
			return nil, usagef("{cost} %q: there is no state %q; %s", spec, name, nearest.Suggestion(name, statesOf(types), ""))
		}
		missed[name] = cost
	}
	c := &Costs{}
	for a := range types {
		c.of = append(c.of, matrixOf(types[a].States, func(truth, predicted string) float64 {
			cost, given := missed[truth]
			switch {
			case truth == predicted:
				return 0
			case given:
				return cost
			}
			return 1
		}))
	}
	return c, nil
}

func isCost(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// matrixOf lists what it costs to take any of the states for any other.
func matrixOf(states []string, cost func(truth, predicted string) float64) (matrix []float64) {
	for _, truth := range states {
		for _, predicted := range states {
			matrix = append(matrix, cost(truth, predicted))
		}
	}
	return matrix
}

// readCosts reads a table: names of predicted states in the first line, from its second column
// on, and then for each true state a line of its name and costs. All states are there both ways.
func readCosts(path string, types []crf.NodeType) (*Costs, error) {
	text, err := infile.Read(path, "a table of costs", infile.Text)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(infile.Lines(text)))
	r.TrimLeadingSpace = true
	known, costs, predicted := statesOf(types), map[[2]string]float64{}, []string(nil)
	for line := 1; ; line++ {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil || len(row) < 2 {
			return nil, dataf("%s:%d: want names of predicted states in the first line, and then in each the name of a true "+
				"state and as many costs", path, line)
		}
		names := row[:1]
		if line == 1 {
			predicted, names = row[1:], row[1:]
		}
		for i, name := range names {
			_, twice := costs[[2]string{name, predicted[0]}]
			switch {
			case !slices.Contains(known, name):
				return nil, dataf("%s:%d: the model has no state %q; %s", path, line, name, nearest.Suggestion(name, known, ""))
			case twice || slices.Contains(names[:i], name):
				return nil, dataf("%s:%d: state %q is there twice", path, line, name)
			}
		}
		for i := 1; i < len(row) && line > 1; i++ {
			cost, err := numeric.ParseDecimal(strings.TrimSpace(row[i]))
			if err != nil || !isCost(cost) {
				return nil, dataf("%s:%d: the cost of taking %q for %q is %q, want a number, 0 or more; what is won by a right "+
					"label is a cost of all others", path, line, row[0], predicted[i-1], row[i])
			}
			costs[[2]string{row[0], predicted[i-1]}] = cost
		}
	}
	c := &Costs{}
	for _, t := range types {
		missing := ""
		c.of = append(c.of, matrixOf(t.States, func(truth, predicted string) float64 {
			cost, given := costs[[2]string{truth, predicted}]
			if !given {
				missing = fmt.Sprintf("of taking %q for %q", truth, predicted)
			}
			return cost
		}))
		if missing != "" {
			return nil, dataf("%s: there is no cost %s: want a line and a column for every state", path, missing)
		}
	}
	return c, nil
}

// decide labels every node with the state of least expected cost, the first of several. What
// is impossible is never chosen, however cheap: a state of belief 0.
func (c *Costs) decide(in *crf.Instance, b *infer.Beliefs) {
	for s := range b.Labels {
		belief := b.Of(s)
		cost, least := c.of[in.NodeType(int32(s))], math.Inf(1)
		for j := range belief {
			expected := 0.0
			for i, p := range belief {
				expected += p * cost[i*len(belief)+j]
			}
			if belief[j] > 0 && expected < least {
				b.Labels[s], least = int32(j), expected
			}
		}
	}
}

// sum returns what labels cost, over what is counted (nil: all) and whose truth is known; node
// returns the node that a label is of.
func (c *Costs) sum(in *crf.Instance, node func(int) int, labels, truth []int32, count []bool) (total float64) {
	for s, y := range truth {
		if y != crf.Unobserved && (count == nil || count[s]) {
			s, label := int32(node(s)), labels[s]
			total += c.of[in.NodeType(s)][int(y)*in.States(s)+int(label)]
		}
	}
	return total
}
