package job

import (
	"context"
	"encoding/csv"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/fileio"
)

// TableExtensions are those of files that PredictTable writes.
var TableExtensions = []string{".csv", ".tsv", conll, conllu}

// Extensions of text. In the second the data must be, too.
const conll, conllu = ".conll", ".conllu"

// PredictTable labels instances of a set and writes one table into a file: a row for each node, with its name, or
// number, its label, and the probability of every state. Where there are several instances, their names come first.
// In .conll and .conllu is the text, with labels. held is as in Inference.Each.
func (w Inference) PredictTable(ctx context.Context, file fileio.Target, set *dataset.Set,
	instances []*crf.Instance, held [][]int32) (*Prediction, error) {
	if len(set.Images) > 0 {
		return nil, usagef("{out} %s: predictions of pictures go into a folder, as pictures and arrays", file.Path)
	}
	extension := filepath.Ext(file.Path)
	asText := extension == conll || extension == conllu
	if asText && set.Recipe.Kind != dataset.KindText {
		return nil, usagef("{out} %s: sentences are written so, and these data are none; name a file that ends in .csv or "+
			".tsv, or a folder", file.Path)
	}
	if extension == conllu && set.Recipe.Text.Form != conllu[1:] {
		return nil, usagef("{out} %s: these data are not of CoNLL-U; name a file that ends in %s", file.Path, conll)
	}
	started, p := time.Now(), &Prediction{Out: file.Path, worst: w.unsettled()}
	err := file.Write(func(out io.Writer) error {
		if asText {
			return w.predictText(ctx, out, p, set, instances, held)
		}
		t := newPredictionTable(out, file.Path, set, len(instances) > 1)
		err := w.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
			var names []string
			if i < len(set.Names) {
				names = set.Names[i]
			}
			p.note(instances[i].Name, p.Out, b)
			return t.write(instances[i], names, b, func(row int) int { return NodeOfRow(set, i, row) })
		})
		if err != nil {
			return err
		}
		t.rows.Flush()
		return t.rows.Error()
	})
	p.Seconds = time.Since(started).Seconds()
	return p, err
}

// predictText writes text as it was read, with labels.
func (w Inference) predictText(ctx context.Context, out io.Writer, p *Prediction, set *dataset.Set,
	instances []*crf.Instance, held [][]int32) error {
	tags := make([][]string, len(instances))
	err := w.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
		for _, y := range b.Labels {
			tags[i] = append(tags[i], set.Schema.NodeTypes[0].States[y])
		}
		p.note(instances[i].Name, p.Out, b)
		return nil
	})
	if err != nil {
		return err
	}
	return set.WriteTags(out, tags)
}

// predictionTable is a table of predictions in the making.
type predictionTable struct {
	rows    *csv.Writer
	several bool    // instances
	token   bool    // in text: its position stands before it
	columns [][]int // [node type][state] which of the probabilities is its own
	row     []string
	states  []string // the part of row that has the probabilities
}

func newPredictionTable(out io.Writer, path string, set *dataset.Set, several bool) *predictionTable {
	t := &predictionTable{rows: csv.NewWriter(out), several: several}
	t.token = len(set.Names) > 0 && set.Names[0] != nil && set.Recipe.Kind == dataset.KindText
	if filepath.Ext(path) == TableExtensions[1] {
		t.rows.Comma = '\t'
	}
	var states []string // of all types
	for _, of := range set.Schema.NodeTypes {
		columns := make([]int, len(of.States))
		for x, name := range of.States {
			if columns[x] = slices.Index(states, name); columns[x] < 0 {
				columns[x] = len(states)
				states = append(states, name)
			}
		}
		t.columns = append(t.columns, columns)
	}
	node, label := set.Recipe.TableNames()
	if several {
		t.row = append(t.row, "instance")
	}
	if t.token {
		t.row = append(t.row, "position")
	}
	t.row = append(t.row, node, label)
	leading := len(t.row)
	for _, name := range states {
		t.row = append(t.row, "p("+name+")")
	}
	t.states = t.row[leading:]
	_ = t.rows.Write(t.row) // the writer keeps its error
	return t
}

// write writes a row for every node of an instance, in the order of the rows that it was read from.
func (t *predictionTable) write(in *crf.Instance, names []string, b *infer.Beliefs, node func(row int) int) error {
	const digits = 6 // more than inference is good for
	leading := t.row[:0]
	if t.several {
		leading = append(leading, in.Name)
	}
	for r := range b.Labels {
		s := node(r)
		y, name := b.Labels[s], strconv.Itoa(s)
		if names != nil {
			name = names[s]
		}
		a, row := in.NodeType(int32(s)), leading
		if t.token {
			row = append(row, strconv.Itoa(s))
		}
		_ = append(row, name, in.Schema().NodeTypes[a].States[y]) // into row
		clear(t.states)
		for x, p := range b.Of(s) {
			t.states[t.columns[a][x]] = strconv.FormatFloat(p, 'g', digits, 64)
		}
		if err := t.rows.Write(t.row); err != nil {
			return err
		}
	}
	return nil
}
