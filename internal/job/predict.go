package job

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
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
	worst     Unsettled
}

// Unsettled says of which instances beliefs or labels were not settled when a limit ended inference, as far as anybody
// would act on it.
type Unsettled struct {
	Count, Of int
	tolerance float64 // by how much a belief may change without a word
	convex    bool    // counting numbers are, by which all settle in time
	worst     string  // the instance that has the farthest to go
	left      float64 // by how much a belief of it may still change
	unsure    float64 // and the share of its labels
}

// unsettled begins with no instance. A belief that may change by ten times what was asked for, by default in its second
// digit, and one label in a thousand are not worth a word.
func (w *Inference) unsettled() Unsettled {
	return Unsettled{tolerance: 10 * cmp.Or(w.Settled, PredictTolerance), convex: w.Convex}
}

// unsureUnsaid is the share of labels that may change without a word.
const unsureUnsaid = 1e-3

// add takes note of one instance.
func (u *Unsettled) add(name string, b *infer.Beliefs) {
	u.Of++
	share := float64(b.Outcome.Unsure) / float64(max(1, len(b.Labels)))
	if b.Outcome.Converged || b.Outcome.Left <= u.tolerance && share <= unsureUnsaid {
		return
	}
	if u.Count == 0 || b.Outcome.Left > u.left || b.Outcome.Left == u.left && share > u.unsure {
		u.worst, u.left, u.unsure = name, b.Outcome.Left, share
	}
	u.Count++
}

// String says what is unsettled, and what to do; "" where nothing is.
func (u *Unsettled) String() string {
	if u.Count == 0 {
		return ""
	}
	may, remedy := "do not come to rest", "raise {max-sweeps}, or choose {counting=convex}"
	if u.convex {
		may, remedy = "still change", "raise {max-sweeps}"
	}
	if u.left <= 1 {
		may = fmt.Sprintf("may still change by %.2g, and %s of its labels", u.left, percent(u.unsure))
	}
	return fmt.Sprintf("inference of %d of %d instances is not settled: beliefs of %q %s; %s", u.Count, u.Of, u.worst, may,
		remedy)
}

// Unfinished says which instances are not settled, and what to do; "" where all are.
func (p *Prediction) Unfinished() string { return p.worst.String() }

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

// PredictInto labels instances of a set and writes NAME.npz for each into a folder,
// NAME.png of images, predict.json, and with pictures a page of the first few
// photographs, in the colours of those that the model learned from. held is as in Inference.Each.
func (w Inference) PredictInto(ctx context.Context, run *runfolder.Run, set *dataset.Set, instances []*crf.Instance,
	held [][]int32, pictures bool) (*Prediction, error) {
	started, names := time.Now(), UniqueNames(instances, strings.TrimSuffix(picturesFile, filepath.Ext(picturesFile)))
	p := &Prediction{Out: run.Dir(), States: stateNames(set), worst: w.unsettled()}
	var rows []report.PanelRow
	palette := paletteOf(set)
	err := w.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
		b = inRows(set, i, b)
		labels := set.Labels(instances[i], b.Labels)
		if err := p.write(run, names[i], labels, b); err != nil || i >= len(set.Images) {
			return err
		}
		source := set.Images[i]
		if len(rows) < picturesPerSet {
			row, err := panelRow(source, nil, b)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		colours := coloursOfNames(set, palette)
		if colours == nil {
			labels, colours = b.Labels, palette
		}
		picture, err := report.LabelImage(labels, source.Width, source.Height, colours)
		if err != nil {
			return err
		}
		return run.WriteFile(names[i]+".png", func(w io.Writer) error { return png.Encode(w, picture) })
	})
	if err != nil {
		return nil, err
	}
	p.Seconds = time.Since(started).Seconds()
	if len(rows) > 0 && pictures {
		panel := report.Panel{Title: "Predictions", Rows: rows, Names: stateNames(set)}
		if err := run.WriteFile(picturesFile, panel.PNG); err != nil {
			return nil, err
		}
	}
	return p, run.WriteJSON("predict.json", p)
}

// paletteOf has the colours of the states in label pictures: those that the model learned from had, or else colours
// that differ as much as can be.
func paletteOf(set *dataset.Set) []color.RGBA {
	palette := report.ClassPalette(mostStates(set))
	for i, c := range set.Recipe.Palette[:min(len(set.Recipe.Palette), len(palette))] {
		palette[i] = color.RGBA{c[0], c[1], c[2], 0xff}
	}
	return palette
}

// coloursOfNames has the colours of labels that are names of states, by these; nil: label pictures have the numbers
// of states, or no room for these names.
func coloursOfNames(set *dataset.Set, palette []color.RGBA) []color.RGBA {
	if len(set.Recipe.LabelNames) == 0 {
		return nil
	}
	var colours []color.RGBA
	for x := range palette {
		name := set.Labels(nil, []int32{int32(x)})[0]
		if name >= report.MaxClasses {
			return nil
		}
		colours = append(colours, make([]color.RGBA, int(name)+1-len(colours))...)
		colours[name] = palette[x]
	}
	return colours
}

// NodeOfRow returns the node of a row of an instance's table, the same where there is none.
func NodeOfRow(set *dataset.Set, instance, row int) int {
	if instance < len(set.Rows) && set.Rows[instance] != nil {
		return int(set.Rows[instance][row])
	}
	return row
}

// inRows returns what is found of an instance in the order of the rows that it was read from.
func inRows(set *dataset.Set, i int, b *infer.Beliefs) *infer.Beliefs {
	if i >= len(set.Rows) || set.Rows[i] == nil {
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

// write writes what is found of one instance, with labels as the data have them, and takes note of that.
func (p *Prediction) write(run *runfolder.Run, name string, labels []int32, b *infer.Beliefs) error {
	file := run.Path(name + ".npz")
	if err := run.Via(name+".npz", func(path string) error {
		return dataset.WritePrediction(path, labels, b.Node,
			b.NodeAt)
	}); err != nil {
		return err
	}
	p.note(name, file, b)
	return nil
}

// note takes note of what is found of one instance, in a file.
func (p *Prediction) note(name, file string, b *infer.Beliefs) {
	said := PredictedInstance{
		Name: name, Nodes: len(b.Labels), Converged: b.Outcome.Converged, Sweeps: b.Outcome.Sweeps,
		Residual: runfolder.Float(b.Outcome.Residual), Left: runfolder.Float(b.Outcome.Left), Unsure: b.Outcome.Unsure,
		File: file,
	}
	p.worst.add(name, b)
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

// HeldLabels returns the labels to hold in each instance: a prediction has room for
// one sample, the first. several is how many instances have more.
func HeldLabels(instances []*crf.Instance) (held [][]int32, several int, err error) {
	held = make([][]int32, len(instances))
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, 0, dataf("instance %d (%s) has no labels to hold; leave out {clamp}", i, in.Name)
		}
		held[i] = in.Samples()[0]
		if len(in.Samples()) > 1 {
			several++
		}
	}
	return held, several, nil
}

// picturesFile is the page of pictures among predictions.
const picturesFile = "pictures.png"

// UniqueNames returns a file name for every instance: its own where it is unique and not among those that are taken.
func UniqueNames(instances []*crf.Instance, taken ...string) []string {
	names := make([]string, len(instances))
	used := map[string]bool{"": true, ".": true}
	for _, name := range taken {
		used[name] = true
	}
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
