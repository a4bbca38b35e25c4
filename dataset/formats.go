package dataset

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
	"github.com/blockbp/blockbp/internal/numeric"
)

// There is one list of the formats that people keep data in, for all verbs. Of a format that is not read the list
// tells how to turn it into one that is.

// kindNetwork is the kind of networks with explicit tables, which verbs of inference read.
const kindNetwork = "network"

// format is one of the list.
type format struct {
	what string // with its article
	kind string // that it is read as; "": it is not read
	is   func(p *peek) bool
	how  func(p *peek) string // what to do where the kind is wanted that it is not
}

// formats are tried in this order: what a file holds tells before its name, and its name before its lines.
var formats = []format{
	{"a file of predictions", "", (*peek).isPrediction, say("give the data that they are of")},
	{"a file of arrays as PyTorch Geometric names them", "", holding("edge_index"), python(`import numpy; ` +
		`d = numpy.load(%q); e = numpy.unique(numpy.sort(d["edge_index"].T), axis=0); ` +
		`numpy.savez("converted.npz", edges=e, labels=d["y"], node_features=d["x"])`)},
	{"a graph of sparse matrices", "", holding("adj_indptr"), python(fromSparse)},
	{"a sparse matrix", "", holding("indptr"), python(`import numpy, scipy.sparse as s; numpy.savetxt("edges.csv", ` +
		`numpy.transpose(s.triu(s.load_npz(%q), 1).nonzero()), ` + edgeHeader)},
	{"a network", kindNetwork, (*peek).isNetwork, func(p *peek) string {
		return fmt.Sprintf("it has neither labels nor features; ask for its marginals with blockbp infer %s --task MAR",
			shellWord(p.path))
	}},
	{"a file of arrays", KindNPZ, extensions(".npz"), say("give it to train, with labels and edges")},
	{"a list of files", "", (*peek).isList, say("give the files that it names, in a shell $(cat LIST)")},
	{"a compressed file", "", extensions(".gz", ".bz2", ".xz", ".zst", ".zip"), say("unpack it")},
	{"a model", "", extensions(".safetensors"), say("name it with -m")},
	{"a table of tokens", "", (*peek).isTokenTable, (*peek).fromTokenTable},
	{"a table", KindGraph, (*peek).isTable, nil},
	{"an alignment of sequences", "", (*peek).isAlignment, func(p *peek) string {
		return "learn its couplings by {model!blockbp train --model potts} " + shellWord(p.path)
	}},
	{"a Parquet file", "", extensions(".parquet", ".pq"), python(`import pandas; ` +
		`pandas.read_parquet(%q).to_csv("nodes.csv", index=False)`)},
	{"a picture", "", extensions(pictureSuffixes...), say("put pictures into a folder DATA/images, and their labels, " +
		"ID.png, into DATA/labels, and give DATA")},
	{"a workbook", "", extensions(".xls", ".xlsx", ".ods"), say("save its sheets as CSV, one of nodes and one of edges")},
	{"a GraphML file", "", extensions(".graphml"), networkxToTables("read_graphml")},
	{"a GML file", "", extensions(".gml"), networkxToTables("read_gml")},
	{"a GAL file of PySAL", "", extensions(".gal"), func(p *peek) string {
		return `awk 'NR == 1 {print "source,target"; next} NR % 2 == 0 {id = $1; next} ` +
			`{for (i = 1; i <= NF; i++) print id "," $i}' ` + shellWord(p.path) + " > edges.csv"
	}},
	{"a GEXF file", "", extensions(".gexf"), networkxToTables("read_gexf")},
	{"a network as Hugin writes it", "", func(p *peek) bool {
		return p.extension == ".net" && strings.Contains(p.start, "{")
	}, say("write it as .bif, as bnlearn and pgmpy do")},
	{"a network of libDAI or toulbar2", "", extensions(".fg", ".wcsp"),
		say("write it as .uai, with all entries of each table")},
	{"a Pajek file", "", extensions(".net", ".paj"), networkxToTables("read_pajek")},
	{"a Matrix Market file", "", extensions(".mtx"), python(`import numpy, scipy.io, scipy.sparse; ` +
		`numpy.savetxt("edges.csv", numpy.transpose(scipy.sparse.triu(scipy.io.mmread(%q), 1).nonzero()), ` + edgeHeader)},
	{"a file of JSON lines", "", extensions(".jsonl"), say("write tables of nodes and edges; or, of sentences, " +
		asTaggedText)},
	{"a JSON file", "", extensions(".json"), python(`import json, pandas; d = json.load(open(%q)); ` +
		`pandas.json_normalize(d["nodes"]).to_csv("nodes.csv", index=False); ` +
		`pandas.json_normalize(d.get("links") or d["edges"]).to_csv("edges.csv", index=False)`)},
	{"an array without a name", "", extensions(".npy"), func(p *peek) string {
		return `put it into npz with its name, in Python numpy.savez("data.npz", labels=…, edges=…, node_features=…); of ` +
			`samples, ` + python(`import numpy; a = numpy.load(%q); numpy.savetxt("samples.csv", a.reshape(len(a), -1), `+
			`"%%g", ",")`)(p)
	}},
	{"a MATLAB file", "", extensions(".mat"), say(`write its arrays as npz, in Python ` +
		`numpy.savez("data.npz", labels=…, edges=…, node_features=…) of scipy.io.loadmat("data.mat")`)},
	{"a PyTorch file", "", extensions(".pt", ".pth"), python(`import numpy, torch; ` +
		`d = torch.load(%q, weights_only=False); d = d[0] if isinstance(d, tuple) else d; ` +
		`e = numpy.unique(numpy.sort(d.edge_index.T), axis=0); ` +
		`numpy.savez("data.npz", edges=e, labels=d.y, node_features=d.x)`)},
	{"a list of neighbours", "", extensions(".adjlist"), python(`import networkx; ` +
		`networkx.write_edgelist(networkx.read_adjlist(%q), "graph.edgelist", data=False)`)},
	{edgeList, KindGraph, (*peek).isEdgeList, nil},
	{"text of words with tags behind them", "", (*peek).isWordTags, (*peek).fromWordTags},
	{"rows of numbers", "", (*peek).isRows, (*peek).fromRows},
	{"text as MALLET's SimpleTagger reads it", "", (*peek).isMallet, (*peek).fromMallet},
	{"tagged text", KindText, (*peek).isText, say("give it to train")},
	{"a table of another name", "", (*peek).isCommas, say("call it .csv, and give it a header")},
}

// fromSparse turns a graph of sparse matrices into arrays.
const fromSparse = `import numpy, scipy.sparse as s; d = numpy.load(%q, allow_pickle=True); ` +
	`m = lambda a: s.csr_matrix((d[a + "_data"], d[a + "_indices"], d[a + "_indptr"]), d[a + "_shape"]); ` +
	`e = numpy.transpose(s.triu(m("adj") + m("adj").T, 1).nonzero()); ` +
	`numpy.savez("converted.npz", edges=e, labels=d["labels"], ` +
	`**({"node_features": m("attr").toarray()} if "attr_data" in d else {}))`

// fromTokens writes a table whose first column numbers sentences, or has an empty cell where one goes on.
const fromTokens = `import csv; _, *t = csv.reader(open(%%q, encoding="%s", errors="replace"), delimiter="%s"); ` +
	`b = t[0][0]; [(print("\n" * (r[0] not in ("", b)) + "\t".join(r[1:])), b := r[0] or b) for r in t if any(r)]`

// holding knows archives that have an array of a name.
func holding(name string) func(*peek) bool {
	return func(p *peek) bool { return slices.Contains(p.arrays, name) }
}

// edgeHeader ends a call of savetxt for a table of edges.
const edgeHeader = `fmt="%%d", delimiter=",", header="source,target", comments="")`

// asTaggedText is how sentences are written.
const asTaggedText = "write a token, a tab and its label on each line, and an empty line between sentences"

func say(text string) func(*peek) string { return func(*peek) string { return text } }

// python is a line of a shell that runs a program, in which %q is the path.
func python(program string) func(*peek) string {
	return func(p *peek) string { return "python3 -c " + shellWord(fmt.Sprintf(program, p.path)) }
}

func networkxToTables(read string) func(*peek) string {
	return python("import networkx, pandas; graph = networkx." + read + `(%q); ` +
		`pandas.DataFrame.from_dict(dict(graph.nodes(data=True)), orient="index").to_csv("nodes.csv", index_label="id"); ` +
		`networkx.to_pandas_edgelist(graph).to_csv("edges.csv", index=False)`)
}

func extensions(all ...string) func(*peek) bool {
	return func(p *peek) bool { return slices.Contains(all, p.extension) }
}

// peek is a look at the beginning of a file.
type peek struct {
	path, name, extension string   // the last two in lower case
	start                 string   // the first bytes, up to the end of a line
	lines                 []string // those that have anything and are no comments
	fields                [][]string
	text                  *textFile // the start, as text; nil: it is none
	arrays                []string  // names of those in an archive
}

// enoughToTell are so many bytes that several lines are among them.
const enoughToTell = 1 << 12

// newPeek looks at a file; one that cannot be opened has a name only.
func newPeek(path string) *peek {
	p := &peek{path: path, name: strings.ToLower(filepath.Base(path)), extension: strings.ToLower(filepath.Ext(path))}
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
	if encodingOf(start) != "" && bytes.IndexByte(start, 0) < 0 {
		start = latin1(start) // its lines tell what it is all the same
	}
	if p.text, err = newTextFile(path, start); err != nil {
		return p
	}
	for line := range strings.Lines(p.text.text) {
		if line = strings.TrimSpace(line); line != "" && !isComment(line) {
			p.lines, p.fields = append(p.lines, line), append(p.fields, strings.Fields(line))
		}
	}
	return p
}

// plain reports whether the name leaves open what a file is.
func (p *peek) plain() bool { return slices.Contains(plainExtensions, p.extension) && len(p.lines) > 0 }

// best returns what a file most probably is, a format without a name if nothing speaks for anything.
func (p *peek) best() format {
	if i := slices.IndexFunc(formats, func(f format) bool { return f.is(p) }); i >= 0 {
		return formats[i]
	}
	return format{}
}

// shellWord is a path as a shell wants it.
func shellWord(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return strings.ContainsRune(" '\"$&;()*?[]<>|\\`!#~", c) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// as is the name of a file that the content of this one may be written to.
func (p *peek) as(extension string) string {
	return shellWord(strings.TrimSuffix(filepath.Base(p.path), filepath.Ext(p.path)) + extension)
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

// latin1 are bytes as characters.
func latin1(data []byte) []byte {
	var text []byte
	for _, b := range data {
		text = utf8.AppendRune(text, rune(b))
	}
	return text
}

// notText is the error of a file that is no text in UTF-8, at its first line that is none.
func notText(path string, data []byte) error {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return nil
	}
	at, extension := 0, filepath.Ext(path)
	for r, size := utf8.DecodeRune(data); r > 0 && (r != utf8.RuneError || size > 1); {
		at += size
		r, size = utf8.DecodeRune(data[at:])
	}
	return &Error{File: path, Line: lineAt(data, at), Problem: "it is not text in UTF-8",
		Remedy: fmt.Sprintf("save it in UTF-8, such as by iconv -f %s -t UTF-8 %s > %s (with the name of its encoding, if "+
			"that is another)", encodingOf(data), shellWord(path),
			shellWord(strings.TrimSuffix(path, extension)+".utf8"+extension))}
}

// isPrediction knows arrays and tables that predict and sample write.
func (p *peek) isPrediction() bool {
	return p.predicted() || holding("beliefs")(p) || holding("log_score")(p) ||
		slices.Contains(tableExtensions, p.extension) && strings.Contains(p.header(), "p(") &&
			strings.HasSuffix(p.header(), ")")
}

// predicted reports whether tokens have a label and a prediction of it: the last two columns have the same texts,
// mostly at once; or those of CoNLL-U have what WriteTags leaves there.
func (p *peek) predicted() bool {
	labels, guesses, same := map[string]bool{}, map[string]bool{}, 0
	for _, fields := range p.fields {
		n := len(fields)
		if n < 3 || p.extension == ".crfsuite" || isNumber(fields[n-1]) {
			return false
		}
		if labels[fields[n-2]], guesses[fields[n-1]] = true, true; fields[n-2] == fields[n-1] {
			same++
		}
	}
	alike, gold := len(guesses) > 1 && 2*same >= len(p.fields), false
	for guess := range guesses {
		alike, gold = alike && labels[guess], gold || strings.Contains(guess, goldMark)
	}
	return (p.plain() || slices.Contains(textExtensions, p.extension)) && (alike || gold && p.text.isCoNLLU())
}

// isList knows a list by its name, or the files that it names.
func (p *peek) isList() bool {
	return p.extension == ".list" || p.extension == ".txt" && (len(p.lines) == 0 || strings.Contains(p.start, ".npz"))
}

// networkExtensions are those of networks with explicit tables.
var networkExtensions = []string{".uai", ".bif"}

func (p *peek) isNetwork() bool {
	first, _, _ := strings.Cut(strings.TrimSpace(p.header()), " ")
	return slices.Contains(networkExtensions, p.extension) || first == "MARKOV" || first == "BAYES" ||
		first == "network" && strings.Contains(p.start, "{") || holding("theta")(p)
}

// isTokenTable knows a table of words by its header, which has a column of sentences first.
func (p *peek) isTokenTable() bool {
	header := strings.ToLower(strings.ReplaceAll(p.header(), `"`, ""))
	return slices.Contains(tableExtensions, p.extension) && strings.HasPrefix(header, "sent") &&
		(strings.Contains(header, "word") || strings.Contains(header, "token"))
}

// fromTokenTable writes such a table as text.
func (p *peek) fromTokenTable() string {
	encoding, comma := cmp.Or(encodingOf([]byte(p.start)), "UTF-8"), string(separatorOf(p.header(), separators))
	return asTaggedText + ", as by " + python(fmt.Sprintf(fromTokens, encoding, comma))(p) + " > " + p.as(".conll")
}

// header is the first line.
func (p *peek) header() string {
	if len(p.lines) == 0 {
		return ""
	}
	return p.lines[0]
}

func (p *peek) isTable() bool {
	return isNodesTable(p.name) || isEdgesTable(p.name) || slices.Contains(tableExtensions, p.extension) && !p.isText()
}

// isCommas knows lines with as many commas each.
func (p *peek) isCommas() bool {
	commas := strings.Count(p.header(), ",")
	return p.plain() && commas > 0 && len(p.lines) > 1 &&
		!slices.ContainsFunc(p.lines, func(line string) bool { return strings.Count(line, ",") != commas })
}

func isNumber(text string) bool {
	_, err := numeric.ParseDecimal(text)
	return err == nil
}

func isIndex(text string) bool {
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil
}

// isNumbers knows rows of as many numbers each, below a header or none.
func (p *peek) isNumbers() bool {
	separator, columns, header := separatorOf(p.header(), separators), 0, 0
	for i, line := range p.lines {
		cells := strings.Fields(line)
		if strings.ContainsRune(line, separator) {
			cells = trimmed(strings.Split(line, string(separator)))
		}
		switch numbers := !slices.ContainsFunc(cells, isNoNumber); {
		case i == 0 && !numbers:
			header = 1
		case !numbers, i > header && len(cells) != columns:
			return false
		}
		columns = len(cells)
	}
	return columns > 1 && len(p.lines) > header
}

// isRows knows them in a file whose name tells nothing else.
func (p *peek) isRows() bool {
	return p.isNumbers() && p.text.ends < 2 &&
		!slices.Contains(slices.Concat(tableExtensions, textExtensions), p.extension)
}

// fromRows tells what rows of numbers may be turned into.
func (p *peek) fromRows() string {
	how, mark := "", separatorOf(p.header(), separators)
	if strings.ContainsRune(p.header(), mark) {
		how = fmt.Sprintf(", delimiter=%q", string(mark))
	}
	if strings.ContainsFunc(p.header(), unicode.IsLetter) {
		how += ", skiprows=1"
	}
	return "write a header and commas for a table of nodes or edges; of a matrix of edges, " +
		python(`import numpy; numpy.savetxt("edges.csv", numpy.argwhere(numpy.triu(numpy.loadtxt(%q`+how+`), 1)), `+
			edgeHeader)(p) + "; " + p.fromSamples()
}

// fromSamples is how samples of a physical system are learned from.
func (p *peek) fromSamples() string {
	return "of samples, {model!blockbp train --model ising} " + shellWord(p.path)
}

// tagMark is what stands between words and tags behind them: /, _ or |; 0: nothing does.
func (p *peek) tagMark() byte {
	for _, mark := range "/_|" {
		tagged, all := 0, 0
		for _, fields := range p.fields {
			for _, x := range fields {
				if all++; strings.LastIndex(x, string(mark)) > 0 {
					tagged++
				}
			}
		}
		if 10*tagged > 9*all && all > len(p.fields) {
			return byte(mark)
		}
	}
	return 0
}

func (p *peek) isWordTags() bool {
	return (p.plain() || slices.Contains([]string{".pos", ".tagged", ".tag", ".conll"}, p.extension)) && p.tagMark() != 0
}

func (p *peek) fromWordTags() string {
	mark := string(p.tagMark())
	return fmt.Sprintf("write a word and its tag on each line: "+
		`awk '{for (i = 1; i <= NF; i++) {n = match($i, /[%[1]s][^%[1]s]*$/); `+
		`print substr($i, 1, n - 1) "\t" substr($i, n + 1)}; print ""}' %s > %s`, mark, shellWord(p.path), p.as(".conll"))
}

// isMallet knows lines of features, as many as a token has, with the label last: of labels there are few.
func (p *peek) isMallet() bool {
	labels := map[string]bool{}
	for _, fields := range p.fields {
		labels[fields[len(fields)-1]] = true
	}
	return p.plain() && !p.text.tabs && p.text.least > 1 && !p.mostlyAlike() && len(p.lines) > 2 &&
		10*len(labels) <= 7*len(p.lines)
}

func (p *peek) fromMallet() string {
	return fmt.Sprintf(`write labels first and tabs between: awk '!NF {print; next} {s = ""; for (i = 1; i < NF; i++) `+
		`s = s "\t" $i; gsub(/:/, "\\:", s); print $NF s}' %s > %s`, shellWord(p.path), p.as(".crfsuite"))
}

// mostlyAlike reports whether most lines have the same number of columns, and others one less: a slip.
func (p *peek) mostlyAlike() bool {
	usual, all := p.text.usual, 0
	for _, n := range p.text.columns {
		all += n
	}
	alike := p.text.columns[usual]
	return usual > 1 && !p.text.tabs && 10*alike > 6*all && alike+p.text.columns[usual-1] == all
}

// isText knows tagged text by its name, or by lines with as many columns each, or separated by tabs.
func (p *peek) isText() bool {
	f := p.text
	switch {
	case slices.Contains(textExtensions, p.extension):
		return true
	case f == nil || f.ends == 0 || f.text[0] == '#' && !f.heads && !f.tabs:
		return false
	case p.extension == tabbedTextExtension:
		return f.ends > fewEnds && f.least > 1
	case slices.Contains(plainExtensions, p.extension):
		return len(p.lines) > 1 && (f.least > 1 && f.tabs || p.mostlyAlike())
	}
	return f.ends > 1 && f.least > 1 && (f.tabs || f.least == f.most) && !slices.Contains(tableExtensions, p.extension)
}
