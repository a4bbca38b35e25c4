package dataset

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSamples: tables of samples become labels, names, types and edges.
func TestSamples(t *testing.T) {
	ising, potts := Options{Untied: true, Spins: true}, Options{Untied: true}
	for name, c := range map[string]struct {
		text, edges string
		o           Options
		columns     string
		states      string // of each type
		labels      string
		pairs       int
	}{
		"spins":     {"a,b,c\n-1,1,1\n1,-1,1\n1,1,-1\n", "", ising, "a b c", "[[-1 1]]", "[[0 1 1] [1 0 1] [1 1 0]]", 3},
		"no header": {"0,1,1\n1,0,0\n1,1,0\n0,0,1\n", "", ising, "  ", "[[0 1]]", "[[0 1 1] [1 0 0] [1 1 0] [0 0 1]]", 3},
		"blanks":    {"# a b c\n 0  1 1\n1 0 0\n", "", ising, "a b c", "[[0 1]]", "[[0 1 1] [1 0 0]]", 3},
		"hashtags":  {"#p,q\n#a,x\n#b,y\n", "", ising, "p q", "[[#a #b] [x y]]", "[[0 0] [1 1]]", 1},
		"words": {"party\tbill\t\"a\tlaw\"\nrep\ty\tn\ndem\t?\ty\nrep\tn\tNA\ndem\ty\t\n", "", ising,
			"party bill a\tlaw", "[[dem rep] [n y]]", "[[1 1 0] [0 -1 1] [1 0 -1] [0 1 -1]]", 3},
		"answers": {"q1;q2\n1,5;2\n\n;\n3;2\n2;1,5\n\n", "", potts, "q1 q2", "[[2 3 1,5]]", "[[2 0] [1 0] [0 2]]", 1},
		"pandas":  {",a,b\n0,0.0,1\n1,1.0,0\n2,,1\n", "", ising, "a b", "[[0 1]]", "[[0 1] [1 0] [-1 1]]", 1},
		"votes": {"a,b\n-1,1\n1,-1\n1,0\n-1,1\n1,-1\n-1,1\n", "", ising, "a b", "[[-1 1]]",
			"[[0 1] [1 0] [1 -1] [0 1] [1 0] [0 1]]", 1},
		"gaps": {"a,b\n1,0\n-1,1\n1,-1\n1,0\n-1,0\n-1,0\n", "", ising, "a b", "[[0 1]]",
			"[[1 0] [-1 1] [1 -1] [1 0] [-1 0] [-1 0]]", 1},
		"numbered":    {"0,1,2\n1,0,1\n0,0,0\n", "u,v\n2,0\n0,2\n", ising, "0 1 2", "[[0 1]]", "[[1 0 1] [0 0 0]]", 1},
		"named edges": {"b,a,c\n1,0,1\n0,0,0\n", "#\nfrom,to\na,c\nb,c\n", ising, "b a c", "[[0 1]]", "[[1 0 1] [0 0 0]]", 2},
		"left out": {"id,a,b\nx1,1,0\nx2,0,0\n", "",
			Options{Untied: true, Spins: true, Columns: []string{"ignore=ID"}}, "a b", "[[0 1]]", "[[1 0] [0 0]]", 1},
		"weights": {"w,a,b\n0.5,1,0\n2,0,1\n", "",
			Options{Untied: true, Spins: true, SampleWeights: "w"}, "a b", "[[0 1]]", "[[1 0] [0 1]]", 1},
		"lattice": {"0,1,1,0,1,0\n1,0,0,1,1,0\n", "",
			Options{Untied: true, Spins: true, Lattice: "2x3"}, "     ", "[[0 1]]", "[[0 1 1 0 1 0] [1 0 0 1 1 0]]", 7},
		"periodic": {"0,1,1,0,1,0,1,1,0\n1,0,0,1,1,0,1,0,1\n", "",
			Options{Untied: true, Spins: true, Lattice: "3x3:periodic"}, "        ", "[[0 1]]",
			"[[0 1 1 0 1 0 1 1 0] [1 0 0 1 1 0 1 0 1]]", 18},
	} {
		files := map[string]string{"s.csv": c.text}
		if c.edges != "" { // which is read as it lies beside
			files["edges.csv"] = c.edges
		}
		set, err := Open(t.Context(), []string{filepath.Join(writeFiles(t, files), "s.csv")}, c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var states [][]string
		for _, of := range set.Schema.NodeTypes {
			states = append(states, of.States)
		}
		columns := numeric.Map(set.Recipe.Columns, func(c sampleColumn) string { return c.Name })
		in := set.Instances[0]
		if got := fmt.Sprint(in.Samples()); got != c.labels || fmt.Sprint(states) != c.states || strings.Join(columns, " ") != c.columns || in.Graph.NumEdges() != c.pairs {
			t.Errorf("%s: labels %s, states %v, columns %q, %d edges", name, got, states, columns, in.Graph.NumEdges())
		}
		weights := [2]float64{in.SampleWeight(0), in.TotalWeight()}
		oracle.Equal(t, name != "weights" || weights == [2]float64{.5, 2.5}, true, "weights %v", weights)
		oracle.Equal(t, slices.Contains(set.Warnings, "2 empty rows are no samples, and left out"), name == "answers",
			"%s: tells of empty rows in %q", name, set.Warnings)
		// The model reads a table with its columns in another order, and refuses one without some.
		o := modelOf(set)
		if name == "spins" {
			mustOpen(t, writeText(t, "g.csv", "a,b,c\n1,,\n-1,,\n"), o) // to be completed
			given := mustOpen(t, writeText(t, "g.csv", "c,b,a\n1,1,-1\n1,-1,-1\n"), o)
			oracle.Equal(t, given.Instances[0].Samples(), [][]int32{{0, 1, 1}, {0, 0, 1}}, "reordered")
			refuses(t, writeText(t, "g.csv", "a,b\n1,-1\n-1,1\n"), o, `the model's column "c" is missing`)
			// 0 may be what is not known, but where nothing is -1 it may be a spin.
			given = mustOpen(t, writeText(t, "g.csv", "a,b,c\n0,-1,1\n1,-1,0\n"), o)
			oracle.Equal(t, given.Instances[0].Samples(), [][]int32{{-1, 0, 1}, {1, 0, -1}}, "votes")
			oracle.Contains(t, given.Warnings[0], "2 of 6 cells are 0 or -1, no state of the model, and taken for missing")
			few := "a,b,c\n" + strings.Repeat("1,0,1\n0,1,1\n", 5)
			refuses(t, writeText(t, "g.csv", few+"1,1,0\n"), o, `g.csv:3: column 1 has "0", which is no state of `,
				"write -1, 1, and leave cells empty")
			given = mustOpen(t, writeText(t, "g.csv", few[:len(few)-6]), o)
			oracle.Contains(t, given.Warnings[0], "are 0 or -1, no state of the model")
			mustOpen(t, writeText(t, "g.csv", few+"1,-1,0\n"), o)
		} else if name == "answers" { // one row may do without the first state
			mustOpen(t, writeText(t, "g.csv", "q1;q2\n0;3\n"), o)
		}
	}
}

func writeText(t *testing.T, name, text string) string {
	return filepath.Join(writeFiles(t, map[string]string{name: text}), name)
}

// TestSamplesMistakes: what cannot be samples is refused, with its place.
func TestSamplesMistakes(t *testing.T) {
	ising := Options{Untied: true, Spins: true}
	twoRows := func(n int) string { return strings.Repeat("0,", n-1) + "1\n" + strings.Repeat("1,", n-1) + "0\n" }
	for text, want := range map[string]string{
		"a,b\nx,1\nx,0\n":              `all values of column "a" are "x"`,
		"a,b\n?,1\n,0\n":               `column 1, "a", has no value`,
		"a,a\n0,1\n1,0\n":              `columns 1 and 2 are both called "a"`,
		"#a,b\n0,1,1\n1,0,1\n":         "s.csv:2: the number of cells is 3, the first row has 2",
		"a,b\n0,1\n1,0,1\n":            "s.csv:3: the number of cells is 3, the first row has 2",
		"a,b\n":                        "no sample below it",
		"a\n0\n1\n":                    "separate columns by commas",
		"a,b\n0,\"1\n":                 "s.csv:2: ",
		">x\nACDEF\n>y\nACD\n":         "s.csv:3: the sequence has 3 sites, the first has 5",
		">x\nAC1EF\n>y\nACDEF\n":       `s.csv:1: there is a "1" in the sequence`,
		"a,b\n0,1\n1,0\xff\n":          "not text in UTF-8",
		">x\n----\n":                   "want an alignment of two sequences",
		"a,b\n1,0\n-1,1\n-1,0\n":       "s.csv:3: column 1 has -1 and 1, and others 0 and 1, beside which -1 would be a mi",
		twoRows(1002):                  "s.csv:1: there are 1002 columns and 2 rows",
		"sample,b\nr1,1\nr2,0\nr3,0\n": `third value of column "sample": r1, r2, r3`,
	} {
		refuses(t, writeText(t, "s.csv", text), ising, want)
	}
	mustOpen(t, writeText(t, "rows.txt", "0 1 1\n1 0 0\n"), ising)
	mustOpen(t, writeText(t, "wide.csv", twoRows(202)), ising) // of whose pairs some may be chosen
	days := "day,b\n" + strings.Repeat(strings.Join(strings.Split("abcdefghijklmnopqrstu", ""), ",0\n")+",1\n", 2)
	set := mustOpen(t, writeText(t, "s.csv", days), Options{Untied: true})
	oracle.Contains(t, set.Warnings[0], `column "day" has 21 different values, each a state`)
	// Of columns that share values it is the one that has the most, and counts are no classes.
	long := "site,sample,x\n"
	for i := range 60 {
		long += fmt.Sprintf("%d,%d,%d\n", i%2, i/2, i%3)
	}
	set = mustOpen(t, writeText(t, "s.csv", long), Options{Untied: true})
	oracle.Contains(t, set.Warnings[0], `column "sample" has 30 different values, each a state`)
	counts := "a,b\n" + strings.Repeat("0,1\n1,0\n2,1\n", 20) + "3,5\n4,6\n"
	notes := fmt.Sprint(mustOpen(t, writeText(t, "s.csv", counts), Options{Untied: true}).Warnings)
	oracle.Contains(t, notes, `column "a" has 5 different values, numbers that are states without an order, some of them `)
	counts = "a,b\n" + strings.Repeat("0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n", 9) // of a scale, or dice
	wide := mustOpen(t, writeText(t, "s.csv", counts), Options{Untied: true}).Warnings
	oracle.Equal(t, len(wide), 1, "notes of frequent numbers, but for that of all pairs: %q", wide)
	signs := mustOpen(t, writeText(t, "s.csv", "a,b,\n+,-,\n-,+,\n+,+,\n"), ising)
	oracle.Equal(t, fmt.Sprintf("%q %d", signs.Schema.NodeTypes[0].States, signs.Instances[0].Graph.NumNodes()),
		`["+" "-"] 2`, "states and nodes of %q", signs.Warnings)
	oracle.Equal(t, strings.Contains(fmt.Sprint(signs.Warnings), "like any other"), false, "a note of signs")
	unnamed := mustOpen(t, writeText(t, "s.csv", ",a,,b,,\n7,+,-,+,,\n8,-,+,+,,\n9,+,+,-,,\n"), ising)
	oracle.Equal(t, unnamed.Instances[0].Graph.NumNodes(), 3, "nodes, of which one has no name: %q", unnamed.Warnings)
	for _, mark := range []string{"-1", "Don't know", "9"} {
		set = mustOpen(t, writeText(t, "s.csv", "a,b\n0,1\n1,2\n2,1\n"+mark+",1\n"), Options{Untied: true})
		oracle.Contains(t, set.Warnings[0], fmt.Sprintf("the label %q is a state like any other", mark))
	}
	set = mustOpen(t, writeText(t, "s.csv", strings.Repeat("0,1"+strings.Repeat(",0,1", 10)+"\n", 3)), ising)
	oracle.Contains(t, set.Warnings[0], "there are 22 columns and 3 rows: rows are samples; where columns are, turn ")
	_, err := Open(t.Context(), []string{writeText(t, "s.csv", "a,b\n0,1\n1,0\n"),
		writeText(t, "edges.csv", "k,from_id,to_id\n7,a,z\n")}, ising)
	oracle.WantError(t, err, `edges.csv:2:to_id: there is no node "z" in `)
	refuses(t, writeText(t, "x.fasta", ">x\nACD\n>y\nACD\n"), Options{},
		"it is an alignment of sequences, which is not read; learn its couplings by")
	table := writeText(t, "s.csv", "a,b\n0,1\n1,0\n")
	for _, other := range []string{"a,b\n2,2\n1,1\n", "a,c\n0,0\n1,1\n", "u,v\na,b\nb,c\n"} {
		_, err = Open(t.Context(), []string{table, writeText(t, "t.csv", other)}, Options{Untied: true})
		oracle.WantError(t, err, "t.csv:columns: they, or their states, are not those of ")
	}
	refuses(t, table, Options{Untied: true, SampleWeights: "w"}, `"w" is no column of`)
	refuses(t, table, Options{Untied: true, Columns: []string{"ignore=w"}}, `there is no column "w" to ignore`)
	o := ising
	o.Lattice = "1x2"
	_, err = FromArrays(Manifest{}, o, &Arrays{Edges: [][2]int32{{0, 1}}, Labels: [][]int32{{0, 1}}})
	oracle.WantError(t, err, "Lattice: ", "it is for tables of samples")
	refuses(t, table, Options{SampleWeights: "w"}, "SampleWeights: ", "it is for samples: give ", "Untied")
	for _, o.Lattice = range []string{"1x3", "1x2:periodic", "1x2x1", "-1x-2", "1x2:torus",
		"3x6148914691236517206"} { // whose product overflows to 2
		refuses(t, table, o, "Lattice: ", "with a node for each of 2 columns")
	}
}

// TestAlignments: the three ways of writing them are one, and sequences weigh as many as are alike.
func TestAlignments(t *testing.T) {
	a3m := ">one\nACDefGH-KL.\n>two\nACD.GHI\nKL\n>three\nX--GHIVV\n"
	o := Options{Untied: true}
	set := mustOpen(t, writeText(t, "a.a3m", a3m), o)
	again := mustOpen(t, writeText(t, "b.aln", "ACDGH-KLACDGH\nACDGHIKLACDGH\nX--GHIVVX--GH\n"), o)
	in := set.Instances[0]
	oracle.Equal(t, fmt.Sprint(in.Samples()), "[[0 4 3 7 8 20 11 10] [0 4 3 7 8 9 11 10] [20 20 20 7 8 9 19 19]]",
		"labels")
	if in.SampleWeight(0) != 0.5 || in.SampleWeight(2) != 1 || set.Schema.EdgeTypes[0].Symmetric || in.Graph.NumEdges() != 28 {
		t.Errorf("weights %v, %v; %+v, %d edges", in.SampleWeight(0), in.SampleWeight(2), set.Schema.EdgeTypes[0], in.Graph.NumEdges())
	}
	if got := again.Instances[0].Samples()[2][:8]; !reflect.DeepEqual(got, in.Samples()[2]) || len(again.Instances[0].Samples()[0]) != 13 {
		t.Errorf("rows of letters are %v", got)
	}
	short := mustOpen(t, writeText(t, "d.txt", "ARN\nARD\n"), o)
	oracle.Equal(t, short.Instances[0].Samples(), [][]int32{{0, 1, 2}, {0, 1, 3}}, "rows of three letters")
	lower := mustOpen(t, writeText(t, "c.fa", ">One-\nacdgh-kl\n>TWO\nacdghikl\n>x\n---ghivv\n"), o)
	oracle.Equal(t, lower.Instances[0].Samples(), in.Samples(), "in lower case")
	// By hand, over every identity and length of rows.
	rng := rand.New(rand.NewPCG(45, 3))
	for trial := range 20 {
		sites, rows := 2+rng.IntN(30), make([]string, 12)
		for i := range rows {
			for range sites {
				rows[i] += string("ACDE-"[rng.IntN(2+rng.IntN(4))])
			}
		}
		rows[1] = rows[0]
		identity := float64(1+trial) / 20
		o.SampleWeights = fmt.Sprint(identity)
		in := mustOpen(t, writeText(t, "r.fa", ">x\n"+strings.Join(rows, "\n>x\n")+"\n"), o).Instances[0]
		for i, a := range rows {
			alike := 0
			for _, b := range rows {
				same := 0
				for s := range a {
					if a[s] == b[s] {
						same++
					}
				}
				if float64(same) >= identity*float64(sites) {
					alike++
				}
			}
			oracle.MustEqual(t, in.SampleWeight(i), 1/float64(alike), "weight at identity %v of %d sites", identity, sites)
		}
	}
	o.SampleWeights = "none"
	oracle.Equal(t, mustOpen(t, writeText(t, "a.a3m", a3m), o).Instances[0].TotalWeight(), 3, "without weights")
}
