package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/oracle"
)

// alike is the first of several processes, of which all others have and do the same.
type alike struct {
	distributed.Alone
	size int
}

func (a *alike) Size() int { return a.size }
func (a *alike) Gather(dst, own []float64, lengths []int) {
	copy(dst, slices.Repeat(own, len(lengths)))
}
func (a *alike) Bytes(own []byte) [][]byte { return slices.Repeat([][]byte{own}, a.size) }

// TestProcessesDoNotChoose: where folds of labels would choose in one process, several learn edges
// together and say so, or are refused where few labels are known.
func TestProcessesDoNotChoose(t *testing.T) {
	for known, want := range map[int]string{20: "and 2 learn them together", 60: "and 2 learn them together", 100: ""} {
		b := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: known, seed: 6}
		set := oracle.Must(dataset.Open(t.Context(), b.tables(t), dataset.Options{Observed: "train"}))(t)
		said := ""
		if p, err := Prepare(t.Context(), Options{}, Task{Set: set, Group: &alike{size: 2}}); err != nil {
			said = err.Error()
		} else if said = strings.Join(p.Notes, "\n"); p.grid != nil {
			t.Errorf("%d labels known: it chooses", known)
		}
		if !strings.Contains(said, want) || want == "" && strings.Contains(said, "learn them together") {
			t.Errorf("%d labels known: %q, want %q", known, said, want)
		}
	}
}
