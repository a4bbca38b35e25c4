// Package printable makes texts safe to show: names come from archives, folders and options, and may hold whatever
// moves the cursor of a terminal, hides or turns around what stands beside it, or ends a line.
package printable

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Line is a text on one line, in which all that is not printed is written as in Go: control characters, line ends,
// formatting characters such as those that change the direction of writing, and bytes that are no UTF-8.
func Line(text string) string { return escape(text, "") }

// Text is Line for a text whose line ends and tabs are meant.
func Text(text string) string { return escape(text, "\n\t") }

func escape(text, kept string) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) || strings.ContainsRune(kept, r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for at, size := 0, 0; at < len(text); at += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case plain(r):
			b.WriteString(text[at : at+size])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// escapeJSON is a JSON text in which what Line escapes is, within strings, escaped as JSON
// has it. encoding/json does so for some of it only.
func escapeJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !strconv.IsPrint(r) }
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// Writer writes each text that it is given as Text has it.
type Writer struct{ To io.Writer }

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Word is a word as a shell reads it. One with a tab, a line end or the like has these as $'…' reads them, and so stays
// on its line.
func Word(word string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != os.PathSeparator &&
			!strings.ContainsRune("/._-+=:,@%^", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	if escaped := Line(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word)); Line(word) != word {
		return "$'" + escaped + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
