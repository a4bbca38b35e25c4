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

// TestInterchange: the format gives the factors that it means.
func TestInterchange(t *testing.T) {
	log := func(values ...float64) []float64 {
		for i, x := range values {
			values[i] = math.Log(x)
		}
		return values
	}
	tables := strings.Index(family, "/* a table")
	given := log(0, .7, .5, .2, .5, .1) // of grass, whose states are slow
	for _, c := range []struct {
		name, text string
		grass      []float64
	}{
		{"family.bif", family, given},
		{"around.bif", strings.Replace(family, "version 1; }", "version 1;", 1) + "}\n", given},
		{"table.bif", strings.Replace(family, "(no) 0.7, 0.2, 0.1;\n  (yes) 0, 0.5, 0.5;",
			"table 0 .7 .5 .2 .5 .1;", 1), given},
		{"default.bif", strings.Replace(family, "(yes) 0, 0.5, 0.5;", "default .2 .3 .5;", 1), log(.2, .7, .3, .2, .5, .1)},
		{"behind.bif", family[tables:] + family[:tables], given},
		{"no-semicolon.bif", strings.NewReplacer("no };", "no }", "wet };", "wet }").Replace(family), given},
		{"property.bif", strings.Replace(family, "{ table", "{ property of = } ; table", 1), given},
		{"rounded.bif", strings.Replace(family, "0.7, 0.2, 0.1", "0.71, 0.2, 0.1", 1),
			log(0, .71/1.01, .5, .2/1.01, .5, .1/1.01)},
	} {
		n, err := readNamed(t, c.name, c.text)
		want := mrf.Network{Card: []int{2, 3}, Names: []string{"rain", "grass"},
			States:  [][]string{{"yes", "no"}, {"dry", "damp", "wet"}},
			Factors: []mrf.Factor{{Scope: []int{0}, LogTable: log(.25, .75)}, {Scope: []int{1, 0}, LogTable: c.grass}}}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(want, *n, cmpopts.EquateApprox(0, 1e-15)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestInterchangeRefuses: mistakes are told with their lines.
func TestInterchangeRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.bif", "variable x { type discrete [2] { a, b }; }\nprobability ( y ) { table 1; }\n",
			`a.bif:2: "y" is no variable that is declared`},
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
		{"a.bif", "probability ( y ) { table 1; }\n", `"y" is no variable`},
		{"a.bif", family[:len(family)-3], "the file ends where } should be"},
	} {
		oracle.Fails(readNamed(t, c.name, c.text))(t, c.want)
	}
}

// TestNamesBetweenQuotes: they may have blanks, signs and quotes in them, and evidence is given by them.
func TestNamesBetweenQuotes(t *testing.T) {
	n := oracle.Must(readNamed(t, "a.bif", `variable "wet grass" { type discrete [2] { "not yet", "a \"b\" // (c);" }; }
probability ( "wet grass" ) { table .25, .75; }
`))(t)
	want := &mrf.Network{Card: []int{2}, Names: []string{"wet grass"}, States: [][]string{{"not yet", `a "b" // (c);`}}}
	if diff := cmp.Diff(want, n, cmpopts.IgnoreFields(mrf.Network{}, "Factors")); diff != "" {
		t.Error(diff)
	}
	oracle.Equal(t, oracle.Must(ParseEvidence("wet grass=not yet", n))(t), map[int]int{0: 0}, "evidence")
}

func FuzzInterchange(f *testing.F) {
	f.Add(family)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := readInterchange(text, "x")
		if err != nil {
			return
		}
		for _, factor := range n.Factors {
			if size, ok := n.TableSize(factor.Scope); !ok || size != len(factor.LogTable) {
				t.Errorf("a table of %d entries over %v", len(factor.LogTable), factor.Scope)
			}
		}
	})
}
