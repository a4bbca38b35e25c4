// Package formats reads what people keep data in as text: rows of tables, lists of edges, tagged sentences, sequences.
// It knows of a path what it most probably is, and nothing of models.
//
// There is one list of formats, for all verbs. Of a format that is not read the list tells how to turn it into one that
// is.
package formats

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
)

// LineAt returns the line, from 1, of the byte at offset.
func LineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:max(0, min(offset, len(data)))], []byte("\n"))
}

// Format is one of the list.
type Format struct {
	What  string // with its article
	Kind  string // that it is read as; "": it is not read
	signs string // extensions of names, and names of arrays in archives, each of which tells
	is    func(p *Peek) bool
	how   string // what to do where the kind is wanted that it is not; see Advice
}

// formats are tried in this order: what a file holds tells before its name, and its name before its lines.
var formats = []Format{
	{"a file of predictions", "", "beliefs log_score", (*Peek).isPrediction, "give the data that they are of"},
	{"a file of arrays as PyTorch Geometric names them", "", "edge_index", nil, fromGeometric},
	{"a graph with masks", "", "train_masks", nil, `python3 -c 'import numpy as n, sys; d = n.load(sys.argv[1]); ` +
		`y = d["node_labels"]; n.savez("converted.npz", edges=n.unique(n.sort(d["edges"]), axis=0), ` +
		`labels=n.where(d["train_masks"][0], y, -1), node_features=n.c_[d["node_features"], n.ones(len(y))])' FILE`},
	{"a graph of sparse matrices", "", "adj_indptr", nil, fromSparse},
	{"a sparse matrix", "", "indptr", nil, `python3 -c 'import numpy, sys, scipy.sparse as s; ` +
		`numpy.savetxt("edges.csv", numpy.transpose(s.triu(s.load_npz(sys.argv[1]), 1).nonzero()), ` + edgeHeader},
	{"a network", KindNetwork, ".uai .bif theta", (*Peek).isNetwork,
		"it has neither labels nor features; ask for its marginals with blockbp infer FILE --task MAR"},
	{"a file of arrays of other names", "", "", (*Peek).isOtherArrays, "in a folder, name those files that are data; of " +
		"a network call arrays edges, labels and node_features, and see docs/reference/formats.md; in Python GridCRF, " +
		"ChainCRF and GraphCRF of blockbp take any: fit(d[\"X\"], d[\"y\"])"},
	{"a file of arrays", kindNPZ, ".npz", nil, "give it to train, with labels and edges"},
	{"a list of files", "", ".list", (*Peek).isList, "give the files that it names, in a shell $(cat LIST)"},
	{"a compressed file", "", ".gz .bz2 .xz .zst .zip", nil, "unpack it, by gunzip, bunzip2, unxz, unzstd or unzip"},
	{"a model", "", ".safetensors", nil, "name it with -m"},
	{"a table of tokens", "", "", (*Peek).isTokenTable, AsTaggedText + `, as by python3 -c 'import csv, sys; ` +
		`_, *t = csv.reader(open(sys.argv[1], encoding="ENCODING", errors="replace"), delimiter="MARK"); b = t[0][0]; ` +
		`[(print("\n" * (r[0] not in ("", b)) + "\t".join(r[1:])), b := r[0] or b) for r in t if any(r)]' FILE > STEM.conll`},
	{"a table", kindGraph, "", (*Peek).isTable, ""},
	{"an alignment of sequences", "", "", (*Peek).IsAlignment,
		"learn its couplings by {model!blockbp train --model potts} FILE"},
	{"an alignment of Stockholm or Clustal", "", "", (*Peek).isStockholm, `awk 'NR > 1 && /^[^ #\/]/ && NF > 1 ` +
		`{if (!s[$1]) k[n++] = $1; s[$1] = s[$1] $2} ` +
		`END {for (i = 0; i < n; i++) print ">" k[i] "\n" s[k[i]]}' FILE > STEM.fasta`},
	{"a picture", "", strings.Join(PictureSuffixes, " "), nil,
		"put pictures into a folder DATA/images, and their labels, ID.png, into DATA/labels, and give DATA"},
	{"a GraphML, GML or GEXF file", "", ".graphml .gml .gexf", nil, byNetworkx + "KIND" + toTables},
	{"a GAL file of PySAL", "", ".gal", nil, `awk 'NR == 1 {print "source,target"; next} NR % 2 == 0 {id = $1; next} ` +
		`{for (i = 1; i <= NF; i++) print id "," $i}' FILE > edges.csv`},
	{"a factor graph of libDAI", "", ".fg", nil, asUAI + `t = iter("".join(x for x in open(sys.argv[1]) if x[0] != ` +
		`"#").split()); n = lambda: int(next(t)); c = {}; f = [(s := [n() for _ in range(n())], k := [n() for _ in s], ` +
		`c.update(zip(s, k)), d := {n(): next(t) for _ in range(n())}, s[::-1], [d.get(i, "0") ` +
		`for i in range(math.prod(k))]) for _ in range(n())]; c = [c.get(i, 1) for i in range(max(c) + 1)]; ` + printUAI},
	{"a cost network of toulbar2", "", ".wcsp", nil, asUAI + `t = iter(open(sys.argv[1]).read().split()[1:]); ` +
		`n = lambda: int(next(t)); v, _, m, u = [n() for _ in range(4)]; c = [n() for _ in range(v)]; ` +
		`f = [(s := [n() for _ in range(n())], o := next(t), d := {tuple(n() for _ in s): next(t) for _ in range(n())}, ` +
		`s, [math.exp(-x) * (x < u) for x in (float(d.get(y, o)) for y in itertools.product(*(range(c[z]) ` +
		`for z in s)))]) for _ in range(m)]; ` + printUAI},
	{"a file of Hugin, GeNIe or XMLBIF", "", ".xdsl", (*Peek).isHugin, "write it as .bif, as bnlearn and pgmpy do"},
	{"a Pajek file", "", ".net .paj", nil, byNetworkx + "pajek" + toTables},
	{"a JSON file", "", ".json", nil, `of records, python3 -c 'import pandas, sys; pandas.read_json(sys.argv[1]).to_csv(` +
		`"nodes.csv", index=False)' FILE; of a graph as networkx.node_link_data writes it, ` +
		`python3 -c 'import json, pandas, sys; d = json.load(open(sys.argv[1])); ` +
		`pandas.json_normalize(d["nodes"]).to_csv("nodes.csv", index=False); ` +
		`pandas.json_normalize(d.get("links") or d["edges"]).to_csv("edges.csv", index=False)' FILE`},
	{"a file of JSON lines", "", ".jsonl", nil, `of sentences, python3 -c 'import json, sys; [print(*map(` +
		`"%s\t%s".__mod__, zip(d["tokens"], d["ner_tags"])), "", sep="\n") for d in map(json.loads, open(sys.argv[1]))]' ` +
		`FILE > STEM.conll`},
	{"an array without a name", "", ".npy", nil, `put it into npz with its name, in Python numpy.savez("data.npz", ` +
		`labels=…, edges=…, node_features=…); of pictures, voxels and series use blockbp.GridCRF there; ` +
		`of samples, python3 -c 'import numpy, sys; ` +
		`a = numpy.load(sys.argv[1]); numpy.savetxt("samples.csv", a.reshape(len(a), -1), "%g", ",")' FILE`},
	{"a file of another program", "", ".parquet .pq .xls .xlsx .ods .mtx .mat .pt .pth .pkl " +
		".rds .sqlite .db .arff .dot .h5 .hdf5 .geojson .shp", nil,
		"write tables nodes.csv and edges.csv, tagged text, or arrays, in Python numpy.savez(\"data.npz\", labels=…, " +
			"edges=…, node_features=…)"},
	{"a table of nodes as of Cora", "", ".content", nil, `awk -F'\t' 'NR == 1 {printf "id"; ` +
		`for (i = 2; i < NF; i++) printf "\tw" i; print "\tlabel"} 1' FILE > nodes.tsv`},
	{"a list of neighbours", "", ".adjlist", nil, `python3 -c 'import networkx as n, sys; ` +
		`n.write_edgelist(n.read_adjlist(sys.argv[1]), "graph.edgelist", data=False)' FILE`},
	{EdgeList, kindGraph, "", (*Peek).isEdgeList, ""},
	{"text of words with tags behind them", "", "", (*Peek).isWordTags, `write a word and its tag on each line: ` +
		`awk '{for (i = 1; i <= NF; i++) {n = match($i, /[MARK][^MARK]*$/); ` +
		`print substr($i, 1, n - 1) "\t" substr($i, n + 1)}; print ""}' FILE > STEM.conll`},
	{"rows of numbers", "", "", (*Peek).isRows, "write a header and commas for a table of nodes or edges; of a matrix " +
		`of edges, python3 -c 'import numpy, sys; numpy.savetxt("edges.csv", numpy.argwhere(numpy.triu(` +
		`numpy.loadtxt(sys.argv[1]LAYOUT), 1)), ` + edgeHeader + "; of samples, {model!blockbp train --model ising} FILE"},
	{"text as MALLET's SimpleTagger reads it", "", "", (*Peek).isMallet, `write labels first and tabs between: ` +
		`awk '!NF {print; next} {s = ""; for (i = 1; i < NF; i++) s = s "\t" $i; gsub(/:/, "\\:", s); print $NF s}' ` +
		`FILE > STEM.crfsuite`},
	{"tagged text", kindText, "", (*Peek).isText, "give it to train"},
}

const (
	// fromGeometric turns such arrays, and those of OGB, into others: labels may be [n, 1], NaN hides one, and where there
	// is a mask of those to learn from it hides the others.
	fromGeometric = `python3 -c 'import numpy as n, sys; d = n.load(sys.argv[1]); e = n.sort(d["edge_index"].T); ` +
		`y = n.nan_to_num(d["y"].squeeze(), nan=-1).astype(int); ` +
		`n.savez("converted.npz", edges=n.unique(e[e[:, 0] < e[:, 1]], axis=0), ` +
		`labels=n.where(d["train_mask"] if "train_mask" in d else True, y, -1), ` +
		`**{"node_features": n.c_[d[k], n.ones(len(y))] for k in ("x", "node_feat") if k in d})' FILE`
	// fromSparse turns a graph of sparse matrices into arrays.
	fromSparse = `python3 -c 'import numpy, sys, scipy.sparse as s; d = numpy.load(sys.argv[1], allow_pickle=True); ` +
		`m = lambda a: s.csr_matrix((d[a + "_data"], d[a + "_indices"], d[a + "_indptr"]), d[a + "_shape"]); ` +
		`e = numpy.transpose(s.triu(m("adj") + m("adj").T, 1).nonzero()); ` +
		`numpy.savez("converted.npz", edges=e, labels=d["labels"], ` +
		`**({"node_features": m("attr").toarray()} if "attr_data" in d else {}))' FILE`
	// asUAI and printUAI stand around what gives f, factors whose last two parts are a scope and a table, and c, states.
	// In one piece the first word would be taken for MARK.
	asUAI    = `write it as .uai: python3 -c 'import itertools, math, sys; `
	printUAI = `print("MAR" "KOV", len(c), *c, len(f), *[x for y in f for x in (len(y[-2]), *y[-2])], ` +
		`*[x for y in f for x in (len(y[-1]), *y[-1])])' FILE > STEM.uai`
	// edgeHeader ends a call of savetxt for a table of edges, and the program.
	edgeHeader = `fmt="%d", delimiter=",", header="source,target", comments="")' FILE`
	// byNetworkx and toTables stand around the name of a function that reads a graph.
	byNetworkx = `python3 -c 'import networkx, pandas, sys; graph = networkx.read_`
	toTables   = `(sys.argv[1]); pandas.DataFrame([{**d, "id": u} for u, d in graph.nodes(data=True)]).to_csv(` +
		`"nodes.csv", index=False); networkx.to_pandas_edgelist(graph).to_csv("edges.csv", index=False)' FILE`
	// AsTaggedText is how sentences are written.
	AsTaggedText = "write a token, a tab and its label on each line, and an empty line between sentences"
)

// fits reports whether a file is of the format.
func (f *Format) fits(p *Peek) bool {
	return f.is != nil && f.is(p) || slices.ContainsFunc(strings.Fields(f.signs), func(sign string) bool {
		return sign == p.extension || slices.Contains(p.arrays, sign)
	})
}

// Advice tells what to do with a file where other data are wanted. In the text of the format words in capitals stand
// for its path, that without folder and extension, the extension and what lines are made of.
func (f *Format) Advice(p *Peek) string {
	mark, layout := p.tagMark(), ""
	if f.is == nil || mark == "" {
		mark = string(separatorOf(p.header(), Separators))
	}
	if strings.Contains(p.header(), mark) {
		layout = fmt.Sprintf(", delimiter=%q", mark)
	}
	if strings.ContainsFunc(p.header(), unicode.IsLetter) {
		layout += ", skiprows=1"
	}
	stem := strings.TrimSuffix(filepath.Base(p.path), filepath.Ext(p.path))
	return strings.NewReplacer("FILE", printable.Word(p.path), "STEM", printable.Word(stem), "KIND",
		strings.TrimPrefix(p.extension, "."), "MARK", mark, "LAYOUT", layout,
		"ENCODING", cmp.Or(encodingOf([]byte(p.start)), "UTF-8")).Replace(f.how)
}

// Peek is a look at the beginning of a file.
type Peek struct {
	path, name, extension string   // the last two in lower case
	start                 string   // the first bytes, up to the end of a line
	lines                 []string // those that have anything and are no comments
	fields                [][]string
	text                  *Text    // the start, as text; empty: it is none
	arrays                []string // names of those in an archive
}

// enoughToTell are so many bytes that several lines are among them.
const enoughToTell = 1 << 12

// Look looks at a file; one that cannot be opened has a name only.
func Look(path string) *Peek {
	p := &Peek{path: path, name: strings.ToLower(filepath.Base(path)), extension: strings.ToLower(filepath.Ext(path)),
		text: &Text{}}
	file, size, err := fileio.Open(path, "data")
	if err != nil {
		return p
	}
	defer file.Close()
	if archive, err := zip.NewReader(file, size); err == nil && p.extension == ".npz" {
		for _, entry := range archive.File {
			p.arrays = append(p.arrays, strings.TrimSuffix(entry.Name, ".npy"))
		}
	}
	start := make([]byte, enoughToTell)
	n, _ := io.ReadFull(file, start)
	start = fileio.Lines(start[:n])
	if n == enoughToTell {
		start = start[:bytes.LastIndexByte(start, '\n')+1]
	}
	p.start = string(start)
	start = bytes.ToValidUTF8(start, []byte("?")) // its lines tell what it is all the same
	if text, err := ReadText(path, start); err == nil {
		p.text = text
	}
	for line := range strings.Lines(p.text.Text) {
		if line = strings.TrimSpace(line); line != "" && !isComment(line) {
			p.lines, p.fields = append(p.lines, line), append(p.fields, strings.Fields(line))
		}
	}
	return p
}

// plain reports whether the name leaves open what a file is.
func (p *Peek) plain() bool { return slices.Contains(plainExtensions, p.extension) && len(p.lines) > 0 }

// Best returns what a file most probably is, a format without a name if nothing speaks for anything.
func (p *Peek) Best() *Format {
	if i := slices.IndexFunc(formats, func(f Format) bool { return f.fits(p) }); i >= 0 {
		return &formats[i]
	}
	return &Format{}
}

// encodingOf is the likeliest encoding of bytes that are not text in UTF-8, "" if they are.
func encodingOf(data []byte) string {
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return "UTF-16"
	case utf8.Valid(data):
		return ""
	}
	return "ISO-8859-1"
}

// NotText is the error of a file that is no text in UTF-8, at its first line that is none.
func NotText(path string, data []byte) error {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return nil
	}
	extension := filepath.Ext(path)
	at := bytes.IndexFunc(data, func(r rune) bool { return r == 0 || r == utf8.RuneError })
	return &option.Error{File: path, Line: LineAt(data, at), Problem: "it is not text in UTF-8",
		Remedy: fmt.Sprintf("save it in UTF-8, such as by iconv -f %s -t UTF-8 %s > %s (with the name of its encoding, such "+
			"as EUC-JP, if that is another; a workbook is no text: save it as CSV)", encodingOf(data), printable.Word(path),
			printable.Word(strings.TrimSuffix(path, extension)+".utf8"+extension))}
}

// isPrediction knows tables that predict writes, and text.
func (p *Peek) isPrediction() bool {
	return p.predicted() || slices.Contains(tableExtensions, p.extension) && strings.Contains(p.header(), "p(") &&
		strings.HasSuffix(p.header(), ")")
}

// predicted reports whether tokens have a label and a prediction of it: the last two columns have the same texts,
// mostly at once; or those of CoNLL-U have what WriteTags leaves there.
func (p *Peek) predicted() bool {
	var labels, guesses []string
	same := 0
	for _, fields := range p.fields {
		n := len(fields)
		if n < 3 || p.extension == CrfsuiteExtension || isNumber(fields[n-1]) {
			return false
		}
		if labels, guesses = append(labels, fields[n-2]), append(guesses, fields[n-1]); fields[n-2] == fields[n-1] {
			same++
		}
	}
	alike := 2*same >= len(guesses) && slices.ContainsFunc(guesses, func(g string) bool { return g != guesses[0] }) &&
		!slices.ContainsFunc(guesses, func(g string) bool { return !slices.Contains(labels, g) })
	return (p.plain() || slices.Contains(TextExtensions, p.extension)) &&
		(alike || p.text.isCoNLLU() && strings.Contains(p.start, goldMark))
}

// isList knows a list by the files that it names.
func (p *Peek) isList() bool {
	return p.extension == ".txt" && (len(p.lines) == 0 || strings.Contains(p.start, ".npz"))
}

func (p *Peek) isNetwork() bool {
	first, _, _ := strings.Cut(strings.TrimSpace(p.header()), " ")
	return first == "MARKOV" || first == "BAYES" || first == "network" && strings.Contains(p.start, "{")
}

// isOtherArrays knows an archive without any array that tells of a network, or of samples.
func (p *Peek) isOtherArrays() bool {
	known := []string{npy.Edges, "grid_shape", "node_features", "edge_means", "states", "weight", "sample_weights"}
	return len(p.arrays) > 0 && !slices.Equal(p.arrays, []string{"labels"}) &&
		!slices.ContainsFunc(p.arrays, func(name string) bool { return slices.Contains(known, name) })
}

func (p *Peek) isStockholm() bool {
	return strings.HasPrefix(p.start, "# STOCKHOLM") || strings.HasPrefix(p.start, "CLUSTAL")
}

func (p *Peek) isHugin() bool {
	return p.extension == ".net" && strings.Contains(p.start, "{") || strings.Contains(p.start, "<BIF")
}

// isTokenTable knows a table of words by its header, which has a column of sentences first.
func (p *Peek) isTokenTable() bool {
	header := strings.ToLower(strings.ReplaceAll(p.header(), `"`, ""))
	return slices.Contains(tableExtensions, p.extension) && strings.HasPrefix(header, "sent") &&
		(strings.Contains(header, "word") || strings.Contains(header, "token"))
}

// header is the first line.
func (p *Peek) header() string {
	if len(p.lines) == 0 {
		return ""
	}
	return p.lines[0]
}

func (p *Peek) isTable() bool {
	return IsNodesTable(p.name) || IsEdgesTable(p.name) || slices.Contains(tableExtensions, p.extension) && !p.isText()
}

func isNumber(text string) bool {
	_, err := numeric.ParseDecimal(text)
	return err == nil
}

func isNoNumber(text string) bool { return !isNumber(text) }

func isIndex(text string) bool {
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil
}

// IsNumbers knows rows of as many numbers each, below a header or none.
func (p *Peek) IsNumbers() bool {
	var rows [][]string
	for _, line := range p.lines {
		cells := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" "+Separators, c) })
		if len(rows) > 0 || !slices.ContainsFunc(cells, isNoNumber) {
			rows = append(rows, cells)
		}
	}
	return len(rows) > 0 && len(rows[0]) > 1 && !slices.ContainsFunc(rows, func(cells []string) bool {
		return len(cells) != len(rows[0]) || slices.ContainsFunc(cells, isNoNumber)
	})
}

// isRows knows them in a file whose name tells nothing else.
func (p *Peek) isRows() bool {
	return p.IsNumbers() && p.text.Ends < 2 &&
		!slices.Contains(slices.Concat(tableExtensions, TextExtensions), p.extension)
}

// tagMark is what stands between words and tags behind them: /, _ or |; "": nothing does.
func (p *Peek) tagMark() string {
	for _, mark := range []string{"/", "_", "|"} {
		tagged, all := 0, 0
		for _, fields := range p.fields {
			for _, x := range fields {
				if all++; strings.LastIndex(x, mark) > 0 {
					tagged++
				}
			}
		}
		if 10*tagged > 9*all && all > len(p.fields) {
			return mark
		}
	}
	return ""
}

func (p *Peek) isWordTags() bool {
	return (p.plain() || slices.Contains([]string{".pos", ".tagged", ".tag", ".conll"}, p.extension)) && p.tagMark() != ""
}

// isMallet knows lines of features, as many as a token has, with the label last: of labels there are few.
func (p *Peek) isMallet() bool {
	labels := map[string]bool{}
	for _, fields := range p.fields {
		labels[fields[len(fields)-1]] = true
	}
	return p.plain() && !p.text.tabs && p.text.Least > 1 && !p.mostlyAlike() && len(p.lines) > 2 &&
		10*len(labels) <= 7*len(p.lines)
}

// mostlyAlike reports whether most lines have the same number of columns, and others one less: a slip.
func (p *Peek) mostlyAlike() bool {
	usual, all := p.text.Usual, 0
	for _, n := range p.text.columns {
		all += n
	}
	alike := p.text.columns[usual]
	return usual > 1 && !p.text.tabs && 10*alike > 6*all && alike+p.text.columns[usual-1] == all
}

// isText knows tagged text by its name, or by lines with as many columns each, or separated by tabs.
func (p *Peek) isText() bool {
	f := p.text
	switch {
	case slices.Contains(TextExtensions, p.extension):
		return true
	case f.Ends == 0 || f.Text[0] == '#' && !f.heads && !f.tabs:
		return false
	case p.extension == tabbedTextExtension:
		return f.Ends > fewEnds && f.Least > 1
	case slices.Contains(plainExtensions, p.extension):
		return len(p.lines) > 1 && (f.Least > 1 && f.tabs || p.mostlyAlike())
	}
	return f.Ends > 1 && f.Least > 1 && (f.tabs || f.Least == f.Most) && !slices.Contains(tableExtensions, p.extension)
}
