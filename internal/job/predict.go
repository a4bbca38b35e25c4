package job

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Prediction is what predict.json says of a set of instances.
type Prediction struct {
	Out       string              `json:"out"`
	Seconds   float64             `json:"seconds"`
	States    []string            `json:"states"` // of the nodes that have the most
	Unsettled int                 `json:"not_converged"`
	Instances []PredictedInstance `json:"instances"`
	Unproved  int                 `json:"-"` // joint states that may not be the most probable
	Worst     Unsettled           `json:"-"`
	found     [][]int             // [node type][state] labels that were not held
}

// Unsettled says of which instances beliefs or labels were not settled at a limit, as far as anybody would act on it.
type Unsettled struct {
	Count, Of int
	tolerance float64 // by how much a belief may change without a word
	worst     string  // the instance that has the farthest to go
	left      float64 // by how much a belief of it may still change
}

// unsettled begins with no instance. A belief that may change by ten times what was asked for, by default in its second
// digit, is not worth a word.
func (w *Inference) unsettled() Unsettled {
	return Unsettled{tolerance: 10 * cmp.Or(w.Settled, PredictTolerance)}
}

// add takes note of one instance.
func (u *Unsettled) add(name string, b *infer.Beliefs) {
	if u.Of++; b.Outcome.Converged || b.Outcome.Left <= u.tolerance {
		return
	}
	if u.Count++; u.Count == 1 || b.Outcome.Left > u.left {
		u.worst, u.left = name, b.Outcome.Left
	}
}

// String says what is unsettled, and what to do; "" where nothing is.
func (u *Unsettled) String() string {
	if u.Count == 0 {
		return ""
	}
	may := "do not come to rest"
	if u.left <= 1 {
		may = fmt.Sprintf("may still change by %.2g", u.left)
	}
	return fmt.Sprintf("inference of %d of %d instances is not settled: beliefs of %q %s; raise {max-sweeps}; with "+
		"counting numbers other than {counting=convex} they may never settle", u.Count, u.Of, u.worst, may)
}

// PredictedInstance is what it says of one.
type PredictedInstance struct {
	Name      string          `json:"name"`
	Nodes     int             `json:"nodes"`
	Converged bool            `json:"converged"`
	Sweeps    int             `json:"sweeps"`
	Residual  runfolder.Float `json:"residual"`
	Left      runfolder.Float `json:"belief_change"`
	Unsure    int             `json:"labels_unsure"`
	File      string          `json:"file"`
	MAP       *JointState     `json:"map,omitempty"`
}

// JointState is what it says of a most probable joint state.
type JointState struct {
	Method     infer.Method    `json:"method"`
	Energy     runfolder.Float `json:"energy"` // −log of the product of all factors
	LowerBound runfolder.Float `json:"lower_bound"`
	Gap        runfolder.Float `json:"gap"`
	Optimal    bool            `json:"optimal"`
}

// NewJointState describes a state.
func NewJointState(r *infer.State) *JointState {
	return &JointState{r.Method, runfolder.Float(r.Energy), runfolder.Float(r.LowerBound), runfolder.Float(r.Gap),
		r.Optimal}
}

// predict labels instances of a set, hands what is found of each to write, in the order of nodes and in that of the
// rows that it was read from, and takes note of the file that write names. held is as in Inference.Each.
func (w Inference) predict(ctx context.Context, out string, set *dataset.Set, instances []*crf.Instance,
	held [][]int32, write func(i int, nodes, rows *infer.Beliefs) (file string, err error)) (*Prediction, error) {
	started, p := time.Now(), &Prediction{Out: out, States: stateNames(set), Worst: w.unsettled()}
	for _, t := range w.Model.Schema.NodeTypes {
		p.found = append(p.found, make([]int, len(t.States)))
	}
	err := w.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
		for s, y := range b.Labels {
			if h := at(held, i); w.Costs == nil && (h == nil || h[s] < 0) { // costs may be meant to
				p.found[instances[i].NodeType(int32(s))][y]++
			}
		}
		rows := inRows(set, i, b)
		file, err := write(i, b, rows)
		p.note(instances[i].Name, file, rows)
		return err
	})
	p.Seconds = time.Since(started).Seconds()
	return p, err
}

// PredictInto labels instances of a set and writes NAME.npz for each into a folder,
// NAME.png of images, in the colours of those that the model learned from, and predict.json.
func (w Inference) PredictInto(ctx context.Context, run *runfolder.Run, set *dataset.Set, instances []*crf.Instance,
	held [][]int32) (*Prediction, error) {
	names, palette := UniqueNames(instances), paletteOf(set)
	p, err := w.predict(ctx, run.Dir(), set, instances, held, func(i int, _, b *infer.Beliefs) (string, error) {
		labels, name := set.Labels(instances[i], b.Labels), names[i]+".npz"
		err := run.Via(name, func(path string) error { return writeBeliefs(path, labels, b) })
		if err != nil || i >= len(set.Images) {
			return run.Path(name), err
		}
		source := set.Images[i]
		colours := coloursOfNames(set, palette)
		if colours == nil {
			labels, colours = b.Labels, palette
		}
		picture, err := report.LabelImage(labels, source.Width, source.Height, colours)
		if err == nil {
			err = run.WriteFile(names[i]+".png", func(w io.Writer) error { return png.Encode(w, picture) })
		}
		return run.Path(name), err
	})
	if err != nil {
		return nil, err
	}
	for i := range p.Instances {
		p.Instances[i].Name = names[i]
	}
	return p, run.WriteJSON("predict.json", p)
}

// writeBeliefs writes what a model says of one instance as a file that numpy.load reads, whole or not at all:
//
//	labels   [n] int32           the most likely label of every node
//	beliefs  [n, k] float64      the belief of every state; k is the largest number
//	                             of states of any node, and rows are filled with 0
//	states   [n] int32           the number of states of every node
func writeBeliefs(path string, labels []int32, b *infer.Beliefs) error {
	states, most := make([]int32, len(labels)), 0
	for s := range labels {
		n := len(b.Of(s))
		states[s], most = int32(n), max(most, n)
	}
	return npy.WriteArchive(path, npy.ArrayOf("labels", labels, len(labels)),
		npy.RowsOf("beliefs", func(row []float64, s int) { clear(row[copy(row, b.Of(s)):]) }, len(labels), most),
		npy.ArrayOf("states", states, len(labels)))
}

// paletteOf has the colours of the states in label pictures: those that the model learned from had, or else colours
// that differ as much as can be.
func paletteOf(set *dataset.Set) []color.RGBA {
	palette := report.ClassPalette(len(stateNames(set)))
	for i, c := range set.Recipe.Palette[:min(len(set.Recipe.Palette), len(palette))] {
		palette[i] = color.RGBA{c[0], c[1], c[2], 0xff}
	}
	return palette
}

// coloursOfNames has the colours of labels, as the data have these, by their numbers; nil: label pictures have no room
// for such numbers.
func coloursOfNames(set *dataset.Set, palette []color.RGBA) []color.RGBA {
	var colours []color.RGBA
	for x := range palette {
		name := set.Labels(nil, []int32{int32(x)})[0]
		if uint32(name) > report.MaxClasses { // or below 0
			return nil
		}
		colours = append(colours, make([]color.RGBA, max(0, int(name)+1-len(colours)))...)
		colours[name] = palette[x]
	}
	return colours
}

// NodeOfRow returns the node of a row of an instance's table, the same where there is none.
func NodeOfRow(set *dataset.Set, instance, row int) int {
	if nodes := at(set.Rows, instance); nodes != nil {
		return int(nodes[row])
	}
	return row
}

// inRows returns what is found of an instance in the order of the rows that it was read from.
func inRows(set *dataset.Set, i int, b *infer.Beliefs) *infer.Beliefs {
	if at(set.Rows, i) == nil {
		return b
	}
	rows := &infer.Beliefs{Labels: make([]int32, len(set.Rows[i])), Node: make([]float64, 0, len(b.Node)),
		NodeAt: []int{0}, Outcome: b.Outcome, Joint: b.Joint}
	for r := range rows.Labels {
		s := NodeOfRow(set, i, r)
		rows.Labels[r], rows.Node = b.Labels[s], append(rows.Node, b.Of(s)...)
		rows.NodeAt = append(rows.NodeAt, len(rows.Node))
	}
	// Of superpixels, which are of about one size, their share is that of the pixels.
	rows.Unsure = b.Unsure * len(rows.Labels) / max(1, len(b.Labels))
	return rows
}

// note takes note of what is found of one instance, in a file.
func (p *Prediction) note(name, file string, b *infer.Beliefs) {
	said := PredictedInstance{
		Name: name, Nodes: len(b.Labels), Converged: b.Outcome.Converged, Sweeps: b.Outcome.Sweeps,
		Residual: runfolder.Float(b.Outcome.Residual), Left: runfolder.Float(b.Outcome.Left), Unsure: b.Outcome.Unsure,
		File: file,
	}
	p.Worst.add(name, b)
	if !said.Converged {
		p.Unsettled++
	}
	if r := b.Joint; r != nil {
		said.MAP = NewJointState(r)
		if !r.Optimal {
			p.Unproved++
		}
	}
	p.Instances = append(p.Instances, said)
}

// HeldLabels returns the labels to hold in each instance. Of one with several samples of labels, such as the rows of a
// table, each becomes an instance of its own, in a set of its own.
func HeldLabels(set *dataset.Set, instances []*crf.Instance) (*dataset.Set, []*crf.Instance, [][]int32, error) {
	var each []*crf.Instance
	var held [][]int32
	own := *set
	own.Names, own.Rows, own.Images = nil, nil, nil
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, nil, nil, dataf("%s has no labels to hold; leave out {clamp}", option.Instance(i, in.Name))
		}
		for k, labels := range in.Samples() {
			one := *in
			if len(in.Samples()) > 1 {
				one.Name = fmt.Sprintf("%s-%d", strings.TrimSuffix(in.Name, filepath.Ext(in.Name)), k)
			}
			each, held = append(each, &one), append(held, labels)
			own.Names, own.Rows = appendOf(own.Names, set.Names, i), appendOf(own.Rows, set.Rows, i)
			own.Images = appendOf(own.Images, set.Images, i)
		}
	}
	return &own, each, held, nil
}

// at is element i, or nothing where there are not as many.
func at[T any](list []T, i int) (x T) {
	if i < len(list) {
		x = list[i]
	}
	return x
}

// appendOf appends the element i of some, if they have one.
func appendOf[T any](list, some []T, i int) []T {
	if i < len(some) {
		list = append(list, some[i])
	}
	return list
}

// UniqueNames returns a file name for every instance: its own where it is unique.
func UniqueNames(instances []*crf.Instance) []string {
	names, used := make([]string, len(instances)), map[string]bool{"": true, ".": true}
	for i, in := range instances {
		own := strings.TrimSuffix(filepath.Base(in.Name), ".npz")
		name := own
		for n := i; used[name]; n++ {
			name = fmt.Sprintf("%s%d", own, n)
		}
		used[name] = true
		names[i] = name
	}
	return names
}

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
	if asText && set.Recipe.Kind != "text" {
		return nil, usagef("{out} %s: sentences are written so, and these data are none; name a file that ends in .csv or "+
			".tsv, or a folder", file.Path)
	}
	if extension == conllu && set.Recipe.Text.Form != conllu[1:] {
		return nil, usagef("{out} %s: these data are not of CoNLL-U; name a file that ends in %s", file.Path, conll)
	}
	var p *Prediction
	err := file.Write(func(out io.Writer) (err error) {
		if asText {
			tags := make([][]string, len(instances))
			p, err = w.predict(ctx, file.Path, set, instances, held, func(i int, b, _ *infer.Beliefs) (string, error) {
				for _, y := range b.Labels {
					tags[i] = append(tags[i], set.Schema.NodeTypes[0].States[y])
				}
				return file.Path, nil
			})
			if err != nil {
				return err
			}
			return set.WriteTags(out, tags)
		}
		t := newPredictionTable(out, file.Path, set, len(instances) > 1)
		p, err = w.predict(ctx, file.Path, set, instances, held, func(i int, b, _ *infer.Beliefs) (string, error) {
			return file.Path, t.write(instances[i], at(set.Names, i), b, func(row int) int { return NodeOfRow(set, i, row) })
		})
		if err != nil {
			return err
		}
		t.rows.Flush()
		return t.rows.Error()
	})
	return p, err
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
	t.token = len(set.Names) > 0 && set.Names[0] != nil && set.Recipe.Kind == "text"
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
	t.row = append(t.row, numeric.Map(states, func(name string) string { return "p(" + name + ")" })...)
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

// Files of PredictArrays.
const (
	labelsFile  = "labels.npy"
	beliefsFile = "beliefs.npy"
)

// PredictArrays labels instances of a set and writes what PredictInto writes of each into
// two arrays for all, one behind the other: labels.npy [rows] and beliefs.npy
// [rows, states], filled up with 0. predict.json has the rows of each.
func (w Inference) PredictArrays(ctx context.Context, run *runfolder.Run, set *dataset.Set,
	instances []*crf.Instance, held [][]int32) (*Prediction, error) {
	rows, states := 0, 0
	for i, in := range instances {
		states = max(states, int(slices.Max(in.Cards())))
		rows += cmp.Or(len(at(set.Rows, i)), in.Graph.NumNodes())
	}
	labels := make([]int32, 0, rows)
	var p *Prediction
	err := run.WriteFile(beliefsFile, func(out io.Writer) error {
		err := npy.WriteHeader[float64](out, []int{rows, states})
		if err != nil {
			return err
		}
		var table []float64
		p, err = w.predict(ctx, run.Dir(), set, instances, held, func(i int, _, b *infer.Beliefs) (string, error) {
			labels, table = append(labels, set.Labels(instances[i], b.Labels)...), table[:0]
			for s := range b.Labels {
				of := b.Of(s)
				table = append(append(table, of...), make([]float64, states-len(of))...)
			}
			return run.Path(beliefsFile), npy.WriteData(out, table)
		})
		return err
	})
	if err == nil {
		err = run.WriteFile(labelsFile, func(out io.Writer) error { return npy.Write(out, []int{rows}, labels) })
	}
	if err != nil {
		return nil, err
	}
	return p, run.WriteJSON("predict.json", p)
}
