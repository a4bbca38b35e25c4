package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// modelInfo describes a model file.
type modelInfo struct {
	Model     string         `json:"model"`
	Weights   int            `json:"weights"`
	NodeTypes []crf.NodeType `json:"node_types"`
	EdgeTypes []crf.EdgeType `json:"edge_types"`
	// What the metadata say; null where they do not.
	Counting  *string         `json:"counting"`
	Seed      json.Number     `json:"seed,omitempty"`
	Edges     string          `json:"edges,omitempty"`
	Training  json.RawMessage `json:"training,omitempty"`
	Recipe    json.RawMessage `json:"recipe"`
	Synthetic json.RawMessage `json:"synthetic,omitempty"`
	Norm      runfolder.Float `json:"norm_of_weights"`
	SHA256    string          `json:"sha256_of_weights"`
	Largest   []namedWeight   `json:"largest_weights"`
}

type namedWeight struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func (a *app) infoModel(f *infoFlags, path string) error {
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	d := &modelInfo{
		Model: m.path, Weights: m.model.Layout.Size, NodeTypes: m.model.Schema.NodeTypes, EdgeTypes: m.model.Schema.EdgeTypes,
		Edges: m.meta[metaEdges], Recipe: jsonOr(m.meta[dataset.RecipeKey]), Training: jsonOr(m.meta[metaTraining]), Synthetic: jsonOr(m.meta[synthetic.OriginKey]),
		Norm: runfolder.Float(norm(m.model.Weights)), SHA256: hashOf(m.model.Weights), Largest: []namedWeight{},
	}
	if spec, ok := m.meta[metaCounting]; ok {
		d.Counting = &spec
	}
	if _, err := strconv.ParseUint(m.meta[metaSeed], 10, 64); err == nil {
		d.Seed = json.Number(m.meta[metaSeed])
	}
	for _, i := range largestWeights(m.model, f.weights) {
		d.Largest = append(d.Largest, namedWeight{m.model.WeightName(i), m.model.Weights[i]})
	}
	return a.describe(f.json, d)
}

// jsonOr returns metadata that are JSON as they are, others as a text, and nothing
// where there are none.
func jsonOr(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return json.RawMessage(jsonText(text))
}

func (d *modelInfo) tables() []report.Table {
	t := newFacts([]string{"model", d.Model}, []string{"weights", strconv.Itoa(d.Weights)})
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, []string{name, value})
		}
	}
	for _, n := range d.NodeTypes {
		add("node type "+n.Name, fmt.Sprintf("%s (%s), %s%s", counted(len(n.States), "state"), strings.Join(n.States, ", "), counted(n.Features, "feature"), copiesOf(n.Copies)))
	}
	for _, e := range d.EdgeTypes {
		add("edge type "+e.Name, fmt.Sprintf("%s – %s, %s%s", d.NodeTypes[e.U].Name, d.NodeTypes[e.V].Name, counted(e.Features, "feature"), copiesOf(e.Copies)))
	}
	for _, n := range d.NodeTypes {
		var names []string
		for _, x := range n.Forbidden {
			names = append(names, n.States[x])
		}
		add("forbidden states of "+n.Name, strings.Join(names, ", "))
	}
	for _, e := range d.EdgeTypes {
		add("forbidden pairs of "+e.Name, forbiddenPairs(d.NodeTypes, &e))
	}
	if d.Counting != nil {
		add("counting", *d.Counting)
	}
	add("seed", d.Seed.String())
	add("edges", d.Edges)
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"training", d.Training}, {"recipe", d.Recipe}, {"synthetic", d.Synthetic}} {
		if part.raw != nil {
			t.Rows = append(t.Rows, objectRows(part.name, part.raw)...)
		}
	}
	add("norm of weights", fmt.Sprintf("%.6g", float64(d.Norm)))
	add("sha256 of weights", d.SHA256)
	if len(d.Largest) == 0 {
		return []report.Table{t}
	}
	largest := report.Table{Headers: []string{"largest weights", "value"}}
	for _, w := range d.Largest {
		largest.Rows = append(largest.Rows, []string{w.Name, fmt.Sprintf("%.6g", w.Value)})
	}
	return []report.Table{t, largest}
}

// mostPairsShown bounds how many forbidden pairs are named one by one.
const mostPairsShown = 12

// forbiddenPairs names the pairs of states that edges of a type cannot join.
func forbiddenPairs(nodes []crf.NodeType, e *crf.EdgeType) string {
	var names []string
	for i, x := range e.Forbidden {
		if i == mostPairsShown {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(e.Forbidden)-i)
		}
		names = append(names, nodes[e.U].States[x[0]]+" – "+nodes[e.V].States[x[1]])
	}
	return strings.Join(names, ", ")
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func copiesOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", untied: weights for each of %d", n)
}

func norm(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v * v
	}
	return math.Sqrt(total)
}
