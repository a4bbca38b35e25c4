package uai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

func TestReadEvidence(t *testing.T) {
	n := &mrf.Network{Card: []int{3, 3, 3, 3, 9}}
	for _, c := range []struct {
		name, text string
		want       []map[int]int
	}{
		{"nothing", "0", []map[int]int{{}}},
		{"nothing, with a newline", "0\n", []map[int]int{{}}},
		{"old", "2 0 1 3 2\n", []map[int]int{{0: 1, 3: 2}}},
		{"old, one variable", "1 4 8", []map[int]int{{4: 8}}},
		{"old, over several lines", "2\n0 1\n3 2\n", []map[int]int{{0: 1, 3: 2}}},
		{"new", "1\n2 0 1 3 2\n", []map[int]int{{0: 1, 3: 2}}},
		{"new, nothing observed", "1\n0\n", []map[int]int{{}}},
		{"new, two samples", "2\n1 0 1\n2 0 2 1 1\n", []map[int]int{{0: 1}, {0: 2, 1: 1}}},
		{"new, blank lines", "\n2\n\n1 0 1\n\n0\n", []map[int]int{{0: 1}, {}}},
		{"new, in one line", "1 2 0 1 3 2", []map[int]int{{0: 1, 3: 2}}},
		{"new, broken lines", "2 1 0 1\n2 0 2\n1 1", []map[int]int{{0: 1}, {0: 2, 1: 1}}},
		// The same numbers mean different things: only the lines tell.
		{"both, in one line", "2 1 2 0 0", []map[int]int{{1: 2, 0: 0}}},
		{"both, in lines", "2\n1 2 0\n0\n", []map[int]int{{2: 0}, {}}},
	} {
		got, err := uai.ReadEvidence(strings.NewReader(c.text), "x.evid", n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if difference := cmp.Diff(c.want, got); difference != "" {
			t.Errorf("%s: %s", c.name, difference)
		}
	}
}

func TestReadEvidenceRefuses(t *testing.T) {
	n := &mrf.Network{Card: []int{3, 3}}
	for _, c := range []struct{ text, message string }{
		{"", "x.evid:1: the file is empty"},
		{"1 1", "x.evid:1: evidence is 2 numbers beginning with 1"},
		{"3\n0 1\n0 2\n", "x.evid:3: evidence is 5 numbers"},
		{"1 0 -1", `x.evid:1: evidence has "-1"`},
		{"1 0 99999999999", `evidence has "99999999999"`},
		{"1 0x0 1", `x.evid:1: evidence has "0x0"`},
		{"1 1_0 1", `evidence has "1_0"`},
		{"1 zero 1", `evidence has "zero"`},
		{"1\n1 2 0\n", "x.evid:2: variable 2 does not exist: the network has 2 variables"},
		{"2\n1 0 1\n1 1 3\n", "x.evid:3: variable 1 has state 3, want 0 to 2"},
		{"2 0 1 0 1", "x.evid:1: variable 0 is observed twice"},
		{"2147483647 2147483647 1", "neither that many pairs"},
	} {
		_, err := uai.ReadEvidence(strings.NewReader(c.text), "x.evid", n)
		var located *uai.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%q: error is %v, want %q", c.text, err, c.message)
		}
	}
}
