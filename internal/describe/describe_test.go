package describe

import (
	"math"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// TestNetwork: what is not known of a network with a large factor has no row.
func TestNetwork(t *testing.T) {
	pair := mrf.Factor{Scope: []int{0, 1}, LogTable: make([]float64, 4)}
	triple := mrf.Factor{Scope: []int{0, 1, 2}, LogTable: make([]float64, 8)}
	for _, c := range []struct {
		factors []mrf.Factor
		edges   bool
	}{{[]mrf.Factor{pair}, true}, {[]mrf.Factor{pair, triple}, false}} {
		d := NewNetwork(&mrf.Network{Card: []int{2, 2, 2}, Factors: c.factors})
		text := d.Tables()[0].Text()
		if strings.Contains(text, "is a forest") != c.edges || (d.Edges != nil) != c.edges || d.MostStates != 2 || d.Arity != len(c.factors)+1 {
			t.Errorf("%d factors are described as %+v:\n%s", len(c.factors), d, text)
		}
	}
}

// TestModel: metadata are told as they are, and so is what is forbidden.
func TestModel(t *testing.T) {
	schema := crf.Homogeneous([]string{"in", "out"}, 1, 1)
	schema.EdgeTypes[0].Forbidden = [][2]int{{0, 1}}
	m := oracle.Must(crf.NewModel(schema))(t)
	m.Weights[0], m.Weights[1] = 3, 4
	meta := map[string]string{"training": `{"l2":0.5,"method":"bbpl","columns":[{"name":"a","type":0},{"name":"b"}],` +
		`"sites":[{"name":"","type":0},{"name":""}]}`, "recipe": "no JSON"}
	d := oracle.Must(NewModel(&job.Model{Path: "m.safetensors", Model: m, Meta: meta}, 1))(t)
	if math.Abs(float64(d.Norm)-5) > 1e-12 || len(d.Largest) != 1 || d.Largest[0].Value != 4 {
		t.Errorf("the model is described as %+v", d)
	}
	text := d.Tables()[0].Text()
	oracle.Contains(t, text, "training: l2", "0.5", "bbpl", "in – out", "2 states (in, out)", " a, b\n")
	for _, part := range []string{"counting", "seed", "forbidden states", "synthetic", "no JSON", "sites", "{"} {
		if strings.Contains(text, part) {
			t.Errorf("the table tells of %s, of which nothing is known:\n%s", part, text)
		}
	}
}
