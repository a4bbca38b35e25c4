//go:build linux

package torture

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGrowth: of counts that a file chooses, twice as many take at most 2.5 times as much of the
// processor.
func TestGrowth(t *testing.T) {
	c, all := built(t), counts()
	tried := len(all)
	if !*full {
		tried = 6
	}
	for n := range tried {
		one := all[spread(n, len(all))]
		t.Run(one.name, func(t *testing.T) { attempt(t, c, "growth", n, one.try) })
	}
}

const (
	// mostGrowth is how much more of the processor a file may take that has twice as many of
	// something. What goes with the square of the number takes four times as much.
	mostGrowth = 2.5
	// startup is what a command takes for nothing, and the clock of the system may be wrong by.
	startup = 0.05
)

// count is a number that a file chooses.
type count struct {
	name string
	from int // the number to begin with
	// make writes a file with so many.
	make func(t *trial, n int)
	// lines are commands that read it; those that begin with ! have to refuse it.
	lines []string
}

// try doubles the number until a command takes so long that its growth is told, or refuses so many.
func (c count) try(t *trial) {
	enough := 0.3
	if *full {
		enough = 1.5
	}
	const mostDoublings = 14
	before, limit := c.measure(t, c.from)
	for n := c.from; n < c.from<<mostDoublings && !limit; n *= 2 {
		after, refused := c.measure(t, 2*n)
		for i := range c.lines {
			if after[i] > mostGrowth*before[i]+startup {
				c.suspect(t, i, n, before[i])
			}
		}
		before, limit = after, refused || slices.Max(after) > enough
	}
}

// suspect fails where each of three doublings of n takes the i-th command too much more. Caches that are full,
// or another program, may be at fault for one or two: what goes with the square takes 64 times as much in the end.
func (c count) suspect(t *trial, i, n int, seconds float64) {
	took := []float64{seconds}
	for range 3 {
		n *= 2
		one, _ := c.measure(t, n)
		two, _ := c.measure(t, n)
		took = append(took, min(one[i], two[i]))
		if took[len(took)-1] <= mostGrowth*took[len(took)-2]+startup {
			return
		}
	}
	t.failf("%s with %d %s, and each time twice as many: %.2f s of the processor", c.lines[i], n/8, c.name, took)
}

// measure returns the seconds of the processor that the commands take by themselves, as what the system takes to hand
// out pages is by chance, and whether one has an answer that it does not have to few: it may refuse many.
func (c count) measure(t *trial, n int) (seconds []float64, refused bool) {
	c.make(t, n)
	for _, line := range c.lines {
		line, refuse := strings.CutPrefix(line, "!")
		r := t.start(strings.Fields(line)...).end()
		t.whole(r)
		const atStart = 4 // nothing was learned in so few passes
		if other := refuse != (r.code != 0 && r.code != atStart); other {
			const few = 4
			if refused = true; n < few*c.from {
				t.failf("%s with %d %s: exit code %d: %s", r.line, n, c.name, r.code, cut(r.text(), 300))
			}
		}
		seconds = append(seconds, r.own)
	}
	return seconds, refused
}

// counts are all of them.
func counts() []count {
	return slices.Concat(columnCounts(), rowCounts(), archiveCounts(), typeCounts(), nameCounts(),
		networkCounts(), potentialCounts(), textCounts(), modelCounts(), learnedCounts(), runCounts(), pictureCounts())
}

// columnCounts are of tables with a header.
func columnCounts() []count {
	of := func(name string, from int, header, cells func(n int) string) count {
		return count{name, from, func(t *trial, n int) {
			t.files("d/nodes.csv", threeNodes(header(n), cells(n)), "d/edges.csv", twoEdges)
		}, folderLines}
	}
	each := func(pattern string) func(int) string { return func(n int) string { return numbered(n, "", pattern) } }
	return []count{
		of("columns of a table of nodes", 2000, each(",x#"), each(",#")),
		of("columns of words", 2000, each(",x#"), each(",v#")),
		of("columns with empty cells", 2000, each(",x#"), each(",")),
		of("columns without names", 2000, each(","), each(",#")),
		of("columns called by numbers", 2000, each(",#"), each(",#")),
		of("letters of a column's name", 1000, func(n int) string { return ",x" + strings.Repeat("y", n) },
			func(int) string { return ",1" }),
		{"columns of a table of edges", 2000, func(t *trial, n int) {
			t.files("d/nodes.csv", threeNodes("", ""), "d/edges.csv",
				"source,target"+numbered(n, "", ",x#")+"\n0,1"+numbered(n, "", ",#")+"\n1,2"+numbered(n, "", ",1")+"\n")
		}, folderLines},
		{"cells of one row", 2000, func(t *trial, n int) {
			t.files("d/nodes.csv", threeNodes(",x", ",1")+"3,1"+numbered(n, "", ",#")+"\n", "d/edges.csv", twoEdges)
		}, refusedFolder},
	}
}

// rowCounts are of tables with and without a header.
func rowCounts() []count {
	of := func(name string, nodes, edges func(n int) string, lines []string) count {
		return count{name, 2000, func(t *trial, n int) { t.files("d/nodes.csv", nodes(n), "d/edges.csv", edges(n)) }, lines}
	}
	rows := func(n int) string {
		return "id,label,x\n" + listed(n, "", func(i int) string { return fmt.Sprintf("n%d,%d,%d\n", i, i%2, i*7%11) })
	}
	joined := func(format string) func(n int) string {
		return func(n int) string {
			return "source,target\n" + listed(n-1, "", func(i int) string { return fmt.Sprintf(format, i, i+1) })
		}
	}
	three, two := func(int) string { return threeNodes(",x", ",1") }, func(int) string { return twoEdges }
	return []count{
		of("nodes of a chain of rows", rows, joined("n%d,n%d\n"), folderLines),
		of("nodes around one of them", rows, joined("n0,n%[2]d\n"), folderLines),
		of("edges to unknown nodes", rows, joined("m%d,m%d\n"), refusedFolder),
		of("rows of one node", func(n int) string { return "id,label,x\n" + strings.Repeat("n,1,2\n", n) }, two,
			refusedFolder),
		of("ragged rows", func(n int) string { return "id,label,x\n" + numbered(n, "", "#\n") }, two, refusedFolder),
		of("rows of one edge", three, func(n int) string { return "source,target\n0,1\n" + strings.Repeat("1,2\n", n) },
			folderLines),
		of("splits", func(n int) string {
			return "id,label,split\n" + listed(n, "", func(i int) string { return fmt.Sprintf("n%d,%d,s%d\n", i, i%2, i) })
		}, func(int) string { return "source,target\nn0,n1\n" },
			append(folderLines[:2:2], "!train d --dry-run --observed x")),
		{"classes", 100, func(t *trial, n int) {
			t.files("d/nodes.csv", "id,label,x\n"+numbered(n, "", "n#,s#,#\nm#,s#,1\nk#,,1\n"), "d/edges.csv",
				"source,target\nn0,n1\n")
		}, []string{"check d"}},
		{"features of a node", 2000, func(t *trial, n int) {
			t.files("d/nodes.tsv", "a\t0\ttrain\t"+numbered(n, " ", "#")+"\nb\t1\ttrain\t1\n", "d/edges.tsv", "a\tb\n")
		}, folderLines},
		{"rows without a header", 2000, func(t *trial, n int) {
			t.files("d/nodes.tsv",
				listed(n, "", func(i int) string { return fmt.Sprintf("n%d\t%d\ts%d\t%d\n", i, i%2, i, i%7) }),
				"d/edges.tsv", listed(n-1, "", func(i int) string { return fmt.Sprintf("n%d\tn%d\n", i, i+1) }))
		}, folderLines},
		{"pairs of tables", 50, func(t *trial, n int) {
			for i := range n {
				t.files(fmt.Sprintf("d/t%d.nodes.csv", i), threeNodes(",x", ",1"), fmt.Sprintf("d/t%d.edges.csv", i), twoEdges)
			}
		}, folderLines},
	}
}

// archiveCounts are of files of arrays, and of what is in them.
func archiveCounts() []count {
	return []count{
		{"npz files", 50, func(t *trial, n int) {
			for i := range n {
				t.write(fmt.Sprintf("d/%d.npz", i), chain([]int{0, 1, 1}))
			}
		}, folderLines},
		{"unknown arrays", 200, func(t *trial, n int) {
			t.write("a.npz", chain([]int{0, 1, 1}, arraysOf(n, "x%d")...))
		}, []string{"!check a.npz", "!train a.npz --dry-run"}},
		{"arrays of unknown types", 200, func(t *trial, n int) {
			t.write("a.npz", chain([]int{0, 1, 1}, arraysOf(n, "node_features.x%d")...))
		}, []string{"!check a.npz", "!train a.npz --dry-run"}},
		{"edges of a star", 1000, func(t *trial, n int) {
			star := make([]int, 0, 2*n)
			for i := 1; i < n; i++ {
				star = append(star, 0, i)
			}
			t.write("a.npz", npz(ints("edges", []int{n - 1, 2}, star), ints("labels", []int{n}, alternating(n))))
		}, append(linesOf("a.npz"), "train a.npz -o r -q --force --report=false --max-passes 1")},
		{"edges of a chain", 1000, func(t *trial, n int) { t.write("a.npz", longChain(n)) },
			append(linesOf("a.npz"), "train a.npz -o r -q --force --report=false --max-passes 1")},
	}
}

// typeCounts are of types, by name and by number.
func typeCounts() []count {
	of := func(name string, manifest func(n int) string, arrays func(n int) []array) count {
		return count{name, 100, func(t *trial, n int) {
			t.write("d/a.npz", longChain(n, arrays(n)...))
			t.files("d/dataset.json", `{"states": ["a", "b"]`+manifest(n)+"}")
		}, folderLines}
	}
	nodeNames := func(n int) string { return `, "node_types": [` + numbered(n, ", ", `"t#"`) + "]" }
	edgeNames := func(n int) string { return `, "edge_types": [` + numbered(n-1, ", ", `"t#"`) + "]" }
	edgesWithEnds := func(n int) string {
		return `, "edge_types": [` + numbered(n, ", ", `{"name": "e#", "u": "t#", "v": "t#"}`) + "]"
	}
	nodes := func(n int) array { return ints("node_types", []int{n}, upTo(n)) }
	edges := func(n int) array { return ints("edge_types", []int{n - 1}, upTo(n-1)) }
	return []count{
		of("node types", nodeNames, func(n int) []array { return []array{nodes(n)} }),
		of("node types by number", func(int) string { return "" }, func(n int) []array { return []array{nodes(n)} }),
		of("edge types", edgeNames, func(n int) []array { return []array{edges(n)} }),
		of("edge types with ends", func(n int) string { return nodeNames(n) + edgesWithEnds(n) }, func(n int) []array {
			return []array{ints("node_types", []int{n}, make([]int, n)), ints("edge_types", []int{n - 1}, make([]int, n-1))}
		}),
	}
}

// nameCounts are of names in dataset.json.
func nameCounts() []count {
	of := func(name string, from int, lines []string, names func(n int) string) count {
		return count{name, from, func(t *trial, n int) {
			t.write("d/a.npz", chain([]int{0, 0, 0}))
			t.files("d/dataset.json", names(n))
		}, lines}
	}
	check, names := []string{"check d"}, func(n int) string { return numbered(n, ", ", `"s#"`) }
	return []count{
		of("keys of dataset.json", 1000, refusedFolder, func(n int) string { return "{" + numbered(n, ", ", `"k#": 1`) + "}" }),
		of("states", 100, check, func(n int) string { return `{"states": [` + names(n) + "]}" }),
		of("forbidden states", 100, check, func(n int) string {
			return `{"forbidden_states": [` + names(n) + `], "states": ["a", "b", ` + names(n) + "]}"
		}),
		of("forbidden pairs", 100, check, func(n int) string {
			k := int(math.Sqrt(float64(n))) + 2
			return fmt.Sprintf(`{"states": %d, "directed": true, "forbidden_pairs": [`, k) + listed(n, ",", func(i int) string { return fmt.Sprintf(`["%d", "%d"]`, 1+i%(k-1), 1+i/(k-1)) }) + `]}`
		}),
		of("forbidden names of no states", 100, []string{"!check d"}, func(n int) string {
			return `{"states": 1000, "forbidden_states": [` + names(n) + "]}"
		}),
		{"names of features", 1000, func(t *trial, n int) {
			t.write("d/a.npz", chain([]int{0, 1, 1}, floats("node_features", []int{3, n}, make([]float64, 3*n))))
			t.files("d/dataset.json", `{"node_features": [`+names(n)+"]}")
		}, folderLines},
	}
}

// networkCounts are of UAI networks, evidence and results.
func networkCounts() []count {
	of := func(name string, card, factors, scope, table func(n int) string) count {
		return count{name, 1000, func(t *trial, n int) {
			t.files("net.uai", fmt.Sprintf("MARKOV\n%s\n%s\n%s\n%s\n", card(n), factors(n), scope(n), table(n)))
		}, []string{"check net.uai", "info net.uai", "infer net.uai --max-sweeps 2", "infer net.uai --task MPE " +
			"--max-sweeps 2", "infer net.uai --task MAR --method exact"}}
	}
	constant := func(text string) func(int) string { return func(int) string { return text } }
	many := func(text string) func(int) string { return func(n int) string { return strings.Repeat(text+"\n", n) } }
	binary := func(n int) string { return fmt.Sprintf("%d\n%s", n, strings.Repeat("2 ", n)) }
	itself := func(n int) string { return fmt.Sprint(n) }
	oneLess := func(n int) string { return fmt.Sprint(n - 1) }
	pairs := func(format string) func(int) string {
		return func(n int) string {
			return listed(n-1, "\n", func(i int) string { return fmt.Sprintf(format, i, i+1) })
		}
	}
	pairTables := func(n int) string { return strings.Repeat("4 1 2 3 4\n", n-1) }
	return []count{
		of("variables", binary, constant("0"), constant(""), constant("")),
		of("factors of a chain", binary, oneLess, pairs("2 %d %d"), pairTables),
		of("factors of a star", binary, oneLess, pairs("2 0 %[2]d"), pairTables),
		of("factors of one variable", constant("1\n2"), itself, many("1 0"), many("2 1 2")),
		of("factors of two variables", constant("2\n2 2"), itself, many("2 0 1"), many("4 1 2 3 4")),
		of("variables of one factor", func(n int) string { return fmt.Sprintf("%d\n%s", n, strings.Repeat("1 ", n)) },
			constant("1"),
			func(n int) string { return fmt.Sprintf("%d %s", n, numbered(n, " ", "#")) }, constant("1 1")),
		of("states of a variable", func(n int) string { return fmt.Sprintf("2\n%d 2", n) }, constant("1"), constant("2 0 1"),
			func(n int) string { return fmt.Sprintf("%d %s", 2*n, strings.Repeat("1 2 ", n)) }),
		{"pieces of evidence", 1000, func(t *trial, n int) {
			t.files("net.uai", "MARKOV\n"+binary(n)+"\n0\n", "it.evid", fmt.Sprintf("%d %s\n", n, numbered(n, " ", "# 1")))
		}, []string{"infer net.uai --evidence it.evid", "infer net.uai --task MPE --evidence it.evid"}},
	}
}

// textCounts are of tagged text.
func textCounts() []count {
	of := func(name, file string, from int, text func(n int) string, more ...string) count {
		return count{name, from, func(t *trial, n int) { t.files(file, text(n)) }, append(linesOf(file), more...)}
	}
	tags := of("tags", "d.conll", 100, func(n int) string { return numbered(n, "", "w T#\nw T#\nv T#\n\n") })
	tags.lines = tags.lines[:1] // others take memory for so many states
	return []count{
		tags,
		of("columns of text", "d.conll", 100, func(n int) string {
			line := numbered(n, " ", "w#")
			return "a " + line + " X\nb " + line + " Y\n\nc " + line + " X\n"
		}),
		of("tokens of a sentence", "d.conll", 1000, func(n int) string {
			return listed(n, "", func(i int) string { return fmt.Sprintf("W%d X%d\n", i%7, i%2) })
		}),
		of("sentences", "d.conll", 1000, func(n int) string {
			return listed(n, "", func(i int) string { return fmt.Sprintf("w%d X%d\n\n", i, i%2) })
		}),
		of("attributes of a token", "d.crfsuite",
			1000, func(n int) string { return "X\t" + numbered(n, "\t", "a#") + "\nY\tb\n" }),
		of("attributes of one name", "d.crfsuite",
			1000, func(n int) string { return "X\t" + strings.Repeat("a\t", n) + "\nY\tb\n" }),
		of("letters of a token", "d.conll", 1000, func(n int) string { return strings.Repeat("Aa", n) + " X\nb Y\n" }),
	}
}

// modelCounts are of models, which lack too much to be used.
func modelCounts() []count {
	of := func(name string, header func(n int) string) count {
		return count{name, 100, func(t *trial, n int) {
			text := header(n)
			t.write("m.safetensors", append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...))
		}, []string{"!info m.safetensors", "!check m.safetensors"}}
	}
	const about = `{"__metadata__":{"format":"blockbp-model","format_version":"3"`
	tensors := func(n int) string {
		return numbered(n, ",", `"node.t#":{"dtype":"F64","shape":[2,0],"data_offsets":[0,0]}`) + "}"
	}
	return []count{
		of("metadata of a model", func(n int) string { return `{"__metadata__":{` + numbered(n, ",", `"k#":"v"`) + "}}" }),
		of("tensors", func(n int) string { return about + "}," + tensors(n) }),
		of("node types of a model", func(n int) string {
			return about + `,"schema":"{\"node_types\":[` + numbered(n, ",", `{\"name\":\"t#\",\"states\":[\"a\",\"b\"]}`) + `]}"},` + tensors(n)
		}),
	}
}

// What reads a folder d, or has to refuse it.
var (
	folderLines   = []string{"check d", "info d", "train d --dry-run"}
	refusedFolder = []string{"!check d", "!train d --dry-run"}
)

// linesOf are what reads a file.
func linesOf(file string) []string {
	return []string{"check " + file, "info " + file, "train " + file + " --dry-run"}
}

// twoEdges join threeNodes, which have further columns.
const twoEdges = "source,target\n0,1\n1,2\n"

func threeNodes(header, cells string) string {
	text := "id,label" + header + "\n"
	for i := range 3 {
		text += fmt.Sprintf("%d,%d%s\n", i, i%2, cells)
	}
	return text
}

// files writes texts, each behind its name.
func (t *trial) files(texts ...string) {
	for i := 0; i < len(texts); i += 2 {
		t.write(texts[i], []byte(texts[i+1]))
	}
}

// numbered is a pattern with each of 0 to n − 1 in the place of #.
func numbered(n int, separator, pattern string) string {
	return listed(n, separator, func(i int) string { return strings.ReplaceAll(pattern, "#", strconv.Itoa(i)) })
}

// longChain is a chain of n nodes.
func longChain(n int, more ...array) []byte {
	edges := make([]int, 0, 2*n)
	for i := range n - 1 {
		edges = append(edges, i, i+1)
	}
	return npz(append(more, ints("edges", []int{n - 1, 2}, edges), ints("labels", []int{n}, alternating(n)))...)
}

// arraysOf are n arrays of one number each.
func arraysOf(n int, name string) (all []array) {
	for i := range n {
		all = append(all, floats(fmt.Sprintf(name, i), []int{1, 1}, []float64{1}))
	}
	return all
}

// alternating are the labels 0, 1, 0, ….
func alternating(n int) []int {
	labels := upTo(n)
	for i := range labels {
		labels[i] %= 2
	}
	return labels
}

// upTo are 0 to n − 1.
func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}
