package dataset

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/numeric"
)

// There is one list of the formats that people keep data in, for all verbs. A file is what most speaks for, by its
// name and its first lines. Of a format that is not read the list tells how to turn it into one that is.

// kindNetwork is the kind of networks with explicit tables, which verbs of inference read.
const kindNetwork = "network"

// How much speaks for a format: its first bytes, its name, its extension, its lines, or little.
const (
	byContent   = 80
	byName      = 70
	byExtension = 60
	byLines     = 45
	byChance    = 20
)

// format is one of the list.
type format struct {
	what  string // with its article
	kind  string // that it is read as; "": it is not read
	score func(p *peek) int
	how   func(p *peek) string // what to do where the kind is wanted that it is not
}

// formats in their order: of two that as much speaks for the first is meant.
var formats = []format{
	{"a file of predictions", "", predictionScore, say("give the data that they are of")},
	{"a file of arrays as PyTorch Geometric names them", "", holding("edge_index"), func(p *peek) string {
		return python(fromGeometric)(&peek{path: filepath.Join(filepath.Dir(p.path), "*.npz")})
	}},
	{"a graph of sparse matrices", "", holding("adj_indptr"), python(fromSparse)},
	{"a sparse matrix", "", holding("indptr"), python(`import numpy, scipy.sparse as s; numpy.savetxt("edges.csv", ` +
		`numpy.transpose(s.triu(s.load_npz(%q), 1).nonzero()), ` + edgeHeader)},
	{"a file of arrays", KindNPZ, extensions(".npz"), say("give it to train, with labels and edges")},
	{"a list of files", KindNPZ, (*peek).listScore, say("list .npz files, one a line")},
	{"a compressed file", "", (*peek).packedScore, (*peek).unpack},
	{"a model", "", extensions(".safetensors"), say("name it with -m")},
	{"a network", kindNetwork, (*peek).networkScore, func(p *peek) string {
		return fmt.Sprintf("it has neither labels nor features; ask for its marginals with blockbp infer %s --task MAR",
			shellWord(p.path))
	}},
	{"a table of tokens", "", (*peek).tokenTableScore, (*peek).fromTokenTable},
	{"a table", KindGraph, (*peek).tableScore, nil},
	{"a Parquet file", "", extensions(".parquet", ".pq"), python(`import pandas; ` +
		`pandas.read_parquet(%q).to_csv("nodes.csv", index=False)`)},
	{"a workbook", "", extensions(".xls", ".xlsx", ".ods"), say("save its sheets as CSV, one of nodes and one of edges")},
	{"a GraphML file", "", extensions(".graphml"), networkxToTables("read_graphml")},
	{"a GML file", "", extensions(".gml"), networkxToTables("read_gml")},
	{"a GEXF file", "", extensions(".gexf"), networkxToTables("read_gexf")},
	{"a network as Hugin writes it", "", func(p *peek) int {
		return p.points(byContent, p.extension == ".net" && strings.Contains(p.start, "{"))
	}, func(p *peek) string {
		return fmt.Sprintf(`Rscript -e 'library(bnlearn); write.bif("%s", read.net("%s"))'`, p.as(".bif"), p.path)
	}},
	{"a Pajek file", "", extensions(".net", ".paj"), networkxToTables("read_pajek")},
	{"a Matrix Market file", "", extensions(".mtx"), python(`import numpy, scipy.io, scipy.sparse; ` +
		`numpy.savetxt("edges.csv", numpy.transpose(scipy.sparse.triu(scipy.io.mmread(%q), 1).nonzero()), ` + edgeHeader)},
	{"a file of JSON lines", "", extensions(".jsonl"), say("write tables of nodes and edges; or, of sentences, " +
		asTaggedText)},
	{"a JSON file", "", extensions(".json"), python(`import json, pandas; d = json.load(open(%q)); ` +
		`pandas.json_normalize(d["nodes"]).to_csv("nodes.csv", index=False); ` +
		`pandas.json_normalize(d.get("links") or d["edges"]).to_csv("edges.csv", index=False)`)},
	{"an array without a name", "", extensions(".npy"), say(`put it into npz with its name, ` +
		`in Python numpy.savez("data.npz", labels=…, edges=…, node_features=…)`)},
	{"a MATLAB file", "", extensions(".mat"), say(`write its arrays as npz, in Python ` +
		`numpy.savez("data.npz", labels=…, edges=…, node_features=…) of scipy.io.loadmat("data.mat")`)},
	{"a PyTorch file", "", extensions(".pt", ".pth"), python(`import numpy, torch; ` +
		`d = torch.load(%q, weights_only=False); d = d[0] if isinstance(d, tuple) else d; ` +
		`numpy.savez("data.npz", edges=d.edge_index.T, labels=d.y, node_features=d.x)`)},
	{edgeList, KindGraph, (*peek).edgeListScore, nil},
	{"text of words with tags behind them", "", (*peek).wordTagScore, (*peek).fromWordTags},
	{"a table of another name", "", (*peek).commaScore, say("call it .csv, and give it a header")},
	{"rows of numbers", "", (*peek).numbersScore, say("write a header and commas for a table of nodes or edges; " +
		`of samples, in Python numpy.savez("data.npz", labels=samples, edges=[[0, 1], …])`)},
	{"text as MALLET's SimpleTagger reads it", "", (*peek).malletScore, (*peek).fromMallet},
	{"tagged text", KindText, (*peek).textScore, say("give it to train")},
}

// Programs that turn the arrays of others into those of this package.
const (
	fromGeometric = `import glob, numpy, os; os.makedirs("converted", exist_ok=True); ` +
		`[numpy.savez("converted/" + os.path.basename(f), edges=d["edge_index"].T, ` +
		`**{k: d[v] for k, v in [("labels", "y"), ("node_features", "x")] if v in d}) ` +
		`for f in glob.glob(%q) for d in [numpy.load(f)]]`
	fromSparse = `import numpy, scipy.sparse as s; d = numpy.load(%q, allow_pickle=True); ` +
		`m = lambda a: s.csr_matrix((d[a + "_data"], d[a + "_indices"], d[a + "_indptr"]), d[a + "_shape"]); ` +
		`e = numpy.transpose(s.triu(m("adj") + m("adj").T, 1).nonzero()); ` +
		`numpy.savez("converted.npz", edges=e, labels=d["labels"], ` +
		`**({"node_features": m("attr").toarray()} if "attr_data" in d else {}))`
	fromTokens = `import csv; h, *t = csv.reader(open(%%q, encoding="%s", errors="replace"), delimiter="%s"); ` +
		`n = [c.strip().lower() for c in h]; s = [i for i, c in enumerate(n) if "sent" in c]; ` +
		`k = sorted((i for i, c in enumerate(n) if c and i not in s), ` +
		`key=lambda i: (n[i][:3] in ("tag", "lab", "ner")) - (n[i][:4] in ("word", "toke"))); ` +
		`t = [r + [""] * (len(h) - len(r)) for r in t if not s or any(map(str.strip, r))]; ` +
		`b = [bool(s and r[s[0]] not in ("", q[s[0]])) for q, r in zip(t[:1] + t, t)]; ` +
		`[print("\n" * x + "\t".join(r[i] for i in k).rstrip()) for x, r in zip(b, t)]`
)

// holding knows archives that have an array of a name.
func holding(names ...string) func(*peek) int {
	return func(p *peek) int {
		return p.points(byContent, slices.ContainsFunc(p.arrays,
			func(name string) bool { return slices.Contains(names, name) }))
	}
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

func extensions(all ...string) func(*peek) int {
	return func(p *peek) int { return p.points(byExtension, slices.Contains(all, p.extension)) }
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
	file, size, err := infile.Open(path, "data")
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
	start = infile.Lines(start[:n])
	if n == enoughToTell {
		start = start[:bytes.LastIndexByte(start, '\n')+1]
	}
	p.start = string(start)
	if encodingOf(start) != "" && bytes.IndexByte(start, 0) < 0 {
		start = latin1(start) // its lines tell what it is all the same
	}
	if p.text, err = newTextFile(context.Background(), path, start); err != nil {
		return p
	}
	for line := range strings.Lines(p.text.text) {
		if line = strings.TrimSpace(line); line != "" && !isComment(line) {
			p.lines, p.fields = append(p.lines, line), append(p.fields, strings.Fields(line))
		}
	}
	return p
}

func (p *peek) points(points int, is bool) int {
	if is {
		return points
	}
	return 0
}

// share is the share of the lines for which something is so.
func (p *peek) share(is func(fields []string) bool) float64 {
	n := 0
	for _, fields := range p.fields {
		if is(fields) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(p.fields)))
}

// plain reports whether the name leaves open what a file is.
func (p *peek) plain() bool { return slices.Contains(plainExtensions, p.extension) && len(p.lines) > 0 }

// best returns what a file most probably is, nil if nothing speaks for anything.
func (p *peek) best() (best *format) {
	most := 0
	for i := range formats {
		if points := formats[i].score(p); points > most {
			most, best = points, &formats[i]
		}
	}
	return best
}

// couldBe reports whether anything speaks for a kind.
func (p *peek) couldBe(kind string) bool {
	return slices.ContainsFunc(formats, func(f format) bool { return f.kind == kind && f.score(p) > 0 })
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

// encodingOf guesses in which encoding bytes are text that are not UTF-8, "" if they are. Pairs of bytes above 160 are
// of EUC, of which Japanese has many kana.
func encodingOf(data []byte) string {
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return "UTF-16"
	case utf8.Valid(data):
		return ""
	}
	count := func(pairs string) int { return len(regexp.MustCompile(pairs).FindAllIndex(latin1(data), -1)) }
	pairs, high := count(`[¡-þ]{2}`), count(`[\x80-ÿ]`)
	switch {
	case 3*count(`[\x82\x83][@-ü]`) > high:
		return "SHIFT_JIS"
	case pairs < 2 || 5*pairs < 2*high:
		return "ISO-8859-1"
	case 10*count(`[¤¥][¡-þ]`) > pairs:
		return "EUC-JP"
	case 10*count(`[°-È][¡-þ]`) > 9*pairs:
		return "EUC-KR"
	}
	return "GB18030"
}

// latin1 are bytes as characters.
func latin1(data []byte) []byte {
	var text []byte
	for _, b := range data {
		text = utf8.AppendRune(text, rune(b))
	}
	return text
}

// notUTF8 is what is said of text in another encoding.
func notUTF8(path string, data []byte) (problem, remedy string) {
	extension := filepath.Ext(path)
	data = data[max(0, invalidUTF8(data)):]
	return "it is not text in UTF-8", fmt.Sprintf("save it in UTF-8, if it is as it looks by iconv -f %s -t UTF-8 %s > %s",
		encodingOf(data[:min(len(data), 16*enoughToTell)]), shellWord(path),
		shellWord(strings.TrimSuffix(path, extension)+".utf8"+extension))
}

// predictionScore knows what predict and sample write.
func predictionScore(p *peek) int {
	table := slices.Contains(tableExtensions, p.extension) && strings.Contains(p.header(), "p(") &&
		strings.HasSuffix(p.header(), ")")
	return max(holding("beliefs", "log_score")(p), p.points(byContent, table || p.predicted()))
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

func (p *peek) listScore() int {
	named := strings.Contains(p.start, ".npz")
	switch p.extension {
	case ".list":
		return p.points(byLines, named || p.text == nil || p.text.most < 2)
	case ".txt":
		return max(p.points(byExtension, named), p.points(byChance, len(p.lines) == 0 || p.text.most < 2))
	}
	return 0
}

// packers are how to unpack what begins with some bytes.
var packers = []struct{ magic, extension, command string }{
	{"\x1f\x8b", ".gz", "gzip -dk"}, {"BZh", ".bz2", "bzip2 -dk"}, {"\xfd7zXZ", ".xz", "xz -dk"},
	{"\x28\xb5\x2f\xfd", ".zst", "zstd -dk"}, {"PK\x03\x04", ".zip", "unzip"},
}

func (p *peek) packer() (command string) {
	for _, packer := range packers {
		if p.extension == packer.extension || strings.HasPrefix(p.start, packer.magic) {
			return packer.command
		}
	}
	return ""
}

func (p *peek) packedScore() int {
	return p.points(byLines, p.packer() != "") + p.points(byExtension, p.packer() != "" && p.arrays == nil &&
		!slices.Contains([]string{".npz", ".xlsx", ".ods", ".pt", ".pth", ".csv", ".tsv"}, p.extension))
}

func (p *peek) unpack() string { return "unpack it: " + p.packer() + " " + shellWord(p.path) }

// networkExtensions are those of networks with explicit tables.
var networkExtensions = []string{".uai", ".bif", ".fg", ".wcsp"}

func (p *peek) networkScore() int {
	first := ""
	if len(p.fields) > 0 {
		first = p.fields[0][0]
	}
	return max(p.points(byExtension, slices.Contains(networkExtensions, p.extension)),
		p.points(byContent, first == "MARKOV" || first == "BAYES" || first == "network" && strings.Contains(p.start, "{")),
		p.points(byContent, slices.Contains(p.arrays, thetaArray)))
}

// tokenColumns are names of columns of a table of tokens, of which one of the first two is there.
var tokenColumns = regexp.MustCompile(`^(word|token|sent|pos|tag|ner|label|chunk|lemma|doc|$)`)

// tokenTableScore knows a table of words by its header: all columns are such, or one is of sentences.
func (p *peek) tokenTableScore() int {
	header := strings.ToLower(strings.NewReplacer(`"`, "", " ", "").Replace(p.header()))
	cells := strings.FieldsFunc(header, func(c rune) bool { return strings.ContainsRune(separators, c) })
	begins := func(with ...string) bool {
		return slices.ContainsFunc(cells, func(cell string) bool {
			return slices.ContainsFunc(with, func(name string) bool { return strings.HasPrefix(cell, name) })
		})
	}
	strange := slices.ContainsFunc(cells, func(cell string) bool { return !tokenColumns.MatchString(cell) })
	return p.points(byExtension, slices.Contains(tableExtensions, p.extension) && begins("word", "token") &&
		(begins("sent") || !strange && len(cells) > 1))
}

// fromTokenTable writes such a table as text: an empty line where the column of sentences begins another.
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

func (p *peek) tableScore() int {
	return max(p.points(byName, isNodesTable(p.name) || isEdgesTable(p.name)),
		p.points(byExtension-10, slices.Contains(tableExtensions, p.extension)))
}

// commaScore knows lines with as many commas each.
func (p *peek) commaScore() int {
	commas := strings.Count(p.header(), ",")
	return p.points(byChance+5, p.plain() && commas > 0 && len(p.lines) > 1 &&
		!slices.ContainsFunc(p.lines, func(line string) bool { return strings.Count(line, ",") != commas }))
}

func isNumber(text string) bool {
	_, err := numeric.ParseDecimal(text)
	return err == nil
}

func isIndex(text string) bool {
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil
}

func (p *peek) numbersScore() int {
	return p.points(byLines+2, p.plain() && p.text.ends < 2 && len(p.text.text) > 0 && p.share(func(fields []string) bool {
		return len(fields) > 1 && !slices.ContainsFunc(fields, func(x string) bool { return !isNumber(x) })
	}) == 1)
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

func (p *peek) wordTagScore() int {
	known := p.plain() || slices.Contains([]string{".pos", ".tagged", ".tag"}, p.extension)
	tagged := len(p.fields) > 0 && p.tagMark() != 0 && !strings.Contains(p.start, ".npz")
	return max(p.points(byLines+3, known && tagged), p.points(byExtension+1, p.extension == ".conll" && tagged))
}

func (p *peek) fromWordTags() string {
	mark := string(p.tagMark())
	return fmt.Sprintf("write a word and its tag on each line: "+
		`awk '{for (i = 1; i <= NF; i++) {n = match($i, /[%[1]s][^%[1]s]*$/); `+
		`print substr($i, 1, n - 1) "\t" substr($i, n + 1)}; print ""}' %s > %s`, mark, shellWord(p.path), p.as(".conll"))
}

// malletScore knows lines of features, as many as a token has, with the label last: of labels there are few.
func (p *peek) malletScore() int {
	labels := map[string]bool{}
	for _, fields := range p.fields {
		labels[fields[len(fields)-1]] = true
	}
	return p.points(byLines+1, p.plain() && !p.text.tabs && p.text.least > 1 && !p.mostlyAlike() && len(p.lines) > 2 &&
		10*len(labels) <= 7*len(p.lines))
}

func (p *peek) fromMallet() string {
	return fmt.Sprintf(`write labels first and tabs between: awk '!NF {print; next} {s = ""; for (i = 1; i < NF; i++) `+
		`s = s "\t" $i; gsub(/:/, "\\:", s); print $NF s}' %s > %s`, shellWord(p.path), p.as(".crfsuite"))
}

// mostlyAlike reports whether most lines have the same number of columns, and others one less: a slip.
func (p *peek) mostlyAlike() bool {
	usual := p.text.usual()
	less := func(fields []string) bool { return len(fields) == usual-1 }
	alike := p.share(func(fields []string) bool { return len(fields) == usual })
	return usual > 1 && !p.text.tabs && alike > 0.6 && alike+p.share(less) == 1
}

// textScore knows tagged text by its name, or by lines with as many columns each, or separated by tabs.
func (p *peek) textScore() int {
	f := p.text
	switch {
	case slices.Contains(textExtensions, p.extension):
		return byExtension
	case f == nil || f.first == 0 || strings.Contains(p.start, ".npz") || f.text[0] == '#' && !f.heads && !f.tabs:
		return 0
	case p.extension == tabbedTextExtension:
		return p.points(byExtension-5, f.ends > fewEnds && f.least > 1)
	case slices.Contains(plainExtensions, p.extension):
		return p.points(byLines, len(p.lines) > 1 && (f.least > 1 && f.tabs || p.mostlyAlike()))
	}
	alike := f.least > 1 && (f.tabs || f.least == f.most)
	return p.points(byChance+10, f.ends > 1 && alike && !slices.Contains(tableExtensions, p.extension))
}

// words are those of the first lines of tagged text in columns, "" for fewer than some.
func (p *peek) words() string {
	var words []string
	if p.text != nil && p.extension != ".crfsuite" {
		p.text.each(func(_ int, text string) { words = append(words, p.text.fields(text)[0]) }, nil)
	}
	if len(words) < 3 {
		return ""
	}
	return strings.Join(words, "\n")
}
