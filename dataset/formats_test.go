package dataset

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/oracle"
)

const (
	karate = "0 1 4\n0 2 5\n0 3 3\n1 2 6\n1 3 3\n2 3 3\n"
	mallet = "Bill CAPITALIZED STARTSENT noun\nslept verb\nhere LOWER LAST adverb\n\nAnn CAPITALIZED noun\nran a:b " +
		"verb\n"
	brown = "The/at Fulton/np-tl County/nn-tl 1/2/cd\n\nThe/at jury/nn said/vbd ./.\n"
	ner   = "Sentence #,Word,POS,Tag\nSentence: 1,Thousands,NNS,O\n,of,IN,O\nSentence: " +
		"2,\",\",NNS,O\n,London,NNP,B-geo\n"
	spans = `{"text": "Ann Lee sings.", "label": [[0, 7, "PER"]]}` + "\n" + `{"text": "Oslo", "spans": [{"start": 0, ` +
		`"end": 4, "label": "LOC"}]}` + "\n"
	karateID = "id,club\n0,Hi\n1,Hi\n2,Officer\n3,Officer\n"
)

// letters are two words of Taskar's set, of 128 pixels.
var letters = fmt.Sprintf("1\to\t2\t1\t1\t0%[1]s\t\n2\ta\t-1\t1\t2\t0%[1]s\t\n3\to\t-1\t2\t1\t0%[1]s\t\n",
	strings.Repeat("\t0\t1", 64))

// archiveOf is the content of an npz file with arrays of some names, which nobody reads.
func archiveOf(t *testing.T, names ...string) string {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = nil
	}
	return string(zipOf(t, files))
}

// formatCase is a file, and what it is.
type formatCase struct{ name, text, want string }

// formatCases are those of testdata/formats.txt, which has what a file is, its name and its text.
func formatCases(t *testing.T) (cases []formatCase) {
	for line := range strings.Lines(string(oracle.Must(os.ReadFile("testdata/formats.txt"))(t))) {
		c, file := formatCase{}, ""
		c.want, file, _ = strings.Cut(line, " | ")
		oracle.Must(fmt.Sscanf(file, "%q %q", &c.name, &c.text))(t)
		cases = append(cases, c)
	}
	return cases
}

// TestFormats: what a file is, by its name and its lines, and what an error says of one that is not read.
func TestFormats(t *testing.T) {
	for _, c := range append(formatCases(t), []formatCase{
		{"long.txt", strings.Repeat("x", 5000), ""}, // of which no line is known
		{"w.raw", "FID IID PAT MAT SEX PHENOTYPE " + strings.Repeat("rs1_A ", 800) + "\n1 1 0 0 1 2 0 NA\n",
			"a table of genotypes, as of PLINK"}, // of longer lines than is read at first
		{"x.npz", archiveOf(t, "edges", "labels"), "a file of arrays"},
		{"x.npz", archiveOf(t, "x", "y", "edge_index"), "a file of arrays as PyTorch Geometric names them"},
		{"x.npz", archiveOf(t, "adj_data", "adj_indices", "adj_indptr", "adj_shape", "labels"), "a graph of sparse matrices"},
		{"x.npz", archiveOf(t, "labels", "beliefs", "states"), "a file of predictions"},
		{"x.npz", archiveOf(t, "theta"), "a network"},
		{"x.npz", archiveOf(t, "edges", "labels", "samples"), "a file of arrays"},
		{"x.npz", archiveOf(t, "labels"), "a file of arrays"},
		{"x.npz", archiveOf(t, "X", "y"), "a file of arrays of other names"},
		{"x.npz", archiveOf(t, "points", "labels"), "a file of arrays of other names"},
		{"x.npz", archiveOf(t, "edges", "node_features", "node_labels", "train_masks"), "a graph with masks"},
		{"x.npz", archiveOf(t, "samples", "log_score"), "a file of samples"},
	}...) {
		folder := writeFiles(t, map[string]string{c.name: c.text})
		p := formats.Look(filepath.Join(folder, c.name))
		if f := p.Best(); f.What != c.want || f.What != "" && f.Kind == "" && p.Advise(f.What) == "" {
			t.Errorf("%s, %q: it is %q, want %q and advice", c.name, c.text, f.What, c.want)
		}
	}
}

// TestAdviceRuns: a line that an error prints makes a file that is read.
func TestAdviceRuns(t *testing.T) {
	tags := []string{"B-LOC", "B-PER", "I-PER", "O"}
	for _, c := range []struct {
		name, text, made string
		tokens           [][]string
		states           []string
	}{
		{"mallet.txt", mallet, "mallet.crfsuite", [][]string{nil, nil}, []string{"adverb", "noun", "verb"}},
		{"brown.txt", brown, "brown.conll", [][]string{{"The", "Fulton", "County", "1/2"}, {"The", "jury", "said", "."}},
			[]string{".", "at", "cd", "nn", "nn-tl", "np-tl", "vbd"}},
		{"ner_dataset.csv", ner, "ner_dataset.conll", [][]string{{"Thousands", "of"}, {",", "London"}},
			[]string{"B-geo", "O"}},
		{"hf.jsonl", `{"id": 1, "tokens": ["Ann", "sees"], "ner_tags": [7, 0]}` + "\n", "hf.conll", [][]string{{"Ann",
			"sees"}}, []string{"0", "7"}},
		{"a.fg", "# two\n2\n\n2\n0 1\n2 3\n5\n0 .1\n1 .9\n2 .5\n4 1.5\n5 2\n\n1\n2\n2\n2\n0 .3\n1 .7\n", "a.uai", nil, nil},
		{"a.wcsp", "a 3 3 2 9\n2 3 2\n2 0 1 0 2\n0 1 1\n1 2 9\n1 2 3 1\n0 0\n", "a.uai", nil, nil},
		{"latin.conll", "caf\xe9 N\nnoir A\n", "latin.utf8.conll", [][]string{{"café", "noir"}}, []string{"A", "N"}},
		{"sjis.conll", "\x93\x8c\x8b\x9e N\n\x82\xc9 P\n", "sjis.utf8.conll", [][]string{{"東京", "に"}}, []string{"N", "P"}},
		{"kana.conll", "\x83J\x83\x81 N\n\x82\xc9 P\n", "kana.utf8.conll", [][]string{{"カメ", "に"}}, []string{"N", "P"}},
		{"dos.conll", "r\x82sum\x82 N\nnoir A\n", "dos.utf8.conll", [][]string{{"résumé", "noir"}}, []string{"A", "N"}},
		{"win.conll", "\x84gr\xfcn\x93 A\nja\x85 B\n", "win.utf8.conll", [][]string{{"„grün“", "ja…"}}, []string{"A", "B"}},
		{"euc.conll", "\xc5\xec\xb5\xfe N\n\xa4\xcb P\n", "euc.utf8.conll", [][]string{{"東京", "に"}}, []string{"N", "P"}},
		{"gb.conll", "\xb6\xab\xbe\xa9 N\n\xc8\xa5 V\n", "gb.utf8.conll", [][]string{{"东京", "去"}}, []string{"N", "V"}},
		{"ru.conll", "\xcc\xee\xf1\xea\xe2\xe0 N\n\xc2\xee\xeb P\n\xf1\xe0\xec P\n", "ru.utf8.conll",
			[][]string{{"Москва", "Вол", "сам"}}, []string{"N", "P"}},
		{"ner.jsonl", spans, "ner.conll", [][]string{{"Ann", "Lee", "sings", "."}, {"Oslo"}}, tags},
		{"label-studio.json", `[{"annotations": [{"result": [{"value": {"start": 0, "end": 7, "labels": ["PER"]}}]}], ` +
			`"data": {"text": "Ann Lee sings"}}]`, "label-studio.conll", [][]string{{"Ann", "Lee", "sings"}}, tags[1:]},
		{"doccano.jsonl", `{"entities": [{"label": "PER", "start_offset": 0, "end_offset": 7}], "text": "Ann Lee"}` + "\n",
			"doccano.conll", [][]string{{"Ann", "Lee"}}, tags[1:3]},
		{"spacy2.json", `[{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Oslo", "ner": "B-LOC"}, ` +
			`{"orth": "!", "ner": "O"}]}]}]}]`, "spacy2.conll", [][]string{{"Oslo", "!"}}, []string{"B-LOC", "O"}},
		{"pairs.json", `[["Ann Lee sings", {"entities": [[0, 7, "PER"]]}], ["Oslo", {"entities": [[0, 4, "LOC"]]}]]`,
			"pairs.conll", [][]string{{"Ann", "Lee", "sings"}, {"Oslo"}}, tags},
		{"hf.json", `[{"tokens": ["Ann", "Lee"], "tags": ["B-PER", "I-PER"]}]`, "hf.conll", [][]string{{"Ann", "Lee"}},
			tags[1:3]},
		{"words.csv", "word,tag\nAnn,B-PER\nLee,I-PER\n\nOslo,B-LOC\n", "words.conll", [][]string{{"Ann", "Lee"}, {"Oslo"}},
			tags[:3]},
		{"ids.csv", "id,token,label\n1,Ann,B-PER\n2,Lee,I-PER\n3,Lee,I-PER\n1,Oslo,B-LOC\n", "ids.conll",
			[][]string{{"Ann", "Lee", "Lee"}, {"Oslo"}}, tags[:3]},
		{"of.csv", "id,token,label\n7,Ann,B-PER\n7,Lee,I-PER\n9,Oslo,B-LOC\n", "of.conll",
			[][]string{{"Ann", "Lee"}, {"Oslo"}}, tags[:3]},
		{"ss.fasta", ">a\nAC\nD\n>a:ss\nHHE\n>b\nA\n>b:ss\nH\n", "ss.conll", [][]string{{"A", "C", "D"}, {"A"}},
			[]string{"E", "H"}},
		{"bert.csv", ",doc_id,sentence_id,words,labels\n0,1,0,Ann,B-PER\n1,1,1,Lee,I-PER\n2,2,1,\"a, b\",O\n", "bert.conll",
			[][]string{{"Ann"}, {"Lee"}, {"a, b"}}, tags[1:]},
		{"hf.csv", "id,tokens,ner_tags\n0,\"['Ann' 'Lee' 'sings' 'a' \"\"b'c\"\"]\",\"['B-PER', 'I-PER', 'O', 'O', 'O']\"\n",
			"hf.conll", [][]string{{"Ann", "Lee", "sings", "a", "b'c"}}, tags[1:]},
		{"letter.data", letters, "letter.crfsuite", [][]string{nil, nil}, []string{"a", "o"}},
	} {
		folder := writeFiles(t, map[string]string{c.name: c.text})
		_, err := Open(t.Context(), []string{filepath.Join(folder, c.name)}, Options{})
		if err == nil {
			t.Errorf("%s is read", c.name)
			continue
		}
		line := err.Error()
		for _, program := range []string{"awk ", "python3 ", "iconv "} {
			if at := strings.Index(line, program); at >= 0 {
				line, _, _ = strings.Cut(line[at:], " (with the name")
				if _, err := exec.LookPath(strings.TrimSpace(program)); err != nil {
					t.Skipf("skipped: the advice is a line of %s, which is not here: %v", program, err)
				}
			}
		}
		run := exec.Command("sh", "-c", line)
		run.Dir = folder
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
			continue
		}
		if strings.HasSuffix(c.made, ".uai") {
			n, err := ReadNetwork(filepath.Join(folder, c.made), 0)
			want := math.Log(map[string]float64{"a.fg": .15, "a.wcsp": 1 / math.E}[c.name])
			if err != nil || !cmp.Equal(n.Card, []int{2, 3, 2}) || math.Abs(n.LogScore([]int{0, 1, 0})-want) > 1e-12 {
				t.Errorf("%s made %+v, %v", line, n, err)
			}
			continue
		}
		set := mustOpen(t, filepath.Join(folder, c.made), Options{})
		if !cmp.Equal(set.Names, c.tokens) || !cmp.Equal(set.Schema.NodeTypes[0].States, c.states) {
			t.Errorf("%s made tokens %q, states %q", line, set.Names, set.Schema.NodeTypes[0].States)
		}
	}
}

// TestAdviceOfTables: lines for pandas, too, of tables of any separator, with names of rows or none.
func TestAdviceOfTables(t *testing.T) {
	if err := exec.Command("python3", "-c", "import numpy, pandas").Run(); err != nil {
		t.Skipf("skipped: the advice is lines of pandas, which is not here: %v", err)
	}
	const nodes, numbers = "id,label\na,A\nb,B\nc,A\nd,A\n", "id,label\n0,A\n1,B\n2,A\n3,A\n"
	for _, c := range []struct{ name, text, nodes, edges, features string }{
		{"t.csv", "id;x;label\np;1,5;A\nq;.5;A\np;2;B\nq;1;B\n", "t.nodes.csv", "t.edges.csv", "id_=p id_=q x bias"},
		{"t.csv", "who;x;label\np;1,5;A\np;2;B\nq;.5;A\nq;1;B\n", "t.nodes.csv", "t.edges.csv", "who=p who=q x bias"},
		{"t.tsv", "\twho\tlabel\n7\tp\tA\n8\tp\tB\n9\tq\tA\n10\tq\tA\n", "t.nodes.csv", "t.edges.csv", "who=p who=q bias"},
		{"e.csv", "from;to;w;kind\na;b;1,5;x\nb;a;2;y\nb;c;;x\n", "n.csv", "e.merged.csv", "w kind_x kind_y constant"},
		{"e.csv", "x'; touch n.csv; echo ',y,w\na,b,1\nb,a,2\nb,c,1\n", "n.csv", "e.merged.csv", "w constant"},
		{"u 'v.csv", "user's source, to,w\na,b,1\nb,a,2\nb,c,1\n", "n.csv", "u 'v.merged.csv", "w constant"},
		{"e.csv", "id;beside;w\nb;a,c;2\n", "n.csv", "e.pairs.csv", "w constant"},
		{"m.csv", ";a;b;c\na;0;1,5;0\nb;1,5;0;1\nc;0;1;0\n", "n.csv", "edges.csv", "weight constant"},
		{"m.csv", "a,b,c,d\n0,.5,0,0\n0,0,0,0\n0,1,0,0\n0,0,0,0\n", "n.csv", "edges.csv", "weight constant"},
		{"m.csv", "0,0,0,0\n1,0,0,0\n0,.5,0,0\n0,0,0,0\n", "n.csv", "edges.csv", "weight constant"},
		{"m.txt", "0 -1 0 0\n0 0 0 0\n0 1 0 0\n0 0 0 0\n", "i.csv", "edges.csv", "constant"}, // one below the diagonal
		{"p.csv", "id;label;x;kind\na;A;1.234,5 €;01\nb;B;-2,5;02\nc;B;12%;02\n", "p.numbers.csv", "e.csv", "x kind bias"},
		{"k.csv", "id,label,x,neighbours\na,A,1,b c\nb,B,2,\nc,B,2,['a']\n", "k.nodes.csv", "k.edges.csv", "x bias"},
		{"b.csv", "id label x\na A 1\nb B –2\nc B 2.5\n", "b.commas.csv", "e.csv", "x bias"},
		{"l.csv", "a,\"b,c\",no header for neighbours\nb,a,\nc,,\n", "n.csv", "l.edges.csv", "constant"},
		{"e.csv", "b,a,1\na,b,2\nb,c,1\n", "n.csv", "e.merged.csv", "weight constant"},
		{"e.txt", "\"from\" \"to\"\n\"1\" \"a\" \"b\"\n\"2\" \"b\" \"c\"\n", "n.csv", "e.csv", "constant"},
	} {
		folder := writeFiles(t, map[string]string{"e.csv": "a,b\na,b\nb,c\n", "n.csv": nodes, "i.csv": numbers})
		paths := []string{filepath.Join(folder, c.name), filepath.Join(folder, c.edges)}
		oracle.OK(t, os.WriteFile(paths[0], []byte(c.text), 0o644))
		if strings.HasSuffix(c.edges, ".edges.csv") {
			paths = paths[:1]
		} else if strings.HasSuffix(c.features, "constant") {
			paths = []string{filepath.Join(folder, c.nodes), paths[0]}
		}
		_, err := Open(t.Context(), paths, Options{})
		lines := regexp.MustCompile(`python3 -c '[^']*' [^;]*`).FindAllString(fmt.Sprint(err), -1)
		line := append(lines, "", "")[strings.Count(c.text, "neighbours")] // one table may be several things
		run := exec.Command("sh", "-c", line)
		run.Dir = folder
		if out, err := run.CombinedOutput(); err != nil || line == "" {
			t.Errorf("%s: %q: %v: %s", c.name, line, err, out)
			continue
		}
		paths = []string{filepath.Join(folder, c.nodes), filepath.Join(folder, c.edges)}
		set := oracle.Must(Open(t.Context(), paths, Options{}))(t)
		names := set.Schema.NodeTypes[0].FeatureNames
		if strings.HasSuffix(c.features, "constant") {
			names = set.Schema.EdgeTypes[0].FeatureNames
		}
		if got := strings.Join(names, " "); got != c.features || set.Instances[0].Graph.NumEdges() != 2 {
			t.Errorf("%s: %s made %d edges, features %s", c.name, line, set.Instances[0].Graph.NumEdges(), got)
		}
	}
}

// TestEdgeList: a list of edges beside a table of nodes is a table of edges, in each of its forms.
func TestEdgeList(t *testing.T) {
	for name, text := range map[string]string{
		"karate.txt": karate,
		"karate.edgelist": "0 1 {'weight': 4}\n0 2 {'weight': 5}\n0 3 {'weight': 3}\n1 2 {'weight': 6}\n1 3 {'weight': " +
			"3}\n2 3 {'weight': 3}\n",
		"headed.txt":   "source;target;weight\n0;1;4\n0;2;5\n0;3;3\n1;2;6\n1;3;3\n2;3;3\n",
		"arrows.txt":   "0 -> 1\n0 -> 2\n0 -> 3\n1 -> 2\n1 -> 3\n2 -> 3\n",
		"musae.edges":  "0,1\n0,2\n0,3\n1,2\n1,3\n2,3\n",
		"two.edgelist": "0 1 {'weight': 4}\n0 2 {}\n0 3 {'weight': 3}\n1 2 {}\n1 3 {}\n2 3 {}\n",
		"names.txt":    "Source Target w\n0 1 4\n0 2 5\n0 3 3\n1 2 6\n1 3 3\n2 3 3\n",
	} {
		folder := writeFiles(t, map[string]string{"nodes.csv": karateID, name: text})
		set, err := Open(t.Context(), []string{filepath.Join(folder, "nodes.csv"), filepath.Join(folder, name)},
			Options{Columns: []string{"label=club"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g := set.Instances[0].Graph; g.NumNodes() != 4 || g.NumEdges() != 6 {
			t.Errorf("%s: %d nodes and %d edges", name, g.NumNodes(), g.NumEdges())
		}
		oracle.Equal(t, set.Schema.EdgeTypes[0].FeatureNames[0][0] == 'w', strings.HasSuffix(name, "t") &&
			name != "arrows.txt", "%s: weights are features of edges, %q", name, set.Schema.EdgeTypes[0].FeatureNames)
		_, err = Open(t.Context(), []string{filepath.Join(folder, name)}, Options{})
		oracle.WantError(t, err, "it is a list of edges, and a table of nodes and one of edges are wanted; write nodes.csv, "+
			"id,label")
	}
	folder := writeFiles(t, map[string]string{"nodes.csv": karateID, "e.edgelist": "0 1\n1 2 {'x': 1}\n"})
	_, err := Open(t.Context(), []string{filepath.Join(folder, "nodes.csv"), filepath.Join(folder, "e.edgelist")},
		Options{Columns: []string{"label=club"}})
	oracle.WantError(t, err,
		"e.edgelist:2: there are 4 fields, want two nodes, and perhaps a weight; write a table of edges")
}

// TestEdgeListOfNames: ends may be names below a header, and errors are at the line where an edge stands.
func TestEdgeListOfNames(t *testing.T) {
	const nodes = "id,label\nann,x\nbob,y\ncid,y\ndan,x\nm\u00e9l,x\n0,x\n1,x\n2,y\n"
	for text, want := range map[string]string{
		"source target\nann bob\nbob cid\ncid dan\n":             "",
		"from\tto\tsum\nann\tbob\t1\nbob\tcid\t2\ncid\tdan\t4\n": "",
		"me\u0301l bob\nbob cid\ncid dan\n":                      "", // of another form of Unicode
		"0 1 1.5\n2 0 1\n1 2 0\n":                                "",
		"0 1 1\n1 0 1\n1 1 0\n":                                  "it is rows of numbers",
		// Words that stand in no other row are nodes all the same.
		"eve bob\nbob cid\ncid dan\n":                  `e.txt:1:source: there is no node "eve"`,
		"person friend\nann bob\nbob cid\ncid dan\n":   `e.txt:1`,
		"ann bob\nbob cid\ncid eve\n":                  `e.txt:3:target: there is no node "eve"`,
		"# who\nu v\nann bob\ncid bob\nbob eve\n":      `e.txt:5:target: there is no node "eve"`,
		"ann bob 1\nbob cid 1\ncid ann 1\nbob ann 2\n": `e.txt:4: it joins the nodes of line 1 again`,
	} {
		folder := writeFiles(t, map[string]string{"nodes.csv": nodes, "e.txt": text})
		set, err := Open(t.Context(), []string{filepath.Join(folder, "nodes.csv"), filepath.Join(folder, "e.txt")}, Options{})
		if want != "" {
			oracle.WantError(t, err, want)
		} else if err != nil || set.Instances[0].Graph.NumEdges() != 3 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNoHeader: the first line of a table of edges is an edge if it names two nodes. Names between tabs have blanks,
// and the order of the two tables is free.
func TestNoHeader(t *testing.T) {
	const nodes = "id;label\n0;a\n1;b\n2;a\nNew York;b\n3;a\n4;b\n"
	for _, c := range []struct{ name, text, want string }{
		{"el.csv", "2,1\n1,0\n2,New York\n", ""},
		{"el.csv", "0,1\n1,2\n2,New York\n", "el.csv:1: 0,1 may be an edge, or a header that counts columns"},
		{"el.csv", "0;2;,5\n1;2;3\n2;New York;1\n", ""},
		{"el.csv", "0,1,x,3\n1,2,y,4\n1,New York,x,5\n", ""},
		{"el.tsv", "0\tNew York\n1\t2\n0\t1\n", ""},
		{"el.edgelist", "0\t1\n2\t3\n4\tNew York\n", ""}, // no name stands twice
		{"el.edgelist", "0\tNew York 0.5\nNew York\t1\n2\t0 3\n", ""},
		{"el.csv", "0,5\n1,2\n2,0\n", `el.csv:1: the header is missing: the first line has "0" where the name of a column`},
	} {
		folder := writeFiles(t, map[string]string{"towns.csv": nodes, c.name: c.text})
		for _, tables := range [][]string{{"towns.csv", c.name}, {c.name, "towns.csv"}} {
			set, err := Open(t.Context(), []string{filepath.Join(folder, tables[0]), filepath.Join(folder, tables[1])},
				Options{})
			if c.want != "" {
				oracle.WantError(t, err, c.want)
			} else if warnings := fmt.Sprint(set.Warnings); err != nil || set.Instances[0].Graph.NumEdges() != 3 ||
				!strings.Contains(warnings, "is read as a list of edges") ||
				strings.Contains(c.text, ";,5") != strings.Contains(warnings, `as ",5" in `+filepath.Join(folder, "el.csv")) {
				t.Errorf("%q: %v", c.text, err)
			}
		}
	}
}

// TestFolderIsAmbiguous: what is read of a folder is no guess.
func TestFolderIsAmbiguous(t *testing.T) {
	const text = "Ann B\nsees O\nBob B\n\nIt O\n"
	for _, c := range []struct {
		files map[string]string
		want  []string
	}{
		{map[string]string{"train.conll": text, "0.npz": ""}, []string{"it holds data of the kinds npz and text, such as "}},
		{map[string]string{"train.txt": text, "karate.txt": karate}, []string{"karate.txt looks like a list of edges, and has no name by which a folder is read; name the files to read"}},
		{map[string]string{"0.npz": archiveOf(t, "x", "edge_index")},
			[]string{"0.npz: it is a file of arrays as PyTorch Geometric names them", "python3 -c "}},
		{map[string]string{"0.npz": archiveOf(t, "edges", "labels"), "stats.npz": archiveOf(t, "mean")},
			[]string{"stats.npz: it is a file of arrays of other names, which is not read; in a folder, name those files that"}},
		{map[string]string{"predict.json": "{}", "0.npz": ""}, []string{"it holds predictions"}},
		{map[string]string{"train.txt": text, "pred.conll": text},
			[]string{"train.txt looks like tagged text, and has no name by which a folder is read; name the files to read"}},
		{map[string]string{"train.conll": text, "pred.conll": "Ann B B\nsees O O\nBob B B\n\nIt O O\n"},
			[]string{"pred.conll: it is a file of predictions, which is not read; give the data that they are of"}},
	} {
		refuses(t, writeFiles(t, c.files), Options{}, c.want...)
	}
	if _, err := Open(t.Context(), []string{writeFiles(t,
		map[string]string{"train.conll": text, "README.txt": "It is text.\n"})}, Options{}); err != nil {
		t.Error(err)
	}
}

const universal = "# sent_id = 1\n# text = Vámonos al " +
	"mar\n1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n" +
	"2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\tSpaceAfter=No\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n3\tmar\tmar\t_\t_\t_\t1\tobl\t_\t_\n\n# sent_id = 2\n1\tmar\tmar\tNOUN\t_\t_\t0\troot\t_\t_\n"

// TestCoNLLU: words and their parts of speech are read, and nothing else that people have added.
func TestCoNLLU(t *testing.T) {
	path := filepath.Join(writeFiles(t, map[string]string{"a.conllu": universal}), "a.conllu")
	set := mustOpen(t, path, Options{})
	if !cmp.Equal(set.Names, [][]string{{"Vamos", "nos", "mar"}, {"mar"}}) ||
		!cmp.Equal(set.Schema.NodeTypes[0].States, []string{"NOUN", "PRON", "VERB"}) ||
		!cmp.Equal(set.Instances[0].Samples(), [][]int32{{2, 1, -1}}) {
		t.Errorf("tokens %q, states %q, labels %v", set.Names, set.Schema.NodeTypes[0].States, set.Instances[0].Samples())
	}
	refuses(t, writeFiles(t, map[string]string{"a.conllu": strings.Split(universal, "\n")[2] + "\n"}), Options{},
		"a.conllu: there are no tokens")
	bare := strings.NewReplacer("VERB", "_", "PRON", "_", "NOUN", "_").Replace(universal)
	refuses(t, writeFiles(t, map[string]string{"a.conllu": bare}), Options{}, "no node has a label", " > a.upos.conllu")
	for _, name := range set.Schema.NodeTypes[0].FeatureNames {
		if strings.Contains(name, "column") {
			t.Errorf("attribute %q", name)
		}
	}
}

// TestWriteTags: text comes back as it was, with labels.
func TestWriteTags(t *testing.T) {
	const attributes = "B\tw=Ann\nO\tw=sees\n"
	for _, c := range []struct {
		name, text, want string
		tags             [][]string
	}{
		{"a.conll", someColumns, "-DOCSTART- -X- O O\n\nAnn NNP B X\nsees VBZ O Y\nAnn NNP ? X\n\n\nIt PRP O Z\n",
			[][]string{{"X", "Y", "X"}, {"Z"}}},
		{"a.conll", "# id\nx\tA\r\n\ny\tB", "# id\nx\tA\tX\n\ny\tB\tY\n", [][]string{{"X"}, {"Y"}}},
		{"a.crfsuite", attributes, "X\nY\n", [][]string{{"X", "Y"}}},
		{"a.conllu", universal, strings.NewReplacer("\tVERB\t_\t_\t0\troot\t_\t_", "\tX\t_\t_\t0\troot\t_\tGold=VERB",
			"\tPRON\t", "\tY\t",
			"SpaceAfter=No", "SpaceAfter=No|Gold=PRON", "mar\tmar\t_\t", "mar\tmar\tZ\t", "\tNOUN\t_\t_\t0\troot\t_\t_",
			"\tX\t_\t_\t0\troot\t_\tGold=NOUN").Replace(universal), [][]string{{"X", "Y", "Z"}, {"X"}}},
	} {
		path := filepath.Join(writeFiles(t, map[string]string{c.name: c.text}), c.name)
		trained := mustOpen(t, path, Options{})
		set := mustOpen(t, path, Options{Schema: &trained.Schema, Recipe: &trained.Recipe, NoLabels: true})
		var out strings.Builder
		if err := set.WriteTags(&out, c.tags); err != nil || out.String() != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, out.String(), err, c.want)
		}
	}
	// Of two files an empty line keeps the sentences apart.
	folder := writeFiles(t, map[string]string{"a.conll": "x A\n", "b.conll": "y B\n"})
	trained := mustOpen(t, folder, Options{})
	set := mustOpen(t, folder, modelOf(trained))
	var out strings.Builder
	if err := set.WriteTags(&out, [][]string{{"B"}, {"A"}}); err != nil || out.String() != "x A B\n\ny B A\n" {
		t.Errorf("%q (%v)", out.String(), err)
	}
}
