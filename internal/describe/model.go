package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Model describes a model file.
type Model struct {
	Path      string         `json:"model"`
	Weights   int            `json:"weights"`
	NodeTypes []crf.NodeType `json:"node_types"`
	EdgeTypes []crf.EdgeType `json:"edge_types"`
	// What the metadata say; nil and empty where they do not.
	Counting *string         `json:"counting"`
	Seed     json.Number     `json:"seed,omitempty"`
	Edges    string          `json:"edges,omitempty"`
	Training json.RawMessage `json:"training,omitempty"`
	Recipe   json.RawMessage `json:"recipe"`
	// Temperature of beliefs, 1 where none was chosen.
	Temperature float64         `json:"temperature"`
	Norm        runfolder.Float `json:"norm_of_weights"`
	SHA256      string          `json:"sha256_of_weights"`
	Largest     []job.Weight    `json:"largest_weights"`
	// Couplings of a physical system, largest first, nil of other models.
	Couplings []job.CouplingRow `json:"couplings,omitempty"`
	Pairs     []job.CouplingRow `json:"pairs,omitempty"` // by their scores, which nodes of several states have
}

// NewModel describes a model and lists so many of its largest weights, and couplings. The run
// folder that the model is in may have couplings and standard errors, too.
func NewModel(m *job.Model, listed int) (*Model, error) {
	schema, weights := &m.Model.Schema, m.Model.Weights
	d := &Model{
		Path: m.Path, Weights: len(weights), NodeTypes: schema.NodeTypes, EdgeTypes: schema.EdgeTypes,
		Edges: m.Meta[job.MetaEdges], Recipe: jsonOf(m.Meta[job.MetaRecipe]),
		Training:    jsonOf(m.Meta[job.MetaTraining]),
		Temperature: m.Temperature(), Norm: runfolder.Float(numeric.Norm(weights)), SHA256: job.HashWeights(weights),
		Largest: []job.Weight{},
	}
	if spec, ok := m.Meta[job.MetaCounting]; ok {
		d.Counting = &spec
	}
	if _, err := strconv.ParseUint(m.Meta[job.MetaSeed], 10, 64); err == nil {
		d.Seed = json.Number(m.Meta[job.MetaSeed])
	}
	deviations, err := m.Errors()
	if err != nil {
		return nil, err
	}
	for _, i := range job.Largest(m.Model.Weights, listed) {
		w := job.Weight{Name: m.Model.WeightName(i), Value: weights[i], Error: runfolder.Float(math.NaN())}
		if deviations != nil {
			w.Error = runfolder.Float(deviations[i])
		}
		d.Largest = append(d.Largest, w)
	}
	rows, err := m.Couplings()
	for _, r := range rows {
		list := &d.Couplings
		if r.IsScore() {
			list = &d.Pairs
		}
		if len(*list) < listed {
			*list = append(*list, r)
		}
	}
	return d, err
}

// jsonOf returns metadata that are JSON, as they are, and nothing of others.
func jsonOf(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// Tables are the description for people.
func (d *Model) Tables() []report.Table {
	rows := [][]string{{"model", d.Path}, {"weights", strconv.Itoa(d.Weights)}}
	rows = append(rows, typeRows(d.NodeTypes, d.EdgeTypes, true)...)
	for _, n := range d.NodeTypes {
		names := numeric.Map(n.Forbidden, func(x int) string { return n.States[x] })
		rows = append(rows, []string{"forbidden states of " + n.Name, strings.Join(names, ", ")})
	}
	for _, e := range d.EdgeTypes {
		pairs := numeric.Map(e.Forbidden, func(x [2]int) string {
			return d.NodeTypes[e.U].States[x[0]] + " – " + d.NodeTypes[e.V].States[x[1]]
		})
		rows = append(rows, []string{"forbidden pairs of " + e.Name, shortened(strings.Join(pairs, ", "))})
	}
	rows = append(rows,
		[]string{"counting", known(d.Counting)}, []string{"seed", d.Seed.String()}, []string{"edges", d.Edges})
	if d.Temperature != 1 {
		rows = append(rows, []string{"temperature of beliefs", fmt.Sprintf("%.4g", d.Temperature)})
	}
	rows = append(rows, objectRows("training", d.Training)...)
	rows = append(rows, objectRows("recipe", d.Recipe)...)
	rows = append(rows,
		[]string{"norm of weights", fmt.Sprintf("%.6g", float64(d.Norm))}, []string{"sha256 of weights", d.SHA256})
	tables := []report.Table{table(rows...)}
	what, listed := "largest weights", d.Largest
	if len(d.Couplings) > 0 { // weights depend on the gauge
		what = "largest couplings"
		listed = numeric.Map(d.Couplings, func(c job.CouplingRow) job.Weight { return c.Weight })
	}
	if len(d.Pairs) > 0 {
		pairs := report.Table{Headers: []string{"strongest pairs", "score"}}
		for _, c := range d.Pairs {
			pairs.Rows = append(pairs.Rows, []string{strings.TrimPrefix(c.Name, "pair "), fmt.Sprintf("%.4g", c.Value)})
		}
		tables = append(tables, pairs)
	}
	if len(listed) == 0 {
		return tables
	}
	return append(tables, job.WeightTable(what, listed))
}

// longestValue is how many characters of a value tables show; --json has all: columns of
// tables are listed with their texts.
const longestValue = 200

// objectRows lists the fields of a JSON object in their order, each with a name in front. What is no object is one row.
func objectRows(name string, raw json.RawMessage) (rows [][]string) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return [][]string{{name, string(raw)}}
	}
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return [][]string{{name, string(raw)}}
		}
		text, columns := string(value), []struct{ Name string }(nil)
		if json.Unmarshal(value, &columns) == nil && columns != nil { // those of an alignment have no names
			text = strings.Trim(strings.ReplaceAll(fmt.Sprint(columns), "} {", ", "), "[{, }]")
		} else if text == "null" {
			text = job.Known("", runfolder.Float(math.NaN()))
		} else if unquoted := ""; json.Unmarshal(value, &unquoted) == nil {
			if text = unquoted; key == "status" {
				text = strings.ReplaceAll(text, "_", " ")
			}
		}
		if text != "" {
			rows = append(rows, []string{fmt.Sprintf("%s: %v", name, key), shortened(text)})
		}
	}
	return rows
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > longestValue {
		return string(runes[:longestValue]) + "…"
	}
	return text
}
