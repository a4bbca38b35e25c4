package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	_ "image/jpeg" // pictures
	_ "image/png"
	"strconv"

	"github.com/blockbp/blockbp/internal/fileio"
)

// voidLabel is the value of unlabelled pixels in label maps saved as pictures.
const voidLabel = 255

// labelMap is the labels of a picture, −1 unobserved.
type labelMap struct {
	path       string
	form       int // labelsText and others
	rows, cols int
	labels     []int32       // [rows*cols]
	palette    color.Palette // of a picture; nil: it has none
}

// place sets where the label of node s stands in the file.
func (m *labelMap) place(e *Error, s int) *Error {
	e.File, e.Place = m.path, fmt.Sprintf("[%d,%d]", s/m.cols, s%m.cols)
	if m.form == labelsText {
		e.Line, e.Place = s/m.cols+1, ""
		e.Problem = fmt.Sprintf("number %d ", s%m.cols+1) + e.Problem
	}
	return e
}

// parseRegions reads a matrix of integers, one line per row, separated by blanks; negative numbers mean unobserved.
func parseRegions(path string, data []byte) (*labelMap, []error) {
	m := &labelMap{path: path, labels: make([]int32, 0, len(data)/2+1)}
	p := &problems{file: path}
	data = bytes.TrimRight(bytes.TrimPrefix(fileio.Lines(data), []byte("\ufeff")), " \t\r\n")
	line := 0
	for row := range bytes.Lines(data) {
		line++
		before, problem := len(m.labels), ""
		for text := range bytes.FieldsSeq(row) {
			label, err := parseLabel(text)
			if m.labels = append(m.labels, label); err != nil && problem == "" {
				problem = fmt.Sprintf("%q is not a label: want a whole number below %d, negative for unknown",
					abbreviate(string(text)), mostStates)
			}
		}
		got := len(m.labels) - before
		if m.cols = cmp.Or(m.cols, got); problem == "" && (got != m.cols || got == 0) {
			problem = fmt.Sprintf("there are %d numbers, want %d as on the lines before", got, m.cols)
		}
		if problem != "" {
			p.add(line, "", "", "%s", problem)
			m.labels = m.labels[:before]
		}
	}
	m.rows = line
	if m.rows == 0 {
		p.add(0, "", "", "there are no labels")
	}
	return m, p.errors()
}

// parseLabel reads a label; one digit, the usual case, is read without strconv.
func parseLabel(text []byte) (int32, error) {
	if len(text) == 1 && isDigit(text[0]) {
		return int32(text[0] - '0'), nil
	}
	label, err := strconv.ParseInt(string(text), 10, 32)
	if err == nil && label >= mostStates {
		err = strconv.ErrRange
	}
	return int32(max(label, -1)), err
}
