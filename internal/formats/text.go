package formats

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Forms of tagged text.
const (
	TextColumns    = "columns"    // token, further columns, label; attributes are made
	TextAttributes = "attributes" // label and attributes, as crfsuite reads them
	TextCoNLLU     = "conllu"     // of ten columns the second is the token, the fourth the label
)

// Text is tagged text: a line for every token, and an empty one between sentences.
type Text struct {
	Path   string
	Text   string
	Header string // the first line, if it names columns, and is left out
	tabs   bool   // they separate fields; else blanks do
	heads  bool   // sentences begin with comments
	CoNLLU bool   // it is CoNLL-U, and read as such

	Attributes bool        // it is read as these
	Ends       int         // sentences
	first      []string    // the fields of the first token
	columns    map[int]int // how many lines have so many fields
	Least      int         // fields of a line, at least and at most
	Most       int
	Usual      int                // of most lines: one that differs is a slip
	named      int                // fields behind the first that are NAME=VALUE, less those that are not
	ends       [3]map[string]bool // what the first fields are, the second, and the last

	Counts   bool // the first field counts the tokens of every sentence, from 0 or 1, or of all
	Numbered bool // and it is no token, as others follow
	Skip     int  // fields before that of the token
}

// ReadText looks at the lines of tagged text; without any, Ends is 0. The error is that of what is no text.
func ReadText(path string, data []byte) (*Text, error) {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	f := &Text{Path: path, Text: text, columns: map[int]int{}, Counts: true, ends: [3]map[string]bool{{}, {}, {}}}
	if err := NotText(path, data); err != nil {
		return nil, err
	}
	tabbed := 0 // lines with tabs, less those without
	for line := range strings.Lines(text) {
		switch line = strings.Trim(line, Blanks+"\n"); {
		case strings.Contains(line, "\t"):
			tabbed++
		case line != "":
			tabbed--
		}
	}
	f.tabs = tabbed > 0
	mark := commentMark // of one head # may be a word
	if f.tabs {
		mark = "#\t" // as in GermEval's files
	}
	f.heads = strings.HasPrefix(text, mark) && strings.Contains(text, "\n\n"+mark)
	f.Header = f.findHeader()
	most, anew, next := 0, false, 0 // tokens that are counted before the first number comes again, and the next number
	f.Sentences(func(s *Sentence) {
		if f.Ends++; f.Ends == 1 {
			f.first = s.Tokens[0]
		}
		from, _ := strconv.Atoi(s.Tokens[0][0])
		counts := from == 0 || from == 1 || from == next || f.Ends == 1
		next = from
		for i, fields := range s.Tokens {
			if i > 0 && fields[0] == f.first[0] {
				next, anew = from, true
			}
			f.Counts = f.Counts && counts && fields[0] == strconv.Itoa(next)
			next++
			most = max(most, next-from)
			f.columns[len(fields)]++
			f.ends[0][fields[0]], f.ends[1][fields[min(1, len(fields)-1)]], f.ends[2][fields[len(fields)-1]] = true, true, true
			for _, field := range fields[1:] {
				if f.named--; strings.Index(field, "=") > 0 {
					f.named += 2
				}
			}
		}
	})
	sizes := slices.Sorted(maps.Keys(f.columns))
	for _, n := range sizes {
		if f.columns[n] >= f.columns[f.Usual] {
			f.Usual = n
		}
	}
	if f.Ends > 0 {
		f.Least, f.Most = sizes[0], sizes[len(sizes)-1]
	}
	f.Counts = f.Counts && (most > 2 || !anew)
	f.Numbered = f.Counts && most > 1 && f.Usual > 2 && slices.Contains([]string{"0", "1"}, f.first[0])
	return f, nil
}

// documentMark begins a line that begins a document and belongs to no sentence.
const documentMark = "-DOCSTART-"

// commentMark begins a comment.
const commentMark = "# "

// columnNames is a line that names columns of words and labels, as tables have it, or a comment, the last word of which
// is no label below.
var columnNames = regexp.MustCompile(`(?i)^"?(?:(?:id|index|nr|no)"?[\t ]+"?)?(words?|tokens?|form|text)\b.*` +
	`[\t ]"?(\w*tags?|\w*labels?|ner|u?pos)"?$|^# .*?([^\t ]+)$`)

// findHeader returns the first line, if it is one of these.
func (f *Text) findHeader() string {
	header, rest, _ := strings.Cut(f.Text, "\n")
	names := columnNames.FindStringSubmatch(header)
	if names == nil || strings.Contains(rest, cmp.Or(names[2:]...)+"\n") || names[3] != "" && (f.tabs || f.heads) {
		return ""
	}
	return header
}

// Sentence is what the lines of one hold.
type Sentence struct {
	Lines  []int32    // from 1
	Tokens [][]string // [token][field]
}

// Sentences goes through all of them; what use is given holds until the next.
func (f *Text) Sentences(use func(s *Sentence)) {
	var s Sentence
	line := int32(0)
	end := func() {
		if len(s.Lines) > 0 {
			use(&s)
		}
		s.Lines, s.Tokens = s.Lines[:0], s.Tokens[:0]
	}
	for text := range strings.Lines(f.Text) {
		line++
		text = strings.TrimRight(text, "\r\n")
		fields := f.fields(text)
		switch {
		case strings.Trim(text, Blanks) == "", strings.HasPrefix(text, documentMark):
			end()
		case f.tabs && len(fields) == 1 && strings.HasPrefix(text, commentMark), line == 1 && f.Header != "":
		case len(s.Lines) == 0 && fields[0] == "#" && (f.heads || !f.tabs) && // a comment, no word
			(f.heads && !f.tabs || len(fields) != f.Usual):
		case f.CoNLLU && len(fields) == columnsOfCoNLLU && !isIndex(fields[0]): // words that are written as one, or left out
		default:
			if f.Skip > 0 && fields[0] == f.first[0] { // they begin anew, with an empty line before or not
				end()
			}
			s.Lines, s.Tokens = append(s.Lines, line), append(s.Tokens, fields)
		}
	}
	end()
}

// Blanks separate fields where tabs do not. Others, such as the no-break space and the
// ideographic one, are letters of tokens.
const Blanks = " \t"

// fields splits a line.
func (f *Text) fields(text string) []string {
	if f.tabs {
		return strings.Split(text, "\t")
	}
	return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' })
}

// Form says how the lines are to be read: as the name of the file tells, or else as attributes where these are
// separated by tabs, as many as a token has, or most of them are NAME=VALUE. Labels stand first then, and are fewer
// than attributes; where the first column numbers words, or has more values than the attributes, a column is missing.
func (f *Text) Form() string {
	switch {
	case filepath.Ext(f.Path) == CrfsuiteExtension:
		return TextAttributes
	case f.isCoNLLU():
		return TextCoNLLU
	case !f.tabs, slices.Contains([]string{".conll", ".conllu", ".iob", ".bio"}, filepath.Ext(f.Path)):
		return TextColumns
	case f.named > 0, f.Least != f.Most && !f.Numbered && len(f.ends[0]) <= max(len(f.ends[1])-1, len(f.ends[2])):
		return TextAttributes
	}
	return TextColumns
}

// The format of Universal Dependencies has so many columns. Those of words, of their parts of speech (UPOS) and of
// what else is known follow, counted from 0; nothing is an underscore.
const (
	columnsOfCoNLLU = 10
	CoNLLUWord      = 1
	CoNLLUTag       = 3
	conlluMore      = 9
	CoNLLUNothing   = "_"
	goldMark        = "Gold="
)

// isCoNLLU reports whether the text is CoNLL-U: most lines have its columns, between tabs or, in copies, blanks, where
// no label is last, and the first begins with the number of the word in the sentence, or of joined words, such as 1-2.
func (f *Text) isCoNLLU() bool {
	return f.Usual == columnsOfCoNLLU && (f.first[0] == "1" || strings.HasPrefix(f.first[0], "1-")) &&
		(f.tabs || f.first[len(f.first)-1] == CoNLLUNothing || strings.Contains(f.first[len(f.first)-1], "="))
}

// WriteTags writes tagged texts with other tags, as dataset.Set.WriteTags says.
func WriteTags(w io.Writer, texts []*Text, tags [][]string) error {
	out, last := bufio.NewWriter(w), "" // which keeps its error
	for _, f := range texts {
		if strings.Trim(last, Blanks) != "" {
			_ = out.WriteByte('\n')
		}
		of, line := map[int32]string{}, int32(0)
		f.Sentences(func(s *Sentence) {
			for i, line := range s.Lines {
				of[line] = tags[0][i]
			}
			tags = tags[1:]
		})
		for text := range strings.Lines(f.Text) {
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
func (f *Text) tagged(text string, fields []string, tag string) string {
	switch {
	case f.Attributes:
		return tag
	case !f.CoNLLU && f.tabs:
		return text + "\t" + tag
	case !f.CoNLLU:
		return text + " " + tag
	}
	if gold := fields[CoNLLUTag]; gold != CoNLLUNothing {
		fields[conlluMore] = strings.TrimPrefix(fields[conlluMore]+"|"+goldMark+gold, CoNLLUNothing+"|")
	}
	fields[CoNLLUTag] = tag
	return strings.Join(fields, "\t")
}

// SplitAttribute reads NAME, or NAME:VALUE, in which a colon and a backslash of the name
// stand behind a backslash. buffer has room for the name where it has any of these.
func SplitAttribute(field string, buffer []byte) (name []byte, value float64, problem string) {
	name = buffer[:0]
	for i := 0; i < len(field); i++ {
		switch c := field[i]; {
		case c == '\\' && i+1 < len(field) && (field[i+1] == ':' || field[i+1] == '\\'):
			i++
			name = append(name, field[i])
		case c == ':':
			x, err := numeric.ParseDecimal(field[i+1:])
			if err != nil {
				const wrong = "attribute %q: want NAME or NAME:NUMBER, and a backslash before a colon of the name"
				return name, 0, fmt.Sprintf(wrong, option.Short(field))
			}
			return name, x, TooLarge(x)
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

// ColumnAttributes gives the attributes that are made of a token in columns: its word and those of its neighbours
// without case, their shapes, their further columns, the endings of the word, and whether it is the first or the last.
// They are the same in both forms of Unicode.
func ColumnAttributes(s *Sentence, i int, emit func(name []byte, value float64)) {
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
		case j >= len(s.Tokens):
			put("last")
			continue
		}
		fields, word := s.Tokens[j], Key(s.Tokens[j][0])
		put(a.prefix, "word=", strings.ToLower(word))
		put(a.prefix, "shape=", Shape(word))
		for c := 1; c < len(fields); c++ {
			put(a.prefix, "column ", strconv.Itoa(c+1), "=", Key(strings.Trim(fields[c], Blanks)))
		}
	}
	word := strings.ToLower(Key(s.Tokens[i][0]))
	at := len(word)
	for n := 1; n <= longestSuffix && at > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(word[:at])
		if at -= size; at > 0 { // the whole word is an attribute already
			put("ending=", word[at:])
		}
	}
}

// Shape writes a word with X for capitals, x for other letters, 0 for digits and the other
// characters as they are, each run of one kind as one.
func Shape(word string) string {
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

// TooLarge says what is wrong with a feature that is finite and too large to work with, and what to do; "" for others.
func TooLarge(v float64) string {
	if math.Abs(v) <= numeric.Largest || math.IsInf(v, 0) || math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("feature is %v, want 0, or a magnitude of %s; rescale it, as to a deviation of 1", v, numeric.Range)
}
