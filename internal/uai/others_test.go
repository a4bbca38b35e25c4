package uai

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// readNamed reads a network from a file of some name.
func readNamed(t *testing.T, name, text string) (*mrf.Network, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return ReadFile(path)
}

const family = `// a Bayesian network
network "family" { property version 1; }
variable rain { type discrete [ 2 ] { yes, no }; }
variable grass {
  type discrete [3] { dry, damp, wet };
  property position = (1, 2);
}
/* a table for
   each state */
probability ( rain ) { table 0.25, 0.75; }
probability ( grass | rain ) {
  (no) 0.7, 0.2, 0.1;
  (yes) 0, 0.5, 0.5;
}
`

// TestOtherNetworks: each format gives the factors that it means.
func TestOtherNetworks(t *testing.T) {
	log := func(values ...float64) []float64 {
		for i, x := range values {
			values[i] = math.Log(x)
		}
		return values
	}
	for _, c := range []struct {
		name, text string
		want       mrf.Network
	}{
		{"family.bif", family, mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{
			{Scope: []int{0}, LogTable: log(.25, .75)},
			{Scope: []int{1, 0}, LogTable: log(0, .7, .5, .2, .5, .1)},
		}}},
		{"around.bif", strings.Replace(family, "version 1; }", "version 1;", 1) + "}\n",
			mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{
				{Scope: []int{0}, LogTable: log(.25, .75)},
				{Scope: []int{1, 0}, LogTable: log(0, .7, .5, .2, .5, .1)},
			}}},
		{"table.bif", strings.Replace(family, "(no) 0.7, 0.2, 0.1;\n  (yes) 0, 0.5, 0.5;", "table 0 .7 .5 .2 .5 .1;", 1),
			mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{
				{Scope: []int{0}, LogTable: log(.25, .75)},
				{Scope: []int{1, 0}, LogTable: log(0, .7, .5, .2, .5, .1)},
			}}},
		{"default.bif", strings.Replace(family, "(yes) 0, 0.5, 0.5;", "default .2 .3 .5;", 1),
			mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{
				{Scope: []int{0}, LogTable: log(.25, .75)},
				{Scope: []int{1, 0}, LogTable: log(.2, .7, .3, .2, .5, .1)},
			}}},
		// The first variable is the fastest, and entries that are not named are 0.
		{"a.fg", "# libDAI\n2\n\n1\n2\n2\n2\n0 3 # of state 0\n1 4\n\n2\n0 2\n3 2\n3\n0 1\n4 2\n5 5\n",
			mrf.Network{Card: []int{3, 1, 2}, Factors: []mrf.Factor{
				{Scope: []int{2}, LogTable: log(3, 4)},
				{Scope: []int{2, 0}, LogTable: log(1, 0, 0, 0, 2, 5)},
			}}},
		{"a.wcsp", "toy 2 3 3 10\n2 3\n2 0 1 1 2\n0 2 10\n1 0 4.5\n1 1 0 1\n2 7\n0 3 0\n",
			mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{
				{Scope: []int{0, 1}, LogTable: []float64{-1, -1, math.Inf(-1), -4.5, -1, -1}},
				{Scope: []int{1}, LogTable: []float64{0, 0, -7}},
				{Scope: []int{}, LogTable: []float64{-3}},
			}}},
	} {
		n, err := readNamed(t, c.name, c.text)
		if strings.HasSuffix(c.name, ".bif") {
			c.want.Names, c.want.States = []string{"rain", "grass"}, [][]string{{"yes", "no"}, {"dry", "damp", "wet"}}
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, *n, cmpopts.EquateApprox(0, 1e-15)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestOtherNetworksRefuse: mistakes are told with their lines.
func TestOtherNetworksRefuse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.bif", "variable x { type discrete [2] { a, b }; }\nprobability ( y ) { table 1; }\n", `a.bif:2: "y" is no variable that is declared before`},
		{"a.bif", "variable x { type discrete [2] { a, b }; }\nprobability ( x ) {\ntable .1 .2 .7; }\n",
			"a.bif:3: 3 probabilities are given, want 2"},
		{"a.bif", strings.Replace(family, "(yes)", "(maybe)", 1), `a.bif:13: "maybe" is no state of the variable`},
		{"a.bif", strings.Replace(family, "(yes) 0, 0.5, 0.5;", "", 1), "a.bif:14: a table lacks entries"},
		{"a.bif", strings.Replace(family, "0.75", "-1", 1), `a.bif:10: "-1", want a finite decimal number`},
		{"a.bif", "", "no variable is declared"},
		{"a.bif", "variable x { type discrete [2] { a, b }; }\n", `variable "x" has 0 probabilities, want one`},
		{"a.bif", "variable x { type discrete [3] { a, b }; }\n", "a.bif:1: a variable of 3 states names 2"},
		{"a.bif", strings.Replace(family, "0.75", "0.85", 1),
			"a.bif:10: the probabilities of a variable are 1.1 together, want 1"},
		{"a.bif", "MARKOV\n", `a.bif:1: "MARKOV", want network, variable or probability`},
		{"a.bif", family[:len(family)-3], "the file ends where } should be"},
		{"a.fg", "1\n2\n0 0\n2 2\n0\n", "factor 0 names a variable twice"},
		{"a.fg", "2\n1\n0\n2\n0\n1\n0\n3\n0\n", "variable 0 has 3 states, and 2 before"},
		{"a.wcsp", "x 1 2 1 9\n2\n1 0 0 -1 sum\n", "a.wcsp:3: the number of tuples of constraint 0"},
		{"a.wcsp", "x 1 2 1 9\n2\n1 0 0 1\n2 5\n", "a.wcsp:4: a state of constraint 0 is 2, want 0 to 1"},
		{"a.wcsp", "x 1 2 0 9\n2\n7\n", `"7" after the last constraint`},
	} {
		oracle.Fails(readNamed(t, c.name, c.text))(t, c.want)
	}
}

func FuzzOtherNetworks(f *testing.F) {
	f.Add(family, ".bif")
	f.Add("1\n\n1\n2\n2\n2\n0 3\n1 4\n", ".fg")
	f.Add("toy 2 3 1 10\n2 3\n2 0 1 1 1\n0 2 10\n", ".wcsp")
	f.Fuzz(func(t *testing.T, text, extension string) {
		read := readers[extension]
		if read == nil {
			return
		}
		n, err := read(text, "x")
		if err != nil {
			return
		}
		for _, factor := range n.Factors {
			if size, ok := mrf.TableSize(n.Card, factor.Scope); !ok || size != len(factor.LogTable) {
				t.Errorf("a table of %d entries over %v", len(factor.LogTable), factor.Scope)
			}
		}
	})
}
