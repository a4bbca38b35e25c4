package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// predictFlags are the options of predict.
type predictFlags struct {
	data                  dataFlags
	model, out, counting  string
	threads               int
	tolerance             float64
	maxSweeps             int
	clamp, json, pictures bool
	quiet                 bool
	decode                decoding
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict DATA... -m MODEL -o OUT [flags]",
		Short: "Label new data with a model, with a belief for every label",
		Long: `Writes for every instance NAME.npz with labels [n] and beliefs [n, states], for
images also NAME.png, an indexed picture of the labels, and a page of pictures.`,
		Example: "  blockbp predict images/ --features features/ --list test.txt -m run -o predicted",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.predict(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "model file or run folder")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make for the results")
	fl.StringVar(&f.counting, "counting", "", "counting numbers other than those of training: convex, trw, bethe or a file")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads")
	fl.Float64Var(&f.tolerance, "tol", predictLimits.Tolerance, "change of a log-message at which inference counts as converged")
	fl.IntVar(&f.maxSweeps, "max-sweeps", predictLimits.MaxSweeps, "at most this many sweeps per instance")
	f.decode.register(fl)
	fl.BoolVar(&f.clamp, "clamp", false, "hold the labels that the data have, and predict the others")
	fl.BoolVar(&f.pictures, "pictures", true, "images: write pictures.png, photographs beside predictions")
	f.data.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// countingOf returns the counting numbers to use with a model: those of its
// training unless others are asked for.
func (m *loadedModel) countingOf(asked string) (counting.Func, error) {
	spec := m.meta[metaCounting]
	if asked != "" {
		spec = asked
	}
	if spec == "" {
		spec = "convex"
	}
	seed, err := strconv.ParseUint(m.meta[metaSeed], 10, 64)
	if err != nil {
		seed = 1
	}
	counting, err := countingFor(spec, seed, false)
	if err != nil && asked == "" {
		return nil, fmt.Errorf("%s was trained with the counting numbers of the file %s: %w; name it, or others, with --counting", m.path, spec, err)
	}
	return counting, err
}

// predictedInstance is what predict says of one instance.
type predictedInstance struct {
	Name      string          `json:"name"`
	Nodes     int             `json:"nodes"`
	Converged bool            `json:"converged"`
	Sweeps    int             `json:"sweeps"`
	Residual  runfolder.Float `json:"residual"`
	File      string          `json:"file"`
	MAP       *jointState     `json:"map,omitempty"`
}

func (a *app) predict(f *predictFlags, args []string) error {
	if f.model == "" || f.out == "" || len(args) == 0 {
		return usagef("predict: want blockbp predict DATA -m MODEL -o OUT")
	}
	switch {
	case !(f.tolerance > 0):
		return usagef("--tol %v: want a positive number", f.tolerance)
	case f.maxSweeps < 1:
		return usagef("--max-sweeps %d: want at least 1", f.maxSweeps)
	case f.threads < 1:
		return usagef("--threads %d: want at least 1", f.threads)
	}
	if err := f.decode.check(); err != nil {
		return err
	}
	if err := f.data.validate(); err != nil {
		return err
	}
	if err := checkOutput(f.out); err != nil {
		return err
	}
	model, err := loadModel(f.model)
	if err != nil {
		return err
	}
	counting, err := model.countingOf(f.counting)
	if err != nil {
		return err
	}
	o := f.data.options(model)
	o.NoLabels = !f.clamp && f.data.observed == ""
	set, err := a.openData(args, o)
	if err != nil {
		return err
	}
	instances := model.instances(set)
	var clamp [][]int32
	if f.clamp {
		if clamp, err = a.heldLabels(instances); err != nil {
			return err
		}
		if err := checkHeld(model.model, instances, clamp); err != nil {
			return err
		}
	}
	if err := checkCounting(instances, counting); err != nil {
		return err
	}
	run, err := createOutput(f.out)
	if err != nil {
		return err
	}
	p := &prediction{app: a, run: run, set: set, names: uniqueNames(instances)}
	started := time.Now()
	work := inference{
		instances: instances, clamp: clamp, threads: f.threads, progress: newCounter(a.stderr, f.quiet, "predicting"),
		predictor: func() *infer.Predictor {
			p := predictor(model.model, counting, infer.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps})
			p.Joint = f.decode.joint(f.maxSweeps)
			return p
		},
	}
	if err := work.run(a.ctx, p.write); err != nil {
		return err
	}
	return p.finish(f, time.Since(started))
}

// checkCounting makes the counting numbers of every network, so that what is wrong
// with them is known before anything is written.
func checkCounting(instances []*crf.Instance, counting counting.Func) error {
	for i, in := range instances {
		if _, err := counting(in.Graph); err != nil {
			return dataf("instance %d (%s): %v", i, in.Name, err)
		}
	}
	return nil
}

// checkHeld refuses labels that the model forbids, before anything is written.
func checkHeld(model *crf.Model, instances []*crf.Instance, held [][]int32) error {
	for i, in := range instances {
		if err := in.CheckHeld(&model.Schema, held[i]); err != nil {
			return fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return nil
}

// heldLabels returns the labels to hold in each instance: a prediction has room
// for one sample, the first.
func (a *app) heldLabels(instances []*crf.Instance) ([][]int32, error) {
	clamp := make([][]int32, len(instances))
	several := 0
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, dataf("instance %d (%s) has no labels to hold; leave out --clamp", i, in.Name)
		}
		clamp[i] = in.Samples()[0]
		if len(in.Samples()) > 1 {
			several++
		}
	}
	if several > 0 {
		a.note("%d of %d instances have several samples of labels; --clamp holds the first of each", several, len(instances))
	}
	return clamp, nil
}

// uniqueNames returns a file name for every instance: its own where it is unique.
func uniqueNames(instances []*crf.Instance) []string {
	names := make([]string, len(instances))
	used := map[string]bool{}
	for i, in := range instances {
		name := strings.TrimSuffix(filepath.Base(in.Name), ".npz")
		if name == "" || name == "." || used[name] {
			name = fmt.Sprintf("%s%d", name, i)
		}
		used[name] = true
		names[i] = name
	}
	return names
}

// prediction writes what predict finds.
type prediction struct {
	app       *app
	run       *runfolder.Run
	set       *dataset.Set
	names     []string
	instances []predictedInstance
	rows      []figure.PanelRow
}

func (p *prediction) write(i int, b *infer.Beliefs) error {
	name := p.names[i]
	file := p.run.Path(name + ".npz")
	if err := dataset.WritePrediction(file, b.Labels, b.Node, b.NodeAt); err != nil {
		return err
	}
	said := predictedInstance{
		Name: name, Nodes: len(b.Labels), Converged: b.Outcome.Converged, Sweeps: b.Outcome.Sweeps,
		Residual: runfolder.Float(b.Outcome.Residual), File: file,
	}
	if r := b.Joint; r != nil {
		said.MAP = &jointState{r.Method, runfolder.Float(r.Energy), runfolder.Float(r.LowerBound), runfolder.Float(r.Gap), r.Optimal}
	}
	p.instances = append(p.instances, said)
	if i >= len(p.set.Images) {
		return nil
	}
	source := p.set.Images[i]
	picture, err := figure.LabelImage(toInts(b.Labels), source.Width, source.Height, figure.ClassPalette(mostStates(p.set)))
	if err != nil {
		return err
	}
	if len(p.rows) < picturesPerSet {
		row, err := panelRow(source, nil, b)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, row)
	}
	return p.run.WriteFile(name+".png", func(w io.Writer) error { return figure.EncodePalettedPNG(w, picture) })
}

func (p *prediction) finish(f *predictFlags, elapsed time.Duration) error {
	if len(p.rows) > 0 && f.pictures {
		panel := figure.Panel{Title: "Predictions", Rows: p.rows, Names: stateNames(p.set)}
		if err := p.run.WriteFile("pictures.png", panel.PNG); err != nil {
			return err
		}
	}
	unsettled, unproved := 0, 0
	for _, in := range p.instances {
		if !in.Converged {
			unsettled++
		}
		if in.MAP != nil && !in.MAP.Optimal {
			unproved++
		}
	}
	summary := struct {
		Out       string              `json:"out"`
		Seconds   float64             `json:"seconds"`
		Unsettled int                 `json:"not_converged"`
		Instances []predictedInstance `json:"instances"`
	}{f.out, elapsed.Seconds(), unsettled, p.instances}
	if err := p.run.WriteJSON("predict.json", summary); err != nil {
		return err
	}
	if unsettled > 0 {
		p.app.note("inference of %d of %d instances did not converge; raise --max-sweeps", unsettled, len(p.instances))
	}
	if unproved > 0 {
		p.app.note("the joint states of %d of %d instances are not proved to be the most probable; predict.json has the gaps", unproved, len(p.instances))
	}
	if f.json {
		return p.app.printJSON(summary)
	}
	_, err := fmt.Fprintf(p.app.stdout, "%s labelled in %.2f s: %s\n", counted(len(p.instances), "instance"), elapsed.Seconds(), f.out)
	return err
}
