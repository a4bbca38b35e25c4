package dataset

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Forms of tagged text, in Recipe.Text.
const (
	textColumns    = "columns"    // token, further columns, label; attributes are made
	textAttributes = "attributes" // label and attributes, as crfsuite reads them
	textCoNLLU     = "conllu"     // of ten columns the second is the token, the fourth the label
)

// textFile is tagged text: a line for every token, and an empty one between sentences.
type textFile struct {
	path  string
	text  string
	tabs  bool // they separate fields; else blanks do
	heads bool // sentences begin with comments
	ten   bool // it is CoNLL-U, and read as such

	attributes bool        // it is read as these
	ends       int         // sentences
	number     string      // the first field of the first token
	columns    map[int]int // how many lines have so many fields
	least      int         // fields of a line, at least and at most
	most       int
	usual      int // of most lines: one that differs is a slip
	named      int // fields behind the first that are NAME=VALUE, less those that are not

	counts   bool // the first field counts the tokens of every sentence, from 0 or 1
	numbered bool // and it is no token, as others follow
	skip     int  // fields before that of the token
}

// newTextFile looks at the lines of tagged text; without any, ends is 0.
func newTextFile(path string, data []byte) (*textFile, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	f := &textFile{path: path, text: text, columns: map[int]int{}, counts: true}
	if err := notText(path, data); err != nil {
		return nil, err
	}
	tabbed := 0 // lines with tabs, less those without
	for line := range strings.Lines(text) {
		switch line = strings.Trim(line, blanks+"\n"); {
		case strings.Contains(line, "\t"):
			tabbed++
		case line != "":
			tabbed--
		}
	}
	f.tabs = tabbed > 0 // of one head # may be a word
	f.heads = !f.tabs && strings.HasPrefix(text, commentMark) && strings.Contains(text, "\n\n"+commentMark)
	longer := false
	f.sentences(func(s *sentence) {
		if f.ends++; f.ends == 1 {
			f.number = s.tokens[0][0]
		}
		from, _ := strconv.Atoi(s.tokens[0][0])
		longer = longer || len(s.tokens) > 1
		for i, fields := range s.tokens {
			f.counts = f.counts && (from == 0 || from == 1) && fields[0] == strconv.Itoa(from+i)
			f.columns[len(fields)]++
			for _, field := range fields[1:] {
				if f.named--; strings.Index(field, "=") > 0 {
					f.named += 2
				}
			}
		}
	})
	sizes := slices.Sorted(maps.Keys(f.columns))
	for _, n := range sizes {
		if f.columns[n] >= f.columns[f.usual] {
			f.usual = n
		}
	}
	if f.ends > 0 {
		f.least, f.most = sizes[0], sizes[len(sizes)-1]
	}
	f.numbered = f.counts && longer && f.usual > 2
	return f, nil
}

// documentMark begins a line that begins a document and belongs to no sentence.
const documentMark = "-DOCSTART-"

// commentMark begins a comment.
const commentMark = "# "

// isComment reports whether a line is a comment: in a text that is separated by tabs one without any, and in one that
// is separated by blanks, where # may be a word, one at the head of a sentence, if others have such lines.
func (f *textFile) isComment(text string, within bool) bool {
	return strings.HasPrefix(text, commentMark) && (f.tabs && !strings.Contains(text, "\t") || f.heads && !within)
}

// sentence is what the lines of one hold.
type sentence struct {
	lines  []int32
	tokens [][]string // [token][field]
}

// sentences goes through all of them; what use is given holds until the next.
func (f *textFile) sentences(use func(s *sentence)) {
	var s sentence
	line := int32(0)
	end := func() {
		if len(s.lines) > 0 {
			use(&s)
		}
		s.lines, s.tokens = s.lines[:0], s.tokens[:0]
	}
	for text := range strings.Lines(f.text) {
		line++
		text = strings.TrimRight(text, "\r\n")
		fields := f.fields(text)
		switch {
		case strings.Trim(text, blanks) == "", strings.HasPrefix(text, documentMark):
			end()
		case f.isComment(text, len(s.lines) > 0):
		case f.ten && len(fields) == columnsOfCoNLLU && !isIndex(fields[0]): // words that are written as one, or left out
		default:
			s.lines, s.tokens = append(s.lines, line), append(s.tokens, fields)
		}
	}
	end()
}

// blanks separate fields where tabs do not. Others, such as the no-break space and the
// ideographic one, are letters of tokens.
const blanks = " \t"

// fields splits a line.
func (f *textFile) fields(text string) []string {
	if f.tabs {
		return strings.Split(text, "\t")
	}
	return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' })
}

// form says how the lines are to be read: as the name of the file tells, or else as attributes where these are
// separated by tabs, as many as a token has, or most of them are NAME=VALUE.
func (f *textFile) form() string {
	switch {
	case filepath.Ext(f.path) == crfsuiteExtension:
		return textAttributes
	case f.isCoNLLU():
		return textCoNLLU
	case !f.tabs, slices.Contains([]string{".conll", ".conllu", ".iob", ".bio"}, filepath.Ext(f.path)):
		return textColumns
	case f.least != f.most, f.named > 0:
		return textAttributes
	}
	return textColumns
}

// columnsOfCoNLLU is how many columns the format of Universal Dependencies has. Those of words, of their parts of
// speech (UPOS) and of what else is known follow, counted from 0; nothing is an underscore.
const (
	columnsOfCoNLLU = 10
	conlluWord      = 1
	conlluTag       = 3
	conlluMore      = 9
	conlluNothing   = "_"
	goldMark        = "Gold="
)

// isCoNLLU reports whether the text is CoNLL-U: most lines have its columns, separated by
// tabs, and the first begins with the number of the word within the sentence, or of joined words, such as 1-2.
func (f *textFile) isCoNLLU() bool {
	return f.tabs && f.usual == columnsOfCoNLLU && (f.number == "1" || strings.HasPrefix(f.number, "1-"))
}

// writeTags writes tagged texts with other tags; see Set.WriteTags.
func writeTags(w io.Writer, texts []*textFile, tags [][]string) error {
	out, last := bufio.NewWriter(w), "" // which keeps its error
	for _, f := range texts {
		if strings.Trim(last, blanks) != "" {
			_ = out.WriteByte('\n')
		}
		of, line := map[int32]string{}, int32(0)
		f.sentences(func(s *sentence) {
			for i, line := range s.lines {
				of[line] = tags[0][i]
			}
			tags = tags[1:]
		})
		for text := range strings.Lines(f.text) {
			line++
			text = strings.TrimRight(text, "\r\n")
			fields := f.fields(text)
			if tag, token := of[line]; token {
				text = f.tagged(text, fields, tag)
			} else if strings.HasPrefix(text, documentMark) && len(fields) > 1 {
				text = f.tagged(text, fields, fields[len(fields)-1])
			}
			_, _ = out.WriteString(text + "\n")
			last = text
		}
	}
	return out.Flush()
}

// tagged is the line of a token with a tag.
func (f *textFile) tagged(text string, fields []string, tag string) string {
	switch {
	case f.attributes:
		return tag
	case !f.ten && f.tabs:
		return text + "\t" + tag
	case !f.ten:
		return text + " " + tag
	}
	if gold := fields[conlluTag]; gold != conlluNothing {
		fields[conlluMore] = strings.TrimPrefix(fields[conlluMore]+"|"+goldMark+gold, conlluNothing+"|")
	}
	fields[conlluTag] = tag
	return strings.Join(fields, "\t")
}

// splitAttribute reads NAME, or NAME:VALUE, in which a colon and a backslash of the name
// stand behind a backslash. buffer has room for the name where it has any of these.
func splitAttribute(field string, buffer []byte) (name []byte, value float64, problem string) {
	name = buffer[:0]
	for i := 0; i < len(field); i++ {
		switch c := field[i]; {
		case c == '\\' && i+1 < len(field) && (field[i+1] == ':' || field[i+1] == '\\'):
			i++
			name = append(name, field[i])
		case c == ':':
			x, err := numeric.ParseDecimal(field[i+1:])
			if err != nil {
				return name, 0, fmt.Sprintf("attribute %q: want NAME or NAME:NUMBER, and a backslash before a colon of the "+
					"name", option.Abbreviate(field))
			}
			return name, x, tooLarge(x)
		default:
			name = append(name, c)
		}
	}
	return name, 1, ""
}

// longestSuffix is how many letters at the end of a word make an attribute: endings such
// as -s, -ed, -ing, -tion tell of its part of speech.
const longestSuffix = 4

// around are the tokens whose word, shape and columns a token has as attributes.
var around = []struct {
	offset int
	prefix string
}{{0, ""}, {-1, "before:"}, {1, "after:"}}

// columnAttributes gives the attributes that are made of a token in columns: its word and those of its neighbours
// without case, their shapes, their further columns, the endings of the word, and whether it is the first or the
// last.
func columnAttributes(s *sentence, i int, emit func(name []byte, value float64)) {
	var name []byte
	put := func(parts ...string) {
		name = name[:0]
		for _, p := range parts {
			name = append(name, p...)
		}
		emit(name, 1)
	}
	for _, a := range around {
		j := i + a.offset
		switch {
		case j < 0:
			put("first")
			continue
		case j >= len(s.tokens):
			put("last")
			continue
		}
		fields := s.tokens[j]
		put(a.prefix, "word=", strings.ToLower(fields[0]))
		put(a.prefix, "shape=", shape(fields[0]))
		for c := 1; c < len(fields); c++ {
			put(a.prefix, "column ", strconv.Itoa(c+1), "=", strings.Trim(fields[c], blanks))
		}
	}
	word := strings.ToLower(s.tokens[i][0])
	at := len(word)
	for n := 1; n <= longestSuffix && at > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(word[:at])
		if at -= size; at > 0 { // the whole word is an attribute already
			put("ending=", word[at:])
		}
	}
}

// shape writes a word with X for capitals, x for other letters, 0 for digits and the other
// characters as they are, each run of one kind as one.
func shape(word string) string {
	var b strings.Builder
	last := rune(-1)
	for _, c := range word {
		switch {
		case unicode.IsUpper(c):
			c = 'X'
		case unicode.IsLetter(c):
			c = 'x'
		case unicode.IsDigit(c):
			c = '0'
		}
		if c != last {
			b.WriteRune(c)
		}
		last = c
	}
	return b.String()
}

// tooLarge says what is wrong with a feature that is finite and yet too large to work with, and what to do; "" for all
// others.
func tooLarge(v float64) string {
	if math.Abs(v) <= numeric.Largest || math.IsInf(v, 0) || math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("feature is %v, want 0, or a magnitude of %s; rescale the features, for example to a standard "+
		"deviation of 1", v, numeric.Range)
}
