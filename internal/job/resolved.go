package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	o, s, l2 := p.Options, p.Settings.Resolved(), any(nil)
	o.InnerSweeps, o.InnerTolerance, o.Together, o.MaxPasses = s.InnerSweeps, s.InnerTolerance, s.Together, s.MaxPasses
	o.RelativeTolerance, o.Gap, o.EvaluateEvery = s.RelativeTolerance, s.Gap, s.EvaluateEvery
	if e := p.earlyStop; e != nil && o.EarlyStop != "" {
		o.EarlyStop = fmt.Sprintf("%s:%d", e.Metric, e.Patience)
	}
	if len(p.Evaluations) == 0 {
		o.EvaluateEvery = 0
	}
	if o.AutoL2 {
		l2 = options["l2"].Value
	} else if o.Prior == 0 {
		l2 = p.Problem.L2
	}
	for _, f := range o.fields() {
		put(options, f.name, f.value())
	}
	put(options, "l2", l2)
	if p.Choice != "" {
		options["method"] = Option{Value: string(o.Method), Source: sourceAuto + p.Choice}
	}
	if of := options["edges"]; p.choice == nil && of.Source == SourceDefault && o.Edges != edgesAuto {
		options["edges"] = Option{Value: o.Edges, Source: sourceAuto + "few labels"}
	}
	p.resolveBlocks(options)
	if p.choice != nil && p.choice.Chosen.L2 == 0 {
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
	set := func(blocks, partition any) { put(options, "blocks", blocks); put(options, "partition", partition) }
	switch {
	case p.Options.Method.Local():
		for _, name := range blockOptions {
			put(options, name, nil)
		}
		return
	case p.Options.Method != learn.BBPL || p.cuts[0].Blocks == 1: // nothing is cut
		set(1, nil)
		return
	}
	first := p.cuts[0]
	var blocks any = first.Blocks
	if first.Rows > 0 {
		blocks = fmt.Sprintf("%dx%d", first.Rows, first.Cols)
	}
	for _, one := range p.cuts {
		switch {
		case one.Kind != first.Kind, one != first && p.Options.Cut == (learn.Cut{}):
			set(nil, "auto")
			return
		case one != first:
			blocks = first.Blocks // tiles of other shapes
		}
	}
	if asked := p.Options.Cut; asked.Rows > 0 { // narrow networks have fewer of them
		blocks = fmt.Sprintf("%dx%d", asked.Rows, asked.Cols)
	}
	set(blocks, first.Kind)
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
