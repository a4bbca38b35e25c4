package dataset

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Alignments of sequences: FASTA, with A2M and A3M, whose lower-case letters and points are insertions, and rows of
// letters alone.

// Values of Options.SampleWeights, beside columns.
const (
	noWeights       = "none"
	defaultIdentity = 0.8
)

// readAlignment makes samples of sequences.
func (p *sampleReader) readAlignment(data []byte) {
	p.aligned = true
	p.Keep(formats.NotText(p.File, data))
	rows, lines := formats.Sequences(string(data))
	for i, row := range rows {
		if x := strings.IndexFunc(row, func(c rune) bool { return c != '-' && (c < 'A' || c > 'Z') }); x >= 0 {
			p.Add(lines[i], "", "want letters of sequences, - for gaps", "there is a %.1q in the sequence", row[x:])
		} else if len(row) != len(rows[0]) {
			p.Add(lines[i], "", "lower-case letters and points are insertions, which do not count: align the sequences again, "+
				"or write letters that are only masked as capitals, by tr a-z A-Z", "the sequence has %d sites, the first has %d",
				len(row), len(rows[0]))
		}
	}
	if len(p.List) == 0 && (len(rows) < 2 || len(rows[0]) < 2) {
		p.Add(0, "", "", "want an alignment of two sequences or more, of two sites or more")
	}
	if len(p.List) > 0 {
		return
	}
	alphabet := formats.Alphabets[slices.IndexFunc(formats.Alphabets, func(letters string) bool {
		return letters == formats.AminoAcids || !slices.ContainsFunc(rows, func(row string) bool {
			return strings.Trim(row, letters+"N") != ""
		})
	})]
	others := 0
	for _, row := range rows {
		for _, c := range row {
			x := strings.IndexRune(alphabet, c)
			if x < 0 {
				x, others = len(alphabet)-1, others+1
			}
			p.labels = append(p.labels, int32(x))
		}
	}
	p.columns, p.states = make([]sampleColumn, len(rows[0])), [][]string{strings.Split(alphabet, "")}
	if others > 0 {
		p.warn("%d letters are none of %s, and count as gaps", others, alphabet)
	}
	p.weighSequences(rows)
}

// weighSequences counts a sequence as one of so many that are as much alike as an identity says.
func (p *sampleReader) weighSequences(rows []string) {
	asked, identity := p.o.SampleWeights, defaultIdentity
	if asked == noWeights {
		return
	}
	if x, err := strconv.ParseFloat(asked, 64); err == nil && x > 0 && x <= 1 {
		identity = x
	} else if asked != "" {
		p.Keep(option.Wrong("SampleWeights", "%q: want an identity of sequences, more than 0 to 1, or %s", asked, noWeights))
		return
	}
	sites := len(rows[0])
	words := make([][]uint64, len(rows)) // eight letters each
	for i, row := range rows {
		padded := append([]byte(row), make([]byte, 8)...)
		for at := 0; at < sites; at += 8 {
			words[i] = append(words[i], binary.LittleEndian.Uint64(padded[at:]))
		}
	}
	p.weights = make([]float64, len(rows))
	done := p.each(len(rows), func(i int) {
		alike := 0
		for _, other := range words {
			if same := equalBytes(words[i], other) - (8*len(other) - sites); float64(same) >= identity*float64(sites) {
				alike++
			}
		}
		p.weights[i] = 1 / float64(alike)
	})
	if done {
		p.warn("sequences weigh 1 over the number of those that are the same at %g %% of the sites or more: %d weigh as "+
			"much as %.1f; {sample-weights!--sample-weights} sets that", 100*identity, len(rows), numeric.Sum(p.weights))
	}
}

// equalBytes counts the bytes that are the same, of words of eight.
func equalBytes(a, b []uint64) (same int) {
	const low = 0x7f7f7f7f7f7f7f7f
	for i, x := range a {
		x ^= b[i]
		same += bits.OnesCount64(^(x&low + low | x | low)) // a bit for each byte that is zero
	}
	return same
}
