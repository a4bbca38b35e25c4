package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/learn"
)

// resolve puts what the run will use in the place of options that were left to
// the program, and absolute paths in the place of relative ones, so that
// config.json tells all of it and the run can be resumed from any folder.
func (t *training) resolve() error {
	if err := t.resolvePaths(); err != nil {
		return err
	}
	s := t.settings.Resolved()
	t.put("inner-sweeps", s.InnerSweeps)
	t.put("inner-tol", s.InnerTolerance)
	t.put("tol", orNil(s.GradientTolerance))
	t.put("rtol", orNil(s.RelativeTolerance))
	t.put("obj-tol", orNil(s.ObjectiveTolerance))
	t.put("max-iter", orNil(s.MaxIterations))
	t.put("together", s.Together)
	t.put("max-passes", s.MaxPasses)
	t.put("max-time", durationOrNil(s.MaxTime))
	t.put("checkpoint-every", durationOrNil(s.CheckpointEvery))
	t.put("eval-every", nil)
	if len(t.evals) > 0 {
		t.put("eval-every", s.EvaluateEvery)
	}
	t.put("early-stop", nil)
	if s.EarlyStop != nil {
		t.put("early-stop", earlyStopText(s.EarlyStop))
	}
	t.resolveData()
	return t.resolveBlocks()
}

func (t *training) put(name string, value any) {
	o := t.options[name]
	o.Value = value
	t.options[name] = o
}

// orNil returns nil for the zero that stands for "off".
func orNil[T int | float64](x T) any {
	if x == 0 {
		return nil
	}
	return x
}

func durationOrNil(d time.Duration) any {
	if d == 0 {
		return nil
	}
	return d.String()
}

// resolvePaths makes every option that is a path absolute.
func (t *training) resolvePaths() (err error) {
	absolute := func(path string) string {
		text, absErr := filepath.Abs(path)
		if absErr != nil {
			err = absErr
		}
		return text
	}
	put := func(name, path string) {
		if path != "" {
			t.put(name, absolute(path))
		}
	}
	f := t.flags
	put("model", f.model)
	put("init", f.init)
	put("reference", f.reference)
	put("config", f.config)
	if t.set.Recipe.Kind == dataset.KindImages {
		put("features", dataset.FeatureFolder(t.args[0], f.data.features))
	}
	t.put("counting", f.counting) // made absolute already
	if f.data.list != "" {
		put("list", dataset.ListPath(t.args[0], f.data.list))
	}
	var sets []string
	for _, spec := range f.eval {
		name, path, _ := strings.Cut(spec, "=")
		switch t.set.Recipe.Kind {
		case dataset.KindNPZ:
			path = absolute(path)
		case dataset.KindImages:
			path = absolute(dataset.ListPath(t.args[0], path))
		}
		sets = append(sets, name+"="+path)
	}
	t.put("eval", textsOrNil(sets))
	return err
}

// resolveData says how the data were read.
func (t *training) resolveData() {
	recipe := &t.set.Recipe
	t.put("kind", recipe.Kind)
	t.put("untied", recipe.Untied)
	if types := t.set.Schema.NodeTypes; statesAlike(types) {
		t.put("states", types[0].States)
	}
	switch recipe.Kind {
	case dataset.KindImages:
		t.put("neighbours", recipe.Neighbours)
		t.put("bins", t.askedBins())
		t.put("no-bias", !recipe.Bias)
	case dataset.KindGraph:
		t.put("no-bias", !recipe.Bias)
	}
	if recipe.Kind != dataset.KindImages {
		t.put("neighbours", nil)
		t.put("bins", nil)
	}
}

// askedBins returns the number of bins asked for, which can be more than there are
// where distances are equal; those of a model are as they are.
func (t *training) askedBins() int {
	switch asked := t.flags.data.bins; {
	case t.flags.init != "":
		return t.set.Recipe.Bins
	case asked > 0:
		return asked
	}
	return dataset.DefaultBins
}

// statesAlike reports whether all node types have the same states.
func statesAlike(types []crf.NodeType) bool {
	for _, t := range types {
		if !slices.Equal(t.States, types[0].States) {
			return false
		}
	}
	return len(types) > 0
}

// resolveBlocks says how the networks are cut. Where some are cut into tiles and
// others are not, or into turned ones, there is no other answer than "auto".
func (t *training) resolveBlocks() error {
	if t.settings.Method.Local() {
		for _, name := range blockOptions {
			t.put(name, nil)
		}
		return nil
	}
	if t.settings.Method != learn.BBPL {
		t.put("blocks", 1)
		t.put("partition", nil)
		return nil
	}
	first := t.cuts[0]
	var blocks any = first.Blocks
	if first.Rows > 0 {
		blocks = fmt.Sprintf("%dx%d", first.Rows, first.Cols)
	}
	for _, cut := range t.cuts {
		switch {
		case cut.Kind != first.Kind, cut != first && t.settings.Cut == (learn.Cut{}):
			t.put("blocks", nil)
			t.put("partition", "auto")
			return nil
		case cut != first:
			blocks = first.Blocks // tiles of other shapes
		}
	}
	t.put("blocks", blocks)
	t.put("partition", first.Kind)
	return nil
}
