package option

import "strings"

// longest bounds the names that are compared, in bytes: what is longer is no slip, and comparing
// takes time with the square of the length.
const longest = 100

// Nearest returns the candidate with the smallest edit distance to name, or "" if
// even that differs in more than about half of the letters.
func Nearest(name string, candidates []string) string {
	if len(name) > longest {
		return ""
	}
	best, distance := "", len(name)/2+1
	for _, c := range candidates {
		if len(c) >= len(name)+distance || len(name) >= len(c)+distance {
			continue // as many letters are too many or too few
		}
		if d := editDistance(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions and replacements of bytes between two names.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Hint asks after a message that lists the names already whether one of them was
// meant: "; did you mean NAME?", or "" where none is close.
func Hint(name string, names []string) string {
	if n := Nearest(name, names); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// Suggestion says which name was probably meant, or else lists all, each with a prefix such as the dashes of options.
func Suggestion(name string, names []string, prefix string) string {
	if n := Nearest(name, names); n != "" {
		return "did you mean " + prefix + n + "?"
	}
	return "valid are " + prefix + strings.Join(names, ", "+prefix)
}
