package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/mrf"
)

// networkFlags name networks with explicit tables: one in a UAI file, or a model given instances of a data set.
type networkFlags struct {
	data     dataFlags
	model    string
	evidence []string
	clamp    bool
}

func (f *networkFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "model file or run folder: networks are this model given the features of "+
		"DATA")
	readsArguments(cmd, "a network (.uai, .bif, .npz of log potentials, or /dev/stdin), or data for a model")
	reads(fl, wantsModel, "model")
	fl.BoolVar(&f.clamp, "clamp", false, "with -m: hold the labels that the data have")
	fl.StringArrayVar(&f.evidence, "evidence", nil, "without -m: "+evidenceHelp)
	reads(fl, "an evidence file (.uai.evid), or VAR=STATE,…", "evidence")
	f.data.register(fl)
	f.data.registerMemory(fl)
}

// namedNetwork is a network and what is known of its variables.
type namedNetwork struct {
	name     string
	network  *mrf.Network
	evidence map[int]int
	number   int                          // among the instances of the data
	labels   func(states []int32) []int32 // as the data have them; nil: of no data
}

// networks are made one after another: with explicit tables they can be large.
type networks struct {
	names []string
	make  func(i int) *namedNetwork
}

// open reads what the arguments name.
func (f *networkFlags) open(a *app, cmd *cobra.Command, args []string) (*networks, error) {
	switch {
	case f.model != "" && len(args) == 0:
		return nil, usagef("sample: want data: blockbp sample DATA -m MODEL -o OUT")
	case f.model != "" && f.evidence != nil:
		return nil, usagef("{evidence} is for UAI networks; of data, {clamp} holds the labels")
	case f.model != "":
		return f.openData(a, args)
	case len(args) != 1:
		return nil, usagef("sample: want one network, or data and a model: blockbp sample NET.uai -o OUT, or blockbp " +
			"sample DATA -m MODEL -o OUT")
	}
	if name := firstChanged(cmd, append(dataFlagNames(), "clamp")); name != "" {
		return nil, usagef("{%s} is used with a model only (-m)", name)
	}
	network, evidence, err := a.readNetwork(args[0], f.data.Memory, f.evidence)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
	only := &namedNetwork{name: name, network: network, evidence: evidence}
	return &networks{[]string{name}, func(int) *namedNetwork { return only }}, nil
}

// dataFlagNames are the options that say how data are read.
func dataFlagNames() (names []string) {
	var f dataFlags
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(fl)
	fl.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// firstChanged returns the first of some options that was given, or nothing.
func firstChanged(cmd *cobra.Command, names []string) string {
	if i := slices.IndexFunc(names, cmd.Flags().Changed); i >= 0 {
		return names[i]
	}
	return ""
}

// openData reads a model and the instances that it is given.
func (f *networkFlags) openData(a *app, args []string) (*networks, error) {
	if err := f.data.validate(); err != nil {
		return nil, err
	}
	model, err := a.loadModel(f.model)
	if err != nil {
		return nil, err
	}
	data, err := a.given(&f.data, model, args, f.clamp)
	if err != nil {
		return nil, err
	}
	n := &networks{names: job.UniqueNames(data.instances)}
	for i, name := range n.names {
		bytes := ground.ConditionBytes(data.instances[i])
		if err := memory.Check("the network with explicit tables of "+name, bytes, f.data.Memory); err != nil {
			return nil, dataf("%w", err)
		}
	}
	n.make = func(i int) *namedNetwork {
		in := data.instances[i]
		made := &namedNetwork{n.names[i], ground.Condition(model.Model, in).Network(), map[int]int{}, i, nil}
		made.labels = func(states []int32) []int32 { return data.set.Labels(in, states) }
		for s := 0; data.held != nil && s < len(data.held[i]); s++ {
			if y := data.held[i][s]; y != crf.Unobserved {
				made.evidence[s] = int(y)
			}
		}
		return made
	}
	return n, nil
}

// networkOutput is where the result of one network goes.
type networkOutput struct {
	path  string
	write func(fill func(path string) error) error
}

// newOutputs says by the name of a network where its result goes, and makes the folder: .npz is a file, for one.
func (a *app) newOutputs(out string, n *networks) (func(name string) networkOutput, error) {
	switch {
	case filepath.Ext(out) == ".npz" && len(n.names) > 1:
		return nil, usagef("-o %s: one file cannot hold the results of %d instances; give a folder, or the data of one", out,
			len(n.names))
	case filepath.Ext(out) == ".npz":
		file := a.target()
		return func(string) networkOutput { return networkOutput{file.Path, file.Via} }, nil
	}
	run, err := a.newFolder()
	return func(name string) networkOutput {
		name += ".npz"
		return networkOutput{run.Path(name), func(fill func(path string) error) error { return run.Via(name, fill) }}
	}, err
}
