package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/learn"
)

// resolved puts what the run will use in the place of options that were left to the
// program, so that config.json tells all of it and the run can be resumed.
func (p *Prepared) resolved(asked map[string]Option) map[string]Option {
	options := maps.Clone(asked)
	if options == nil {
		options = map[string]Option{}
	}
	if p.choosing {
		return open(options)
	}
	o, s := &p.Options, p.Settings.Resolved()
	put(options, "method", string(o.Method))
	if p.Choice != "" {
		options["method"] = Option{Value: string(o.Method), Source: sourceAuto + p.Choice}
	}
	put(options, "model", orNil(o.Physics))
	put(options, "errors", o.Errors)
	put(options, "step", o.Step)
	put(options, "order", o.Order)
	put(options, "pairs", o.Pairs)
	put(options, "seed", o.Seed)
	put(options, "no-edges", o.NoEdges)
	put(options, "edges", o.Edges)
	if of := options["edges"]; p.choice == nil && of.Source == SourceDefault && o.Edges != edgesAuto {
		options["edges"] = Option{Value: o.Edges, Source: sourceAuto + "few labels"}
	}
	put(options, "class-weights", orNil(o.ClassWeights))
	put(options, "counting", o.Counting)
	put(options, "prior", orNil(o.Prior))
	put(options, "standardise", o.Standardise)
	switch {
	case o.Prior != 0:
		put(options, "l2", nil)
	case !o.AutoL2:
		put(options, "l2", p.Problem.L2)
	}
	put(options, "inner-sweeps", s.InnerSweeps)
	put(options, "inner-tol", s.InnerTolerance)
	put(options, "tol", orNil(s.GradientTolerance))
	put(options, "rtol", orNil(s.RelativeTolerance))
	put(options, "gap", orNil(s.Gap))
	put(options, "obj-tol", orNil(s.ObjectiveTolerance))
	put(options, "max-iter", orNil(s.MaxIterations))
	put(options, "together", s.Together)
	if s.AtOnce { // the order says it
		put(options, "together", nil)
	}
	put(options, "max-passes", s.MaxPasses)
	put(options, "max-time", durationOrNil(o.MaxTime))
	put(options, "checkpoint-every", durationOrNil(s.CheckpointEvery))
	put(options, "eval-every", nil)
	if len(p.Evaluations) > 0 {
		put(options, "eval-every", s.EvaluateEvery)
	}
	put(options, "calibrate", orNil(o.Calibrate))
	put(options, "early-stop", nil)
	if e := p.earlyStop; e != nil {
		put(options, "early-stop", fmt.Sprintf("%s:%d", e.Metric, e.Patience))
	}
	p.resolveBlocks(options)
	if p.choice != nil {
		if p.Set.Recipe.Kind == dataset.KindGraph {
			put(options, "hops", p.Set.Recipe.Hops)
		}
		for _, name := range []string{"hops", "prior", "edges", "max-passes"} {
			if o, ok := options[name]; ok && o.Source == SourceDefault {
				options[name] = Option{Value: o.Value, Source: sourceAuto + "by folds of labels"}
			}
		}
	}
	return options
}

// open leaves out what is to be chosen yet: a run that is resumed chooses again.
func open(options map[string]Option) map[string]Option {
	for name, o := range options {
		if o.Source == SourceDefault && (slices.Contains(CourseOptions, name) || name == "hops") {
			options[name] = Option{Value: nil, Source: SourceDefault}
		}
	}
	return options
}

// resolveBlocks says how the networks are cut. Where some are cut into tiles and
// others are not, or into turned ones, there is no other answer than "auto".
func (p *Prepared) resolveBlocks(options map[string]Option) {
	if p.Options.Method.Local() {
		for _, name := range blockOptions {
			put(options, name, nil)
		}
		return
	}
	if p.Options.Method != learn.BBPL {
		put(options, "blocks", 1)
		put(options, "partition", nil)
		return
	}
	if p.Problem.Parted != nil { // as the data say
		put(options, "blocks", nil)
		put(options, "partition", "auto")
		return
	}
	first := p.cuts[0]
	if first.Blocks == 1 { // nothing is cut
		put(options, "blocks", 1)
		put(options, "partition", nil)
		return
	}
	var blocks any = first.Blocks
	if first.Rows > 0 {
		blocks = fmt.Sprintf("%dx%d", first.Rows, first.Cols)
	}
	for _, cut := range p.cuts {
		switch {
		case cut.Kind != first.Kind, cut != first && p.Options.Cut == (learn.Cut{}):
			put(options, "blocks", nil)
			put(options, "partition", "auto")
			return
		case cut != first:
			blocks = first.Blocks // tiles of other shapes
		}
	}
	if asked := p.Options.Cut; asked.Rows > 0 { // narrow networks have fewer of them
		blocks = fmt.Sprintf("%dx%d", asked.Rows, asked.Cols)
	}
	put(options, "blocks", blocks)
	put(options, "partition", first.Kind)
}

// sourceAuto begins the source of a method that the data decided; the reason follows. A
// resumed run keeps the method, as the machine takes part in the decision.
const sourceAuto = "auto: "

// choiceOf returns the reason for a method, "" where it was asked for.
func (o Option) choiceOf() string {
	reason, found := strings.CutPrefix(o.Source, sourceAuto)
	if !found {
		return ""
	}
	return reason
}

// sourceCaller is the source of options that Prepare was given without one.
const sourceCaller = "caller"

func put(options map[string]Option, name string, value any) {
	o := options[name]
	if o.Source == "" {
		o.Source = sourceCaller
	}
	o.Value = value
	options[name] = o
}

// orNil returns nil for the zero value, which stands for "off".
func orNil[T comparable](x T) any {
	var zero T
	if x == zero {
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
