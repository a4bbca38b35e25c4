//go:build linux

package torture

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// extremes are the numbers that parsers and tables fail at.
var extremes = []string{
	"0", "-1", "1", "2", "7", "255", "256", "65536", "10000", "1000000", "2147483647", "2147483648", "-2147483648",
	"4294967296", "9223372036854775807", "1e308", "-1e308", "1e-320", "1e999", "nan", "-inf", "0x10", "1_0", "", "00",
}

var number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// mutateText changes a text file: mostly a number to an extreme one, or else tokens,
// lines or bytes.
func mutateText(rng *rand.Rand, text []byte) []byte {
	for range 1 + rng.IntN(2) {
		switch rng.IntN(8) {
		case 0:
			text = mutateBytes(rng, text)
		case 1:
			text = mutateLines(rng, text)
		case 2:
			text = mutateWords(rng, text)
		default:
			if places := number.FindAllIndex(text, -1); len(places) > 0 {
				// Headers, which say how much is to come, stand at the beginning.
				at := places[min(rng.IntN(len(places)), rng.IntN(len(places)), rng.IntN(len(places)))]
				text = slices.Concat(text[:at[0]], []byte(extremes[rng.IntN(len(extremes))]), text[at[1]:])
			}
		}
	}
	return text
}

// mutateLines removes, repeats or swaps lines.
func mutateLines(rng *rand.Rand, text []byte) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
	switch rng.IntN(3) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines = slices.Insert(lines, i, lines[j])
	default:
		lines[i], lines[j] = lines[j], lines[i]
	}
	return []byte(strings.Join(lines, ""))
}

// mutateWords replaces a word by another of the file or by nonsense.
func mutateWords(rng *rand.Rand, text []byte) []byte {
	words := regexp.MustCompile(`[A-Za-z_]+|"[^"]*"|[][{}:,=]`).FindAllIndex(text, -1)
	if len(words) == 0 {
		return mutateBytes(rng, text)
	}
	at, other := words[rng.IntN(len(words))], words[rng.IntN(len(words))]
	by := slices.Clone(text[other[0]:other[1]])
	if rng.IntN(2) == 0 {
		by = []byte([]string{"null", "[]", "{}", `""`, "true", "[[[[[[[[", `"\u0000"`, "\x1b[31m", strings.Repeat("x", 100000), "\xff\xfe", "../../x"}[rng.IntN(11)])
	}
	return slices.Concat(text[:at[0]], by, text[at[1]:])
}

// mutateBytes flips bits, cuts, repeats, removes and inserts stretches of bytes.
func mutateBytes(rng *rand.Rand, text []byte) []byte {
	text = slices.Clone(text)
	if len(text) == 0 {
		return []byte{byte(rng.IntN(256))}
	}
	at := rng.IntN(len(text))
	end := min(len(text), at+1+rng.IntN(64))
	switch rng.IntN(7) {
	case 0:
		return text[:at]
	case 1:
		return slices.Concat(text[:end], text[at:])
	case 2:
		return slices.Concat(text[:at], text[end:])
	case 3:
		var junk []byte
		for range 1 + rng.IntN(16) {
			junk = append(junk, byte(rng.IntN(256)))
		}
		return slices.Concat(text[:at], junk, text[at:])
	case 4:
		for i := at; i < end; i++ {
			text[i] = []byte{0, 0xff, 0x7f, 0x80}[i%4]
		}
	default:
		for range 1 + rng.IntN(8) {
			// Headers are hit more often than their share.
			i := min(rng.IntN(len(text)), rng.IntN(len(text)))
			text[i] ^= 1 << rng.IntN(8)
		}
	}
	return text
}

// mutateArrays changes arrays as a program that writes them wrongly would.
func mutateArrays(rng *rand.Rand, arrays []array) []array {
	arrays = slices.Clone(arrays)
	for range 1 + rng.IntN(2) {
		i := rng.IntN(len(arrays))
		a := &arrays[i]
		a.data, a.shape = slices.Clone(a.data), slices.Clone(a.shape)
		switch rng.IntN(9) {
		case 0:
			arrays = append(arrays, *a)
		case 1:
			if len(arrays) > 1 {
				arrays = slices.Delete(arrays, i, i+1)
			}
		case 2:
			a.descr = []string{"<i4", "<i8", "<f4", "<f8", "|O", ">i4", "|u1", "|b1", "<U8", "<c16"}[rng.IntN(10)]
		case 3:
			if len(a.shape) > 0 {
				a.shape[rng.IntN(len(a.shape))] = []int{0, 1, 2, 5, 1 << 20, 1 << 31, 1 << 62, -1}[rng.IntN(8)]
			}
		case 4:
			a.shape = [][]int{nil, {len(a.data)}, {1, len(a.data)}, {len(a.data), 1}, {0, 1 << 40},
				{len(a.data) / 2, 2}}[rng.IntN(6)]
		case 5:
			a.data = a.data[:rng.IntN(len(a.data)+1)]
		case 6:
			a.name = []string{"edges", "labels", "edge_bins", "states", "node_types", "grid_shape", "edge_features",
				"node_features.x", "theta", "", "../x"}[rng.IntN(11)]
		default:
			if len(a.data) > 0 {
				if x, err := strconv.ParseFloat(extremes[rng.IntN(len(extremes))], 64); err == nil {
					a.data[rng.IntN(len(a.data))] = x
				}
			}
		}
	}
	return arrays
}
