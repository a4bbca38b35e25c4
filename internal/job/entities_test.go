package job

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// taggedSet is a set of text with some states.
func taggedSet(states ...string) *dataset.Set {
	return &dataset.Set{Recipe: dataset.Recipe{Kind: "text"},
		Schema: crf.Schema{NodeTypes: []crf.NodeType{{States: states}}}}
}

// compared counts entities of sentences that are written as tags, with blanks between.
func compared(t *testing.T, truth, predicted string) (*Entities, entityCount) {
	t.Helper()
	number, states := map[string]int32{"?": crf.Unobserved}, []string{}
	numbers := func(text string) (labels []int32) {
		for _, tag := range strings.Fields(strings.ReplaceAll(text, "/", " ")) {
			if _, known := number[tag]; !known {
				number[tag] = int32(len(states))
				states = append(states, tag)
			}
			labels = append(labels, number[tag])
		}
		return labels
	}
	all, guesses := strings.Split(truth, "/"), strings.Split(predicted, "/")
	numbers(truth)
	numbers(predicted)
	e := newEntities(taggedSet(states...))
	if e == nil {
		t.Fatalf("%q are no tags", states)
	}
	for i := range all {
		e.add(numbers(all[i]), numbers(guesses[i]))
	}
	sum := e.score()
	return e, entityCount{sum.Truth, sum.Predicted, sum.Right}
}

type entityCount struct{ truth, predicted, right int }

// TestEntities: counts as conlleval and seqeval have them, worked out by hand.
func TestEntities(t *testing.T) {
	for _, c := range []struct {
		truth, predicted string
		want             entityCount
	}{
		// The case of the field.
		{"B-PER I-PER O B-LOC I-LOC O", "B-PER I-PER O O B-LOC O", entityCount{2, 2, 1}},
		{"B-ORG I-ORG O B-PER O B-LOC O", "B-ORG B-ORG O O O B-LOC O", entityCount{3, 3, 1}},
		// A tag inside begins an entity where nothing, or another type, stands before.
		{"I-PER I-PER O I-LOC", "B-PER I-PER O B-LOC", entityCount{2, 2, 2}},
		{"I-PER I-LOC", "B-PER B-LOC", entityCount{2, 2, 2}},
		{"B-PER I-LOC I-LOC", "B-PER B-LOC I-LOC", entityCount{2, 2, 2}},
		{"B-PER B-PER", "B-PER I-PER", entityCount{2, 1, 0}},
		// Ends and single ones.
		{"B-A I-A E-A S-A O", "B-A I-A I-A B-A O", entityCount{2, 2, 2}},
		{"S-A I-A", "B-A I-A", entityCount{2, 1, 0}},
		{"B-A E-A I-A", "B-A E-A E-A", entityCount{2, 2, 2}},
		{"E-A E-A B-A", "S-A S-A B-A", entityCount{3, 3, 3}},
		{"B-A E-B", "B-A B-B", entityCount{2, 2, 2}},
		// The type counts, and so do both ends.
		{"B-PER I-PER", "B-LOC I-LOC", entityCount{1, 1, 0}},
		{"B-A I-A I-A", "B-A I-A O", entityCount{1, 1, 0}},
		// Nothing is found, or there is nothing.
		{"B-A O", "O O", entityCount{1, 0, 0}},
		{"O O B-A", "B-A O O", entityCount{1, 1, 0}},
		// What is not known is not compared.
		{"B-A I-A ? B-A", "B-A I-A I-A B-A", entityCount{2, 2, 2}},
		// Other letters and marks.
		{"B_A M_A E_A O", "B_A M_A E_A O", entityCount{1, 1, 1}},
		{"PER-B PER-I O LOC_B", "PER-B PER-I O O", entityCount{2, 1, 1}},
		{"B-A 0 B-A", "B-A 0 0", entityCount{2, 1, 1}},
		{"U-A B-A L-A", "U-A B-A L-A", entityCount{2, 2, 2}},
		{"B I O B", "B I O O", entityCount{2, 1, 1}},
		{"B-A-B I-A-B", "B-A-B I-A-B", entityCount{1, 1, 1}},
	} {
		if _, got := compared(t, c.truth, c.predicted); got != c.want {
			t.Errorf("%s, predicted %s: %+v, want %+v", c.truth, c.predicted, got, c.want)
		}
	}
}

// TestEntitiesOfTheField: two sentences of five entities, of which two are found: shares are 0.4.
func TestEntitiesOfTheField(t *testing.T) {
	e, all := compared(t, "B-PER I-PER O B-LOC I-LOC O / B-ORG I-ORG O B-PER O B-LOC O",
		"B-PER I-PER O O B-LOC O / B-ORG B-ORG O O O B-LOC O")
	if all != (entityCount{5, 5, 2}) || e.score().Precision != 0.4 || e.score().Recall != 0.4 || e.score().F1 != 0.4 {
		t.Errorf("%+v", e.score())
	}
	rows := numeric.Map((&Scored{Entities: e}).EntityTable().Rows, func(r []string) string { return strings.Join(r, " ") })
	want := []string{"LOC 2 2 1 50.00 % 50.00 % 50.00 %", "ORG 1 2 0 0.00 % 0.00 % 0.00 %",
		"PER 2 1 1 100.00 % 50.00 % 66.67 %", "all 5 5 2 40.00 % 40.00 % 40.00 %"}
	oracle.Equal(t, rows, want, "rows")
}

// TestNoEntities: other labels are no tags, and those of other data are none.
func TestNoEntities(t *testing.T) {
	for _, states := range [][]string{{"NOUN", "VERB"}, {"B", "O"}, {"B-A", "X"}, {"O"}, {"Is", "Be"}, {"S-A", "E-A"}} {
		oracle.Equal(t, newEntities(taggedSet(states...)) == nil, true, "%q are no tags", states)
	}
	other := taggedSet("B-A", "I-A", "O")
	other.Recipe.Kind = "graph"
	oracle.Equal(t, newEntities(other) == nil, true, "labels of a graph are no tags")
}
