package dataset

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestNetworks: a network, with evidence beside it.
func TestNetworks(t *testing.T) {
	folder := t.TempDir()
	path := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o666); text != "" && err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := path("x.uai", "MARKOV\n2\n2 3\n2\n1 0\n2 0 1\n2\n1 3\n6\n1 2 3 4 5 0\n")
	n := oracle.Must(ReadNetwork(text, 0))(t)
	if got, want := n.LogScore([]int{1, 1}), math.Log(3)+math.Log(5); !slices.Equal(n.Card, []int{2, 3}) || got != want {
		t.Errorf("states %v, score %v, want %v", n.Card, got, want)
	}
	for evidence, want := range map[string]string{
		"1 1 2": "",
		"0":     "",
		"1 1 7": "x.evid:1: variable 1 has state 7, want 0 to 2",
		"2\n1 0 1\n0 ": "x.evid:3: evidence is 5 words beginning with 2, want so many pairs of " +
			"variable and state; of several samples give one",
	} {
		file := path("x.evid", evidence)
		states, err := ReadEvidence(file, n)
		var at *Error
		if want == "" && (err != nil || len(states) != int(evidence[0]-'0')) ||
			want != "" && (!errors.As(err, &at) || err.Error() != filepath.ToSlash(folder)+"/"+want) {
			t.Errorf("evidence %q: %v, %v, want %q", evidence, states, err, want)
		}
	}
	var at *Error
	if _, err := ReadNetwork(path("z.uai", "MARKOV\n1\n0\n"), 0); !errors.As(err, &at) || at.Line != 3 {
		t.Errorf("error %v, want an Error of line 3", err)
	}
}
