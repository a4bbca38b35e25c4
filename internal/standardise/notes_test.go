package standardise

import (
	"context"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestNotes: what is wrong is named, with a remedy, and nothing else is said, of dense rows and of sparse ones.
func TestNotes(t *testing.T) {
	value := []float64{0.3, -1.2, 0.8, 2.1, -0.4, 0.1}
	other := []float64{1.1, 0.2, -0.7, 0.4, 0.9, -2.2}
	third := []float64{0.6, 0.5, -1.1, -0.3, 1.7, 0.2}
	schema := crf.Homogeneous([]string{"sky", "tree"}, 3, 1)
	schema.NodeTypes[0].FeatureNames = []string{"red", "green", "blue"}
	for _, test := range []struct {
		features func(r int) []float64
		want     []string
	}{
		{func(r int) []float64 { return []float64{value[r], other[r], third[r]} }, nil},
		{func(r int) []float64 { return []float64{value[r], 1, third[r]} }, nil}, // a bias is no fault
		{func(r int) []float64 { return []float64{value[r], 0, third[r]} },
			[]string{`"green" is zero everywhere`, "leave it out"}},
	} {
		var dense, kept []float64
		start, column := []int{0}, []int32(nil)
		for r := range 6 {
			for j, x := range test.features(r) {
				if dense = append(dense, x); x != 0 {
					kept, column = append(kept, x), append(column, int32(j))
				}
			}
			start = append(start, len(kept))
		}
		for _, features := range []crf.Features{oracle.Must(crf.Dense(dense, 3))(t),
			oracle.Must(crf.Sparse(start, column, kept, 3))(t)} {
			in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{Graph: oracle.Must(gen.Chain(6))(t),
				NodeFeat: []crf.Features{features}, EdgeFeat: []crf.Features{crf.Constant(5, 1)},
				Labels: [][]int32{{0, 1, 0, 0, 1, 1}}}))(t)
			m := oracle.Must(Measure(context.Background(), &schema, []*crf.Instance{in}, 1))(t)
			texts := m.Notes(&schema, false)
			if of := m.Notes(&schema, true); len(of) > 0 {
				t.Errorf("of means users know nothing, and read %q", of)
			}
			all := strings.Join(texts, "\n")
			if len(texts) != min(1, len(test.want)) {
				t.Errorf("%d texts, want %q: %q", len(texts), test.want, texts)
			}
			for _, want := range test.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q does not contain %q", all, want)
				}
			}
		}
	}
}
