package formats

import (
	"slices"
	"strings"
	"unicode"
)

// Alignments of sequences: FASTA, with A2M and A3M, whose lower-case letters and points are insertions, and rows.

// AminoAcids are the letters of proteins, with the gap last, which other letters are taken for as well.
const (
	gap        = "-"
	AminoAcids = "ARNDCQEGHILKMFPSTWYV" + gap
)

// Two sites are sequences where these are asked for; otherwise rows may be words, which have less than so many letters.
const LeastSites, longerThanWords = 2, 10

// Alphabets are those of sequences, the smallest first.
var Alphabets = []string{"ACGT" + gap, "ACGU" + gap, AminoAcids}

// IsAlignment knows FASTA by its first line, and rows of letters, so many at least, by all that were looked at.
func (p *Peek) IsAlignment(least int) bool {
	if strings.HasPrefix(p.start, ">") {
		return !strings.HasPrefix(p.start, ">>") // as graph6 begins
	}
	letters := func(c rune) bool { return !strings.ContainsRune(AminoAcids+"BJOUXZ*", c) }
	return len(p.lines) > 1 && len(p.lines[0]) >= least && !slices.ContainsFunc(p.lines, func(line string) bool {
		return len(line) != len(p.lines[0]) || strings.ContainsFunc(line, letters)
	})
}

// Sequences are those of an alignment without insertions, and the lines on which they begin.
func Sequences(text string) (rows []string, lines []int) {
	line, separator := 1, "\n"
	fasta := strings.HasPrefix(text, ">")
	if fasta {
		separator = "\n>"
	}
	for record := range strings.SplitSeq(text, separator) {
		row := record
		if fasta {
			_, row, _ = strings.Cut(record, "\n")
		}
		if row = strings.Join(strings.Fields(row), ""); row != "" || fasta {
			rows, lines = append(rows, row), append(lines, line)
		}
		line += 1 + strings.Count(record, "\n")
	}
	insertions := slices.ContainsFunc(rows, func(row string) bool { return strings.ContainsFunc(row, unicode.IsUpper) })
	for i, row := range rows {
		if !insertions {
			row = strings.ToUpper(row)
		}
		rows[i] = strings.Map(func(c rune) rune {
			if c == '.' || c == '*' || c >= 'a' && c <= 'z' {
				return -1
			}
			return c
		}, row)
	}
	return rows, lines
}
