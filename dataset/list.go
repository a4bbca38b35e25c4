package dataset

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// listEntry is one line of a list file.
type listEntry struct {
	text string
	line int // from 1
}

// readList reads a list file: one path or id per line; blank lines and lines
// that begin with # do not count.
func readList(path string) ([]listEntry, Source, []error) {
	data, source, err := readSource(path)
	if err != nil {
		return nil, Source{}, []error{err}
	}
	entries, list := parseList(path, data)
	return entries, source, list
}

func parseList(path string, data []byte) ([]listEntry, []error) {
	p := &problems{file: path}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		p.add(0, "", "give a text file with one name per line", "it is not text")
		return nil, p.errors()
	}
	var entries []listEntry
	first := map[string]int{}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		if first[text] > 0 {
			p.add(line, "", "remove one of the two", "%q is listed on line %d already", abbreviate(text), first[text])
			continue
		}
		first[text] = line
		entries = append(entries, listEntry{text, line})
	}
	if len(entries) == 0 {
		p.add(0, "", "", "the list is empty")
	}
	return entries, p.errors()
}
