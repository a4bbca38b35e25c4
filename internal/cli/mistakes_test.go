package cli_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlausibleMistakes: what people get wrong on the way from their data to these
// files is met by an error, or by a note before work starts, which names the fault.
func TestPlausibleMistakes(t *testing.T) {
	t.Parallel()
	const nodes, edges = "ann\t0\ttrain\t0 2:0.5\nbob\t1\ttrain\t1\ncid\t1\ttest\t0 1\n", "ann\tbob\nbob\tcid\n"
	tables := func(nodes, edges string) map[string]string {
		return map[string]string{"g.nodes.tsv": nodes, "g.edges.tsv": edges}
	}
	const headedNodes, headedEdges = "id,label,x\nann,ok,3\nbob,bad,4\ncid,bad,5\n", "source,target\nann,bob\nbob,cid\n"
	headed := func(nodes, edges string) map[string]string {
		return map[string]string{"nodes.csv": nodes, "edges.csv": edges}
	}
	const conllu = "# text = Du chat\n1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDe\tde\tADP\t_\t_\t3\tcase\t_\t_\n2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_\n3\tchat\tchat\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No\n\n1\tVa\taller\tVERB\t_\t_\t0\troot\t_\t_\n"
	ints := func(array string, shape []int, data ...int32) map[string]string {
		return with(t, arrays{array: npy(t, shape, data)})
	}
	floats := func(array string, shape []int, data ...float64) map[string]string {
		return with(t, arrays{array: npy(t, shape, data)})
	}
	// Without states, so that labels tell their number.
	labels := func(data ...int32) map[string]string {
		return with(t, arrays{"states": "", "labels": npy(t, []int{len(data)}, data)})
	}
	const dry = "train $DIR/bad.npz --dry-run"
	for _, c := range []struct {
		name  string
		files map[string]string
		args  string // "": check
		code  int    // 0: a note
		parts []string
	}{
		// Labels.
		{"spins", labels(1, -1, 1), "", 3, []string{"bad.npz:labels[1]: is -1, which hides a label, as are 1 of the 3 labels", "labels = (labels + 1) // 2", `"hidden_labels": true`}},
		{"spins in training", labels(1, -1, 1), dry, 3, []string{"bad.npz:labels[1]: is -1"}},
		{"spins in a table", tables("a\t1\nb\t-1\n", "a\tb\n"), "", 3, []string{"g.nodes.tsv:2: label is -1", "write 0 and 1"}},
		{"labels of three values around 0", labels(1, -1, 0), "", 0, []string{"1 of 3 labels are hidden (-1)"}},
		{"half of the labels hidden", labels(2, -1, 0), dry, 0, []string{"1 of 3 labels are hidden (-1)", `state "1" of node type "node" never occurs`}},
		{"labels from 1", labels(1, 2, 3), "", 0, []string{"labels do not begin at 0, and are the names of 3 states: 1, 2, 3", `if they number states, give "states" in dataset.json`}},
		{"labels from 1, states given", ints("labels", []int{3}, 1, 2, 3), "", 3, []string{"bad.npz:labels[2]: is 3, want -1 (unobserved) or 0 to 2"}},
		{"one-hot labels", with(t, arrays{"states": "", "labels": npy(t, []int{3, 2}, []int32{1, 0, 0, 1, 1, 0})}), "", 3, []string{"bad.npz:labels: shape is [3, 2]", "labels.argmax(1)"}},
		{"samples in columns", ints("labels", []int{3, 4}, 0, 1, 2, 0, 0, 1, 2, 0, 1, 1, 1, 1), "", 3, []string{"bad.npz:labels: shape is [3, 4]", "labels.T"}},
		{"probabilities as labels", floats("labels", []int{3}, 0.1, 0.9, 0.4), "", 3, []string{"bad.npz:labels: dtype is <f8, want integers"}},
		{"names as labels", with(t, arrays{"labels": npy(t, []int{3}, []byte("catdogcat"))}), "", 3, []string{"bad.npz:labels: dtype is \"|S3\"", "number of each node's state"}},
		{"names as labels in a table", tables(strings.Replace(nodes, "\t1\t", "\tcat\t", 1), edges), "", 3, []string{`g.nodes.tsv:2: label is "cat"`}},
		{"void labels of 255", labels(0, 1, 255), "", 0, []string{"bad.npz:labels[2]", "is 255 a mistake? -1 means unobserved"}},
		{"ignored labels of -100", labels(0, 1, -100), "", 3, []string{"bad.npz:labels[2]: is -100, want -1 (unobserved)"}},
		{"a class without labels", labels(0, 2, 2), dry, 0, []string{`state "1" of node type "node" never occurs`}},
		{"a named class without labels", map[string]string{"bad.npz": labels(0, 1, 1)["bad.npz"], "dataset.json": `{"states": ["cat", "dog", "cow"]}`}, dry, 0, []string{`state "cow" of node type "node" never occurs`}},
		{"one class alone", ints("labels", []int{3}, 1, 1, 1), "", 0, []string{`all known labels are "1" of node type "node"`, "nothing tells states apart"}},
		{"every label hidden", ints("labels", []int{3}, -1, -1, -1), dry, 3, []string{"every label of every instance is unobserved"}},
		{"no labels", with(t, arrays{"labels": ""}), dry, 3, []string{"instance 0 (bad) has no labels"}},
		{"labels of all splits", tables(nodes, edges), "train $DIR/g --dry-run", 0, []string{"labels of the splits test, train are all learned from"}},

		// Edges.
		{"edges in columns", ints("edges", []int{2, 3}, 0, 1, 0, 1, 2, 2), "", 3, []string{"bad.npz:edges: shape is [2, 3]", "edges.T"}},
		{"both directions of an edge", ints("edges", []int{3, 2}, 0, 1, 1, 2, 1, 0), "", 0, []string{"edges that are there both ways round count once (1 in all", "bad.npz:edges[2]"}},
		{"both directions of a directed edge", ints("edges", []int{3, 2}, 0, 1, 1, 2, 1, 0), "check $DIR --directed", 3, []string{"bad.npz:edges[2]: joins the nodes of edges[0] the other way round", "keep one of the two"}},
		{"an edge twice", ints("edges", []int{3, 2}, 0, 1, 1, 2, 0, 1), "", 3, []string{"bad.npz:edges[2]: is (0, 1)", "already joined"}},
		{"an edge of a table with a header again", headed(headedNodes, headedEdges+strings.Split(headedEdges, "\n")[1]+"\n"), "", 0, []string{"an edge that is there already, in either direction"}},
		{"both directions of an edge in a table", tables(nodes, edges+"bob\tann\n"), "", 0, []string{"g.edges.tsv:3: an edge that is there already, in either direction"}},
		{"a loop", ints("edges", []int{3, 2}, 0, 1, 1, 2, 2, 2), "", 3, []string{"bad.npz:edges[2]: is (2, 2)", "two different nodes"}},
		{"a loop in a table", tables(nodes, edges+"cid\tcid\n"), "", 0, []string{"g.edges.tsv:3: an edge from a node to itself"}},
		{"nodes from 1", ints("edges", []int{3, 2}, 1, 2, 2, 3, 1, 3), "", 3, []string{"bad.npz:edges[1]: is (2, 3)", "nodes are 0 to 2"}},
		{"an adjacency matrix", ints("edges", []int{3, 3}, 0, 1, 0, 1, 0, 1, 0, 1, 0), "", 3, []string{"bad.npz:edges: shape is [3, 3], want [m, 2]"}},
		{"weights in the edge table", tables(nodes, "ann\tbob\t0.5\n"), "", 3, []string{"g.edges.tsv:1: there are 3 columns, want 2"}},
		{"an edge to an unknown node", tables(nodes, edges+"ann\tdan\n"), "", 3, []string{`g.edges.tsv:3: there is no node "dan" in`, "g.nodes.tsv; give the node a row there"}},
		{"no table of edges", map[string]string{"g.nodes.tsv": nodes}, "check $DIR/g", 1, []string{"g.edges.tsv", "no such file", "want a table of edges, two nodes in every row, beside", "g.nodes.tsv: write it there"}},
		{"no table of headed edges", map[string]string{"nodes.csv": headedNodes}, "train $DIR/nodes.csv --dry-run", 1, []string{"edges.csv: no such file", "want a table of edges"}},
		{"no table of headed nodes", map[string]string{"edges.csv": headedEdges}, "train $DIR/edges.csv --dry-run", 1, []string{"nodes.csv: no such file", "want a table of nodes beside"}},
		{"no edges in arrays", with(t, arrays{"edges": npy(t, []int{0, 2}, []int32{}), "edge_features": ""}), dry, 0, []string{"there are no edges: the model predicts every node from its features alone"}},
		{"two payments", headed(headedNodes, "source,target,sum\nann,bob,3\nbob,cid,1\nann,bob,4\n"), "", 3, []string{"edges.csv:4: it joins the nodes of line 2 again, with other features", "groupby of pandas"}},

		// Features.
		{"NaN in a feature", floats("node_features", []int{3, 2}, 1, 2, math.NaN(), 4, 5, 6), "", 3, []string{"bad.npz:node_features[1,0]", "NaN"}},
		{"NaN in a table", tables("ann\t0\ttrain\t0:nan\nbob\t1\n", edges), "", 3, []string{`g.nodes.tsv:1: feature "0:nan"`, "not a finite decimal number"}},
		{"unscaled columns", floats("node_features", []int{3, 2}, 1, 52000, 0.5, 31000, 0.2, 48000), "train $DIR --l2 1 --dry-run", 0, []string{"differ in scale", "divide each feature by its standard deviation"}},
		{"a column twice", floats("node_features", []int{3, 2}, 1, 2, 3, 6, 5, 10), "", 0, []string{"is a multiple of", "leave one of them out"}},
		{"a column of zeros", floats("node_features", []int{3, 2}, 1, 0, 3, 0, 5, 0), "", 0, []string{"is zero everywhere"}},
		{"one feature without its axis", floats("node_features", []int{3}, 1, 2, 3), "", 3, []string{"bad.npz:node_features: shape is [3]", "x.reshape(-1, 1)"}},
		{"features in columns", floats("node_features", []int{2, 3}, 1, 2, 3, 4, 5, 6), "", 3, []string{"bad.npz", "2"}},
		{"features of edges both ways", floats("edge_features", []int{6, 1}, 1, 2, 3, 1, 2, 3), "", 3, []string{"bad.npz:edge_features", "6", "3 edges"}},
		{"dense features in a table", tables("ann\t0\ttrain\t0.1 0.7\nbob\t1\ttrain\t0.3 0.2\n", edges), "", 3, []string{`g.nodes.tsv:1: feature "0.1": want index or index:value`}},

		// Tables with a header.
		{"no header of nodes", headed("ann,ok,0.5\nbob,bad,0.7\n", headedEdges), "", 3, []string{`nodes.csv:1: the header is missing: the first line has "0.5"`}},
		{"no header of nodes without numbers", headed("ann,ok,old\nbob,bad,new\n", headedEdges), "", 3, []string{"nodes.csv:1: no column is called label", "the header is missing"}},
		{"no header of edges", headed(headedNodes, "ann,bob\nbob,cid\n"), "", 3, []string{`edges.csv:1: the header is missing: the first line joins the nodes "ann" and "bob"`}},
		{"vertical bars", headed(strings.ReplaceAll(headedNodes, ",", "|"), headedEdges), "", 3, []string{"nodes.csv:1: the header", "vertical bars separate the words", "separate columns by commas"}},
		{"another separator in the rows", headed(strings.Replace(headedNodes, "ann,ok,3", "ann;ok;3", 1), headedEdges), "", 3, []string{"nodes.csv:2: the number of cells is 1, the header has 3 columns", "commas separate those of the header, semicolons those of this line"}},
		{"another encoding", headed(strings.Replace(headedNodes, "bob", "b\xf6b", 1), strings.Replace(headedEdges, "bob", "b\xf6b", -1)), "", 3, []string{"nodes.csv:3: it is not text in UTF-8", "save it in UTF-8"}},
		{"no edges below the header", headed(headedNodes, "source,target\n"), "train $DIR --dry-run", 0, []string{"there are no edges: the model predicts every node from its features alone"}},
		{"a cell too many", headed(strings.Replace(headedNodes, "ann,ok,3", "ann,ok,3,4", 1), headedEdges), "", 3, []string{"nodes.csv:2: the number of cells is 4, the header has 3 columns; put a cell that has commas within it in quotes"}},
		{"a cell too few", headed(strings.Replace(headedNodes, "ann,ok,3", "ann,ok", 1), headedEdges), "", 3, []string{"nodes.csv:2: the number of cells is 2, the header has 3 columns; leave the cell empty where there is no value"}},
		{"decimal commas", headed("id;label;x\nann;ok;0,5\nbob;bad;0,7\ncid;bad;1\n", headedEdges), "", 3, []string{`nodes.csv:2:x: "0,5" is no number, while 3 of the 3 cells`, "a decimal point alone"}},
		{"currency", headed(strings.NewReplacer(",3\n", ",$1200\n", ",4\n", ",$80.50\n", ",5\n", ",\"$1,300\"\n").Replace(headedNodes), headedEdges), "", 3, []string{`nodes.csv:2:x: "$1200" is no number, while 3 of the 3 cells`, "--columns text=x"}},
		{"separators of thousands", headed(headedNodes, "source,target,sum\nann,bob,\"1,200,000\"\nbob,cid,950\n"), "", 3, []string{`edges.csv:2:sum: "1,200,000" is no number, while 2 of the 2 cells`}},
		{"percent", headed(strings.NewReplacer(",3\n", ",30 %\n", ",4\n", ",4.5%\n", ",5\n", ",0%\n").Replace(headedNodes), headedEdges), "", 3, []string{`"30 %" is no number`}},
		{"a word among numbers", headed(headedNodes+"n1,ok,1\nn2,ok,2\nn3,ok,2\nn4,ok,2\nn5,ok,2\nn6,ok,2\nn7,ok,four\n", headedEdges), "", 3, []string{`nodes.csv:11:x: "four" is no number, while 9 of the 10 cells of this column are meant as numbers`}},
		{"an identifier twice in a headed table", headed(headedNodes+"bob,ok,1\n", headedEdges), "", 3, []string{`nodes.csv:5:id: node "bob" is on line 3 already; keep one row for every node`}},
		{"a row without an identifier", headed(headedNodes+",ok,1\n", headedEdges), "", 3, []string{"nodes.csv:5:id: the node has no identifier; give it one that no other node has"}},
		{"an edge without an end", headed(headedNodes, headedEdges+"ann,\n"), "", 3, []string{"edges.csv:4:target: the cell is empty, and names no node; fill in the identifier"}},
		{"an edge to an unknown headed node", headed(headedNodes, headedEdges+"ann,dan\n"), "", 3, []string{`edges.csv:4:target: there is no node "dan" in`, "nodes.csv; give the node a row there, or leave this row out"}},
		{"identifiers with a point", headed("id,label\n1,a\n2,b\n", "source,target\n1.0,2.0\n"), "", 3, []string{`edges.csv:2:source: there is no node "1.0"`, "as whole numbers"}},
		{"leading zeros in one table", headed("id,label\n007,a\n010,b\n", "source,target\n7,10\n"), "", 3, []string{`edges.csv:2:source: there is no node "7" in`, `"007" is one`, "leading zeros in both tables"}},
		{"identifiers in another case", headed(headedNodes, strings.Replace(headedEdges, "ann", "Ann", 1)), "", 3, []string{`"ann" is one: write identifiers in the same case`}},
		{"ends behind other columns", headed(headedNodes, "amount,payer,payee\n1.5,ann,bob\n2,bob,cid\n"), "", 3, []string{`edges.csv:2:amount: there is no node "1.5"`, "source=NAME,target=NAME which are the ends"}},
		{"ends by other names", headed(headedNodes, "payer,payee,amount\nann,bob,1.5\nbob,cid,2\n"), "", 0, []string{`edges.csv: the columns "payer" and "payee" are taken for the ends of edges, being the first; --columns names others, as source=NAME,target=NAME`}},
		{"a class called NA", headed(headedNodes+"dan,NA,2\n", headedEdges), "", 0, []string{`1 of 4 labels are hidden (empty cells, and words such as NA unless --states`}},
		{"a class called NA of two", headed(strings.ReplaceAll(headedNodes, "bad", "NA"), headedEdges), "", 3, []string{`every label is "ok", which tells of one state only`, "--states"}},
		{"a class called NA, named", headed(strings.ReplaceAll(headedNodes, "bad", "NA"), headedEdges), "check $DIR --states ok,NA", 0, []string{"no problems found"}},
		{"-1 for a hidden label", headed(strings.NewReplacer("ok", "0", "bad", "1").Replace(headedNodes)+"dan,-1,2\n", headedEdges), "", 3, []string{"nodes.csv:5: label is -1, as are 1 of 4", "leave the cell empty", `"hidden_labels": true`}},
		{"spins in a headed table", headed(strings.NewReplacer("ok", "-1", "bad", "1").Replace(headedNodes), headedEdges), "", 0, []string{"the labels -1 and 1 are two states; an empty cell hides a label"}},
		{"no column of labels", headed(strings.Replace(headedNodes, "label", "fraud", 1), headedEdges), "train $DIR --dry-run", 3, []string{`nodes.csv:1: no column is called label; there are "id", "fraud", "x"`, "--columns label=NAME"}},
		{"numbers as labels", headed("id,label\n"+strings.Join([]string{"a,.1", "b,.2", "c,.3", "d,.4", "e,.5", "f,.6", "g,.7", "h,.8", "i,.9", "j,1.1", "k,1.2", ""}, "\n"), "source,target\na,b\n"), "", 3, []string{"label is .1, a number with a fraction"}},
		{"names among the features", headed("id,label,who\nann,ok,Ann Lee\nbob,bad,Bob Ray\ncid,bad,Cid Orr\ndan,ok,Dan Poe\n", headedEdges), "", 0, []string{`column "who" is left out: its 4 cells have 4 different texts`}},
		{"two columns of one name", headed(strings.Replace(headedNodes, "id,label,x", "id,label,id", 1), headedEdges), "", 3, []string{`nodes.csv:1: columns 1 and 3 are both called "id"`}},
		{"a workbook", headed("PK\x03\x04\x14\x00", headedEdges), "", 3, []string{"nodes.csv:1: it is not text in UTF-8", "iconv -f UTF-16"}},
		{"UTF-16", headed("\xff\xfei\x00d\x00", headedEdges), "", 3, []string{"nodes.csv:1: it is not text in UTF-8"}},
		{"a quote left open", headed(headedNodes+"\"dan,ok,3\n", headedEdges), "", 3, []string{"nodes.csv:5: ", "write its quotes twice"}},
		{"lists of features below a header", headed("id,label,features\nann,ok,0 3\nbob,bad,1 2:0.5\ncid,bad,1 4\n", headedEdges), "", 3, []string{"nodes.csv:2:features: \"0 3\" is a list of features", "give every feature a column"}},
		{"a role misspelt", headed(headedNodes, headedEdges), "check $DIR --columns lable=x", 2, []string{`--columns: "lable=x": did you mean "label"?`}},

		// Tagged text.
		{"no empty lines between sentences", map[string]string{"a.conll": strings.Repeat("the D\ndog N\n", 200)}, "check $DIR", 0, []string{"a.conll: all 400 tokens are one sentence"}},
		{"text without labels", map[string]string{"a.conll": "the\ndog\n"}, "", 3, []string{"a.conll: lines have one column", "a model predicts those of text without"}},
		{"a set to evaluate on that is trained on", map[string]string{"train.conll": "the D\ndog N\n", "dev.conll": "a D\ncat N\n"}, "train $DIR --eval dev=$DIR/dev.conll -o $DIR/run --report=false", 0, []string{"--eval dev: ", "dev.conll is learned from, too, so that its measures are too good"}},
		{"a table of tokens", map[string]string{"ner.csv": "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NNP,B-per\n"},
			"check $DIR/ner.csv", 3, []string{"ner.csv: it is a table of tokens, which is not read",
				"write a token, a tab and its label on each line", "python3 -c", "> ner.conll"}},
		{"lines of JSON", map[string]string{"ner.jsonl": "{}\n"}, "check $DIR/ner.jsonl", 3, []string{"ner.jsonl: it is a file of JSON lines, which is not read", "write a token, a tab and its label on each line"}},
		{"a compressed file", map[string]string{"a.conll.gz": "\x1f\x8b"}, "check $DIR/a.conll.gz", 3,
			[]string{"it is a compressed file, which is not read; unpack it"}},
		{"a folder of text by other names", map[string]string{"train.txt": "the D\ndog N\n"}, "", 3, []string{"it holds none of the known kinds of data", "tagged text, .conll or .crfsuite"}},
		{"a token without a label", map[string]string{"a.conll": "the D\ndog\n"}, "", 3, []string{"a.conll:2: the number of columns is 1, want 2", "the label last"}},
		{"CoNLL-U by another name", map[string]string{"a.conll": conllu}, "", 0, []string{"no problems found"}},
		{"a list of edges alone", map[string]string{"karate.txt": "0 1 4\n0 2 5\n1 2 3\n"}, "check $DIR/karate.txt", 3,
			[]string{"karate.txt: it is a list of edges", "write nodes.csv, id,label"}},
		{"ten columns of tagged text", map[string]string{"a.conll": strings.NewReplacer("\t_\n", "\tX\n", "SpaceAfter=No", "Y").Replace(strings.NewReplacer("\n1", "\nw", "\n2", "\nv", "\n3", "\nu").Replace(conllu))}, "", 0, []string{"no problems found"}},
		{"the label before the word", map[string]string{"a.conll": wordsFirst(30)}, "", 3, []string{"30 labels have 30 different texts, such as \"w0\", and states are wanted; is it the column of labels?\n"}},

		// Files.
		{"a misspelt array", with(t, arrays{"lables": npy(t, []int{3}, []int32{0, 1, 2})}), "", 3, []string{"bad.npz:lables: unknown array", "labels"}},
		{"a header that is no comment", tables("node\tlabel\tsplit\tfeatures\n"+nodes, edges), "", 3, []string{`g.nodes.tsv:1: label is "label"`, "begin the line with # if it is a header"}},
		{"commas", tables(strings.ReplaceAll(nodes, "\t", ","), edges), "", 3, []string{"g.nodes.tsv:1: there are 1 columns", "separated by tabs"}},
		{"semicolons", tables(nodes, strings.ReplaceAll(edges, "\t", ";")), "", 3, []string{"g.edges.tsv:1: there are 1 columns, want 2"}},
		{"blanks", tables(strings.ReplaceAll(nodes, "\t", " "), edges), "", 3, []string{"g.nodes.tsv:1: there are 1 columns", "separated by tabs"}},
		{"a header of the edge table", tables(nodes, "from\tto\n"+edges), "", 3, []string{`g.edges.tsv:1: there is no node "from" in`}},
		{"a name of two words", tables(strings.Replace(nodes, "ann", "ann lee", 1), strings.Replace(edges, "ann", "ann lee", 1)), "", 3, []string{"g.edges.tsv:1: there are 3 columns, want 2"}},
		{"an identifier twice", tables(nodes+"bob\t0\n", edges), "", 3, []string{`g.nodes.tsv:4: node "bob" is on line 2 already; keep one row for every node`}},
		{"tables swapped", tables(edges, nodes), "", 3, []string{`g.nodes.tsv:1: label is "bob"`}},
		{"an empty table", tables("", edges), "", 3, []string{"g.nodes.tsv: there are no nodes"}},
		{"an empty file", map[string]string{"bad.npz": ""}, "", 3, []string{"bad.npz: the file is empty"}},
		{"a file cut short", map[string]string{"bad.npz": npz(t, goodArrays(t))[:300]}, "", 3, []string{"bad.npz: the file was cut short or damaged"}},
		{"another file by that name", map[string]string{"bad.npz": "node,label\nann,0\n"}, "", 3, []string{"bad.npz: it is not an npz file"}},
		{"Parquet", map[string]string{"nodes.parquet": "PAR1"}, "check $DIR/nodes.parquet", 3, []string{"it is a Parquet file, which is not read", "pandas.read_parquet"}},
		{"GraphML", map[string]string{"g.graphml": "<graphml/>"}, "check $DIR/g.graphml", 3, []string{"it is a GraphML file", "networkx.read_graphml", "networkx.to_pandas_edgelist(graph).to_csv"}},
		{"one array alone", map[string]string{"x.npy": "x"}, "check $DIR/x.npy", 3, []string{"it is an array without a name", "numpy.savez"}},
		{"one table alone", map[string]string{"people.csv": headedNodes}, "check $DIR/people.csv", 3, []string{"people.csv: it is one table", "name both"}},
		{"names of states by their number", with(t, nil), "train $DIR/bad.npz --states 3 --dry-run", 2, []string{"--states 3", "want the names"}},
		{"states by another number", map[string]string{"bad.npz": with(t, nil)["bad.npz"], "dataset.json": `{"states": ["a", "b"]}`}, "", 3, []string{"bad.npz:states: is 3", "dataset.json", "has 2 states"}},

		// Samples of a physical system.
		{"three states as spins", with(t, nil), "train $DIR/bad.npz --model ising --dry-run", 3, []string{"--model ising: there are nodes of 3 states, and spins have 2; use --model potts"}},
		{"samples in columns", map[string]string{"bad.npz": npz(t, arrays{"edges": npy(t, []int{1, 2}, []int32{0, 1}), "labels": npy(t, []int{2, 3}, []int32{1, -1, 1, -1, -1, 1})})}, "train $DIR/bad.npz --model ising --dry-run", 0, []string{"labels have 2 samples of 3 nodes, and edges join the first 2 nodes alone: the samples are columns, it seems, where rows are wanted: labels.T"}},
		{"one sample of a system", map[string]string{"bad.npz": npz(t, arrays{"edges": npy(t, []int{2, 2}, []int32{0, 1, 1, 2}), "labels": npy(t, []int{3}, []int32{1, -1, 1})})}, "train $DIR/bad.npz --model ising --dry-run", 3, []string{"there is one sample, and a coupling of its own for every edge"}},
		{"hidden labels with pseudo-likelihood", map[string]string{"bad.npz": npz(t, arrays{"edges": npy(t, []int{2, 2}, []int32{0, 1, 1, 2}), "labels": npy(t, []int{2, 3}, []int32{1, -1, 1, 0, 1, 0})})}, "train $DIR/bad.npz --model ising --method pseudo --dry-run", 3, []string{"1 of 2 samples have hidden labels", "leave these samples out"}},
		{"an evaluation that is not there", nil, "train $GRID --eval test=missing.npz --dry-run", 1, []string{"--eval test: missing.npz: no such file or directory; want labelled data"}},
		{"a name like an option", map[string]string{"bad.npz": "", "{seed}": "x"}, "train $DIR/{seed} --eval {l2}={l2} --dry-run", 3, []string{"{seed}: it holds none"}},
		{"a label like an option", headed("id,label,x\nann,{l2},3\nbob,?,4\ncid,{l2},5\n", headedEdges), "train $DIR --dry-run", 3, []string{`every label is "{l2}"`, "or --states"}},
		{"a bound for couplings", nil, "train $GRID --model ising --method bbpl", 2, []string{"--model ising and --method bbpl do not go together"}},
		{"a model misspelt", nil, "train $GRID --model isng", 2, []string{`--model "isng": want ising or potts (-m FILE writes the model to a file)`}},
		{"a table as spins", headed(headedNodes, headedEdges), "train $DIR --model ising", 2, []string{"--model ising: it applies to npz data only", "numpy.savez"}},
		{"samples as CSV", map[string]string{"spins.csv": "1,-1,1\n-1,-1,1\n"}, "train $DIR/spins.csv --model ising", 2, []string{"--model ising: it applies to npz data only", `numpy.loadtxt("spins.csv", delimiter=",", dtype=int)`, `numpy.savez("spins.npz", labels=samples, edges=edges)`}},
		{"samples as columns of numbers", map[string]string{"spins.txt": "1 -1 1\n-1 -1 1\n"},
			"train $DIR/spins.txt --model ising", 2, []string{"spins.txt is no .npz with samples and the bonds",
				"all pairs numpy.argwhere"}},
		{"samples as an array", map[string]string{"spins.npy": "x"}, "train $DIR/spins.npy --model ising", 2, []string{`spins.npy is no .npz`, `numpy.load("spins.npy")`}},
		{"samples without bonds", map[string]string{"spins.npz": npz(t, arrays{"labels": npy(t, []int{2, 3}, []int32{1, -1, 1, -1, -1, 1})})}, "train $DIR/spins.npz --model ising", 3, []string{"spins.npz:edges: the array is missing", "all pairs numpy.argwhere(numpy.triu(numpy.ones((n, n)), 1))"}},
		{"too many weights for a covariance", map[string]string{"all.npz": allPairs(t, 53)}, "train $DIR/all.npz --model ising --method pseudo --max-passes 2 -q -o $DIR/run", 0, []string{"no standard errors: the model has 4240 parameters, and their covariance takes too much beyond 4096; --errors=bootstrap learns again from resampled samples"}},

		{"bootstrap apart from its option", nil, "train $GRID --method pseudo --errors bootstrap:1", 2, []string{`--errors "bootstrap:1": want a number of replicates`}},
		{"an option of others", nil, "train $GRID --learning_rate .1", 2, []string{"unknown option --learning_rate; steps find their lengths"}},
		{"errors that there are none of", nil, "train $GRID --errors=yes", 2, []string{`--errors "yes": want auto, cheap, bootstrap, bootstrap:B with a number of replicates, or none`}},

		// Costs.
		{"a cost of no state", nil, "predict $GRID -m $RUN -o $DIR/out --cost 7=2", 2, []string{`--cost "7=2": there is no state "7"; valid are 0, 1, 2`}},
		{"a negative cost", nil, "eval $GRID -m $RUN --cost 1=-2", 2, []string{`want STATE=COST,… with costs of 0 or more, not -2 for "1"`}},
		{"a threshold as a cost", nil, "eval $GRID -m $RUN --cost 0.3", 2, []string{`--cost "0.3": want STATE=COST`}},
		{"a set to calibrate on misspelt", nil, "train $GRID -o $DIR/out --eval dev=$GRID --calibrate dve", 2, []string{`--calibrate "dve": no --eval set has that name`}},
		{"costs beside a joint state", nil, "eval $GRID -m $RUN --cost 1=2 --decode map", 2, []string{"--cost decides node by node"}},
		{"predictions named as a text", nil, "predict $GRID -m $RUN -o $DIR/out.txt", 2,
			[]string{"out.txt: it would be a folder (--out is: folder to make, or file to write: .csv, .tsv, .conll or .conllu)"}},
		{"predictions named as another format", nil, "predict $GRID -m $RUN -o $DIR/out.conllu", 2,
			[]string{"out.conllu: sentences are written so, and these data are none"}},
		{"sentences of a grid", nil, "predict $GRID -m $RUN -o $DIR/out.conll", 2, []string{"out.conll: sentences are written so, and these data are none; name a file that ends in .csv or .tsv"}},
		{"an evaluation on a split without splits", headed(headedNodes, headedEdges), "train $DIR -o $DIR/run --eval test=test", 2, []string{`there is no file "test", and there is no split "test"`, "give it a column split, or name one by --columns split=NAME"}},
		{"an evaluation on a file that is not there", headed(strings.ReplaceAll(headedNodes, ",x\n", ",split\n"), headedEdges), "train $DIR -o $DIR/run --eval test=tset.csv", 2, []string{`there is no file "tset.csv", and no node is in a split "tset.csv"`, "valid are 3, 4, 5"}},
		{"an evaluation on one table of two", map[string]string{"nodes.csv": headedNodes, "edges.csv": headedEdges, "other.csv": headedNodes}, "train $DIR -o $DIR/run --eval test=$DIR/other.csv", 3, []string{"other.csv: it is one table", "call them NAME.nodes.csv and NAME.edges.csv and name one"}},
		{"a split misspelt", tables(nodes, edges), "train $DIR/g --observed trian --dry-run", 2, []string{`no node is in the split "trian"`, `did you mean train?`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for name, text := range c.files {
				writeFile(t, filepath.Join(folder, name), text)
			}
			if c.args == "" {
				c.args = "check $DIR"
			}
			if strings.Contains(c.args, "$GRID") {
				c.args = strings.NewReplacer("$GRID", gridData(t), "$RUN", gridRun(t)).Replace(c.args)
			}
			o := run(t, strings.Fields(strings.ReplaceAll(c.args, "$DIR", folder))...)
			if o.code != c.code {
				t.Errorf("%s: code %d, want %d", o.command(), o.code, c.code)
			}
			for _, part := range c.parts {
				if !strings.Contains(o.stdout+o.stderr, part) {
					t.Errorf("%s: nothing names %q:\n%s%s", o.command(), part, o.stdout, o.stderr)
				}
			}
		})
	}
}

// wordsFirst is tagged text in which the labels stand before the words.
func wordsFirst(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "N w%d\n", i)
	}
	return text.String()
}

// TestMistakesAtPrediction: the same where a model of tables labels other tables.
func TestMistakesAtPrediction(t *testing.T) {
	t.Parallel()
	const nodes, edges = "id,label,split,x\nann,ok,a,3\nbob,bad,a,4\ncid,bad,b,5\ndan,ok,b,2\n", "source,target\nann,bob\nbob,cid\n"
	folder := t.TempDir()
	for name, text := range map[string]string{
		"nodes.csv": nodes, "edges.csv": edges,
		"some/nodes.csv": strings.Replace(nodes, "cid,bad", "cid,", 1), "some/edges.csv": edges,
		"dear/nodes.csv": strings.Replace(nodes, "a,3", "a,€3", 1), "dear/edges.csv": edges,
	} {
		writeFile(t, filepath.Join(folder, name), text)
	}
	model := filepath.Join(folder, "run")
	mustRun(t, "train", folder, "-o", model, "-q", "--report=false")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"predict $DIR/some -o $DIR/1.csv", 0, "the labels of 3 of 4 nodes are known, and not used because of a missing --clamp"},
		{"predict $DIR --observed a -o $DIR/2.csv", 0, "the labels of 2 of 4 nodes are known, and not used; --clamp holds them"},
		{"predict $DIR/dear -o $DIR/3.csv", 3, `nodes.csv:2:x: "€3" is not a finite decimal number, which the model wants of this column`},
		{"predict $DIR -o $DIR/4.conll", 2, "4.conll: sentences are written so"},
		{"eval $DIR --observed a --split a", 2, `the labels of the split "a" are held, because of --observed a, so that all of them would count as right: compare on another split, or leave --observed out`},
		{"eval $DIR --split c", 2, `no node is in a split "c"; valid are a, b`},
	} {
		o := run(t, append(strings.Fields(strings.ReplaceAll(c.args, "$DIR", folder)), "-q", "-m", model)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: code %d, want %d, and nothing names %q:\n%s", c.args, o.code, c.code, c.want, o.stderr)
		}
	}
	// Nothing is said where all labels are known, which predictions need not use, and where they are held.
	for _, args := range []string{"predict $DIR -o $DIR/5.csv", "predict $DIR/some --clamp -o $DIR/6.csv"} {
		if o := run(t, append(strings.Fields(strings.ReplaceAll(args, "$DIR", folder)), "-q", "-m", model)...); o.code != 0 || strings.Contains(o.stderr, "clamp") {
			t.Errorf("%s: code %d: %s", args, o.code, o.stderr)
		}
	}
}

// allPairs are samples of a system of which all pairs are joined.
func allPairs(t *testing.T, nodes int) string {
	t.Helper()
	var edges, labels []int32
	for u := range int32(nodes) {
		for v := range u {
			edges = append(edges, v, u)
		}
		for i := range int32(8) {
			labels = append(labels, 1-2*((u*u+i*u+i)>>1&1))
		}
	}
	return npz(t, arrays{"edges": npy(t, []int{len(edges) / 2, 2}, edges), "labels": npy(t, []int{8, nodes}, labels)})
}
