// Package formats reads what people keep data in as text: rows of tables, lists of edges, tagged sentences, sequences.
// It knows of a path what it most probably is, and nothing of models.
//
// There is one list of formats, for all verbs. Of a format that is not read it tells how to make one that is.
package formats

import (
	"archive/zip"
	"bytes"
	"cmp"
	_ "embed" // of advice
	"fmt"
	"io"
	"path/filepath"
	"regexp"
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
}

var isPlink = begins(`FID[ \t]+IID[ \t]+PAT[ \t]`)

// spans is a list of them in JSON, as programs for marking text call it.
const spans = `"(labels?|spans|entities|ents|annotations)":\s*\[\s*[]\[{]`

// formats are tried in this order: what a file holds tells before its name, and its name before its lines.
var formats = slices.Concat([]Format{
	{"a file of predictions", "", "", (*Peek).isPrediction},
	{"a file of samples", "", "", func(p *Peek) bool { return p.has("samples") && !p.has(npy.Edges) && !p.has("labels") }},
	{"a file of Hugin, GeNIe or XMLBIF", "", ".xdsl .dsl .dne .dsc .xmlbif", func(p *Peek) bool {
		return p.extension == ".net" && strings.Contains(p.start, "{") || strings.Contains(p.start, "<BIF")
	}},
	{"a map", "", "", begins(`\{[\s\S]*"FeatureCollection"`)},
	{"a file of texts with spans in JSON", "", "", data(`[[{][\s\S]*("(text|data)":[\s\S]*` + spans + `|` + spans +
		`[\s\S]*"(text|data)":|"paragraphs":|\[\s*"[\s\S]*"entities":)`)},
	{"a file of sentences in JSON", "", "", data(`[[{][\s\S]*"(tokens|words)":\s*\[\s*["\]]`)},
}, named, []Format{
	{"a network", KindNetwork, ".uai .bif theta", begins(`(?m)^(MARKOV|BAYES)( |$)|^network( |$)[^{]*\{`)},
	{"a file of arrays of other names", "", "", (*Peek).isOtherArrays},
	{"a file of arrays", kindNPZ, ".npz", nil},
	{"an empty file", "", "", func(p *Peek) bool { return p.empty }},
	{"a list of files", "", ".list", (*Peek).isList},
	{"a table of sentences", "", "", (*Peek).isSentenceTable},
	{"a table of tokens", "", "", (*Peek).isTokenTable},
	{"a list of edges between two kinds of nodes", "", "", begins("% bip")},
	{"a list of neighbours", "", ".adjlist", (*Peek).isNeighbours},
	{"a table", kindGraph, "", (*Peek).isTable},
	{"an alignment of sequences", "", "", func(p *Peek) bool { return p.IsAlignment(longerThanWords) }},
	{"an alignment of Stockholm or Clustal", "", "", begins(`^(# STOCKHOLM|CLUSTAL)`)},
	{"a picture", "", strings.Join(PictureSuffixes, " "), nil},
	{"a table of genotypes, as of PLINK", "", "", isPlink},
	{"a table of letters, as of Taskar's set", "", "", mostly(`^\d+\t[a-z]\t-?\d+(\t\d+){100}`)},
	{"a table whose cells blanks separate", "", "", (*Peek).isRTable},
	{"rows of characters", "", "", mostly(`^([01]{4,}|[-+]{4,})$`)},
	{EdgeList, kindGraph, "", (*Peek).isEdgeList},
	{"a table whose cells blanks separate", "", "", (*Peek).isBlankTable},
	{"a table by the name of a text", "", "", (*Peek).isRenamedTable},
	{"text of words with tags behind them", "", "", (*Peek).isWordTags},
	{"rows of numbers", "", "", (*Peek).isRows},
	{"text without labels", "", "", mostly(`^[^\t]* [^\t]*[.!?"]$`)},
	{"text as MALLET's SimpleTagger reads it", "", "", (*Peek).isMallet},
	{"tagged text", kindText, "", (*Peek).isText},
})

// fits reports whether a file is of the format.
func (f *Format) fits(p *Peek) bool {
	return f.is != nil && f.is(p) || slices.ContainsFunc(strings.Fields(f.signs), func(sign string) bool {
		return sign == p.extension || p.has(sign)
	})
}

//go:embed advice.txt
var adviceText string

// named are the formats that names of files or arrays tell of, which advice.txt has behind their own; advice has, by
// names of formats and of mistakes, what to do.
var named, advice = func() (list []Format, all map[string]string) {
	all, what, signs := map[string]string{}, "", ""
	for line := range strings.Lines(adviceText) {
		if name, heads := strings.CutPrefix(strings.TrimSpace(line), "# "); heads {
			if what, signs, heads = strings.Cut(name, ": "); heads {
				list = append(list, Format{What: what, signs: signs})
			}
		} else {
			all[what] = strings.TrimSpace(all[what] + " " + name)
		}
	}
	return list, all
}()

// Word is a name as a shell reads it, in a message.
func Word(name string) string { return option.Literal(printable.Word(name)) }

// Advise tells what to do with a file that is this, where other data are wanted. In advice.txt words in capitals stand
// for its path, that without folder and extension, what lines are made of, and more arguments. Names that users
// choose stand outside of what is between quotes.
func (p *Peek) Advise(what string, more ...string) string {
	mark, layout, sep := p.tagMark(), "", `\\s+`
	if !p.isWordTags() || mark == "" {
		mark = string(separatorOf(p.header()))
	}
	if strings.Contains(p.header(), mark) {
		layout, sep = fmt.Sprintf(", delimiter=%q", mark), strings.ReplaceAll(mark, "\t", `\t`)
	}
	if slices.ContainsFunc(strings.FieldsFunc(p.header(), func(r rune) bool { return r == ' ' || r == rune(mark[0]) }),
		isName) {
		layout += ", skiprows=1"
	}
	stem := strings.TrimSuffix(filepath.Base(p.path), filepath.Ext(p.path))
	return strings.NewReplacer("FILE", Word(p.path), "STEM", Word(stem), "LAYOUT", layout,
		" MORE", strings.TrimSuffix(" "+Word(strings.Join(more, ",")), " ''"), // there may be none
		"KIND", strings.TrimPrefix(p.extension, "."), "MARK", strings.ReplaceAll(mark, "\t", `\t`), "SEPARATOR", sep,
		"ENCODING", cmp.Or(encodingOf([]byte(p.start)), "UTF-8")).Replace(advice[what])
}

// Peek is a look at the beginning of a file.
type Peek struct {
	path, name, extension string   // the last two in lower case
	start                 string   // the first bytes, up to the end of a line
	lines                 []string // those that have anything and are no comments
	fields                [][]string
	text                  *Text    // the start, as text; empty: it is none
	arrays                []string // names of those in an archive
	empty                 bool     // no lines, and its name tells nothing
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
		p.arrays = numeric.Map(archive.File, func(f *zip.File) string { return strings.TrimSuffix(f.Name, ".npy") })
	}
	start := make([]byte, enoughToTell)
	n, _ := io.ReadFull(file, start)
	if n == enoughToTell && bytes.IndexByte(start, 0) < 0 && bytes.Count(start, []byte("\n")) < 3 { // as of many columns
		start = append(start, make([]byte, enoughToTell<<8)...)
		more, _ := io.ReadFull(file, start[n:])
		n += more
	}
	start = fileio.Lines(start[:n])
	if end := bytes.LastIndexByte(start, '\n'); n >= enoughToTell && end >= 0 {
		start = start[:end+1]
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
	p.empty = p.extension == ".txt" && n < enoughToTell && len(p.lines) == 0
	return p
}

// plain reports whether the name leaves open what a file is, and open whether it says neither table nor tagged text.
func (p *Peek) plain() bool { return slices.Contains(plainExtensions, p.extension) && len(p.lines) > 0 }

func (p *Peek) open() bool {
	return len(p.lines) > 0 && !slices.Contains(slices.Concat(tableExtensions, TextExtensions), p.extension)
}

func (p *Peek) has(array string) bool { return slices.Contains(p.arrays, array) }

// Best returns what a file most probably is, a format without a name if nothing speaks for anything.
func (p *Peek) Best() *Format {
	if i := slices.IndexFunc(formats, func(f Format) bool { return f.fits(p) }); i >= 0 {
		return &formats[i]
	}
	return &Format{}
}

// beyondASCII are letters that ASCII has not, or what is taken for them.
var beyondASCII = regexp.MustCompile(`[^\x00-\x7f]+`)

// encodingOf is the likeliest encoding of bytes that are not text in UTF-8, "" if they are: these letters stand alone
// in Latin scripts, and are words in Cyrillic and pairs of bytes in East Asia, with kana that begin as told here, two
// katakana at least. CP850, of DOS, has é, ü, ä and ö within words where Windows has quotes, which open and close them.
func encodingOf(data []byte) string {
	runs, all, odd, kana, shifted, old := beyondASCII.FindAll(data, -1), 0, 0, 0, 0, 0
	letter := func(i int) bool { return i >= 0 && unicode.IsLetter(rune(data[i])) && data[i] < utf8.RuneSelf }
	for i, x := range data[:max(0, len(data)-2)] {
		if x == 0x82 && data[i+1] >= 0x9f || x == 0x83 && data[i+2] == x {
			shifted++
		} else if letter(i-1) && (x == 0x82 || strings.IndexByte("\x81\x84\x94", x) >= 0 && letter(i+1)) {
			old++
		}
	}
	for _, run := range runs {
		all, odd = all+len(run), odd+len(run)%2
		for i := 0; i < len(run); i += 2 {
			if run[i]>>1 == 0xa4>>1 {
				kana++
			}
		}
	}
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return "UTF-16"
	case utf8.Valid(data):
		return ""
	case 4*shifted > len(runs):
		return "SHIFT_JIS"
	case all < 2*len(runs) && 2*old > len(runs):
		return "CP850"
	case all < 2*len(runs):
		return "WINDOWS-1252"
	case 4*kana > len(runs):
		return "EUC-JP"
	case 4*odd > len(runs):
		return "WINDOWS-1251"
	}
	return "GB18030"
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
			"as EUC-KR or MACINTOSH, if that is another; a workbook is no text: save it as CSV)", encodingOf(data), Word(path),
			Word(strings.TrimSuffix(path, extension)+".utf8"+extension))}
}

// isPrediction knows arrays and tables that predict writes, and text.
func (p *Peek) isPrediction() bool {
	return p.has("beliefs") || p.predicted() || slices.Contains(tableExtensions, p.extension) &&
		strings.Contains(p.header(), "p(") && strings.HasSuffix(p.header(), ")")
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
func (p *Peek) isList() bool { return p.extension == ".txt" && strings.Contains(p.start, ".npz") }

// isOtherArrays knows an archive without any array that tells of a network, or of samples.
func (p *Peek) isOtherArrays() bool {
	known := []string{npy.Edges, "grid_shape", "node_features", "edge_means", "states", "weight", "sample_weights"}
	return len(p.arrays) > 0 && !slices.Equal(p.arrays, []string{"labels"}) &&
		!slices.ContainsFunc(p.arrays, func(name string) bool { return slices.Contains(known, name) })
}

// begins knows files by what they begin with, or their lines without comments.
func begins(with string) func(p *Peek) bool {
	is := regexp.MustCompile(`\A(` + with + `)`)
	return func(p *Peek) bool { return is.MatchString(p.start) || is.MatchString(strings.Join(p.lines, "\n")) }
}

// data is begins for JSON, but graphs, whose nodes may have such words, and questions about paragraphs.
func data(with string) func(p *Peek) bool {
	is, other := begins(with), regexp.MustCompile(`"(nodes|links|edges|qas)":\s*\[`)
	return func(p *Peek) bool { return is(p) && !other.MatchString(p.start) }
}

// mostly knows files whose names tell nothing by what most of their lines are.
func mostly(line string) func(p *Peek) bool {
	is := regexp.MustCompile(line)
	return func(p *Peek) bool {
		others := slices.DeleteFunc(slices.Clone(p.lines), is.MatchString)
		return (p.plain() || strings.HasPrefix(p.start, "{")) && 2*len(others) < len(p.lines)
	}
}

var quotedNames = regexp.MustCompile(`^"[^"]*"([ \t]+"[^"]*")+$`)

// isRTable knows what R's write.table leaves: names in quotes above more cells than edges have, or one more than names.
func (p *Peek) isRTable() bool {
	names := strings.Count(p.header(), `"`) / 2
	return p.plain() && quotedNames.MatchString(p.header()) && len(p.fields) > 1 &&
		(names > 3 || len(p.fields[1]) == names+1)
}

// tokenHeader names a column of sentences and one of words, wordHeader words first and tags last, sentenceHeader texts
// and tags; spanTag is the last cell of a word of a span.
var (
	tokenHeader = regexp.MustCompile(`(?i)^((id|index|unnamed[^,]*|doc[^,]*|),)*(sentences?[ _.#:]*|` +
		`sent(ence)?s?[ _.#:]*(id|nr|no|num(ber)?|index|idx)),(.*,)?(words?|tokens?|forms?)(,|$)`)
	wordHeader = regexp.MustCompile(`(?i)^((\w*(id|idx|index|nr|no)|sent(ence)?s?),)?(words?|tokens?|forms?),` +
		`(.*,)?(\w*tags?|labels?|ner|u?pos|entity)$`)
	spanTag        = regexp.MustCompile(`[,;\t]"?[BI]-\w+"?\r?(\n|$)`)
	sentenceHeader = regexp.MustCompile(`(?i)(^|,)(sentence|tokens|words),(.*,)?(\w*tags?|labels|u?pos)$`)
)

// isTokenTable knows a table of words by its header, and, without a column of sentences, by words that come again, as
// no node does, or tags of spans; isSentenceTable one of sentences by the blanks below, the last ones among tags.
func (p *Peek) isTokenTable() bool {
	words := numeric.Map(p.lines, func(line string) string { return line[:max(0, strings.IndexAny(line, Separators))] })
	again := len(slices.Compact(slices.Sorted(slices.Values(words)))) < len(words)
	return p.heads(tokenHeader) || p.heads(wordHeader) && (again || spanTag.MatchString(p.start))
}

func (p *Peek) isSentenceTable() bool {
	row := strings.Join(p.lines[min(1, len(p.lines)):min(2, len(p.lines))], "") // the first below the header
	last := row[strings.LastIndexAny(row, Separators)+1:]
	return strings.Count(row, " ") > 3 && p.heads(sentenceHeader) &&
		(3*strings.Count(last, " ") >= strings.Count(row, " ") || strings.HasSuffix(strings.TrimRight(last, `"`), "]"))
}

// heads reports whether the columns of a table that is not said to be of nodes or edges are called so.
func (p *Peek) heads(header *regexp.Regexp) bool {
	return slices.Contains(tableExtensions, p.extension) && !IsNodesTable(p.name) && !IsEdgesTable(p.name) &&
		header.MatchString(strings.NewReplacer(`"`, "", "\t", ",", ";", ",").Replace(p.header()))
}

// isRenamedTable knows a table whose name tells nothing by a column of numbers, below a header or beside texts.
func (p *Peek) isRenamedTable() bool {
	t := ReadRows(p.path, []byte(p.text.Text), false)
	return p.open() && p.text.Ends == 1 && len(t.List) == 0 && len(t.Rows) > 2 && len(t.Rows[0]) > 1 &&
		slices.ContainsFunc(t.Rows[0], isName) && weighNumbers(t.Rows[1:], 0) > 0
}

// isBlankTable knows one whose cells blanks separate by more numbers than tokens have.
func (p *Peek) isBlankTable() bool {
	f := p.text
	return p.open() && f.Ends == 1 && (f.Header == "" || isComment(f.Header)) && len(p.lines) > 2 && !p.IsNumbers() &&
		weighNumbers(p.fields[1:], numeric.OneIf(f.Numbered)) > 2
}

// weighNumbers counts columns of numbers, from one on where a word would stand; fractions, and such words, count twice.
func weighNumbers(rows [][]string, first int) (weight int) {
	for i := first; i < len(rows[0]); i++ {
		other := func(row []string) bool { return len(row) != len(rows[0]) || !isNumber(row[i]) }
		if !slices.ContainsFunc(rows, other) {
			weight += 1 + min(1, strings.Count(rows[0][i], "."))
			if i == first {
				weight++
			}
		}
	}
	return weight
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

func betweenNames(c rune) bool { return strings.ContainsRune(" "+Separators, c) }

func isNumber(text string) bool {
	_, err := numeric.ParseDecimal(text)
	return err == nil
}

func isNoNumber(text string) bool { return !isNumber(text) }

// isName reports what NumPy reads as no number: isNumber knows decimals alone.
func isName(text string) bool {
	_, err := strconv.ParseFloat(strings.Trim(text, "\" "), 64)
	return err != nil
}

func isIndex(text string) bool {
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil
}

// IsNumbers knows rows of as many numbers each, below a header or none.
func (p *Peek) IsNumbers() bool {
	var rows [][]string
	for i, line := range p.lines {
		cells := strings.FieldsFunc(line, betweenNames)
		if len(rows) > 0 || !slices.ContainsFunc(cells, isNoNumber) || i > 0 && slices.ContainsFunc(cells, isNumber) {
			rows = append(rows, cells)
		}
	}
	return len(rows) > 0 && len(rows[0]) > 1 && !slices.ContainsFunc(rows, func(cells []string) bool {
		return len(cells) != len(rows[0]) || slices.ContainsFunc(cells, isNoNumber)
	})
}

// isRows knows them in a file whose name tells nothing else.
func (p *Peek) isRows() bool {
	return p.IsNumbers() && p.text.Ends < 2 && !isPlink(p) && p.open()
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

// isNeighbours knows rows of whole numbers, or of what rows begin with, not as many in each, each with another first.
func (p *Peek) isNeighbours() bool {
	rows := numeric.Map(p.lines, func(line string) []string { return strings.FieldsFunc(line, betweenNames) })
	first, uneven := map[string]bool{}, false
	for _, fields := range rows {
		if len(fields) == 0 || first[fields[0]] {
			return false
		}
		first[fields[0]], uneven = true, uneven || len(fields) != len(rows[0])
	}
	all := slices.Concat(rows...)
	others := slices.ContainsFunc(all, func(x string) bool { return !isIndex(x) }) &&
		slices.ContainsFunc(all, func(x string) bool { return !first[x] })
	return uneven && len(first) > 2 && p.text.Ends == 1 && !others && !slices.Contains(TextExtensions, p.extension) &&
		!p.isEdgeList()
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
	return usual > 1 && 10*alike > 6*all && alike+p.text.columns[usual-1] == all
}

// isText knows tagged text by its name, or by lines with as many columns each, or separated by tabs.
func (p *Peek) isText() bool {
	f := p.text
	switch {
	case slices.Contains(TextExtensions, p.extension):
		return true
	case p.extension == tabbedTextExtension:
		return f.Ends > fewEnds && f.Least > 1
	case slices.Contains(plainExtensions, p.extension):
		return len(p.lines) > 1 && (f.Least > 1 && f.tabs || p.mostlyAlike())
	}
	return f.Ends > 1 && f.Least > 1 && (f.tabs || f.Least == f.Most) && !slices.Contains(tableExtensions, p.extension)
}
