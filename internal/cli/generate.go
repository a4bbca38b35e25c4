package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// generateFlags are the options of generate.
type generateFlags struct {
	out, graph string
	spec       synthetic.Synthetic
	threads    int
	json       bool
}

func (a *app) generateCommand() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate -o DIR --graph grid:50x50 [flags]",
		Short: "Make a synthetic data set as the paper does, with the true weights",
		Long: `Draws features and true weights from normal distributions and labels from the
model by Gibbs sampling. DIR gets one .npz per instance, dataset.json, and the
true model as truth.safetensors.

Graphs: grid:RxC  chain:N  ba:N[:M] (Barabasi-Albert, M edges per new node, 2 by
default)`,
		Example: "  blockbp generate -o data --graph grid:50x50 --seed 7\n  blockbp generate -o data --graph ba:1000:2 " +
			"--samples 50",
		RunE: func(cmd *cobra.Command, args []string) error { return a.generate(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make")
	a.writes(cmd, "out", always(outputFolder))
	forceable(cmd, forceHelp)
	fl.StringVar(&f.graph, "graph", "grid:50x50", "the graph, such as ba:1000:2")
	fl.IntVar(&f.spec.States, "states", 8, "states of every variable")
	fl.IntVar(&f.spec.NodeFeatures, "node-features", 20, "length of the node features")
	fl.IntVar(&f.spec.EdgeFeatures, "edge-features", 10, "length of the edge features")
	fl.IntVar(&f.spec.Samples, "samples", 20, "samples per instance, which share its features")
	fl.IntVar(&f.spec.Instances, "instances", 1, "instances with features of their own")
	fl.IntVar(&f.spec.Sweeps, "sweeps", 100, "Gibbs sweeps before a sample is taken")
	fl.Uint64Var(&f.spec.Seed, "seed", 1, "seed of everything drawn")
	threadsVar(fl, &f.threads, "number of threads; results do not depend on it")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// validate reports the first option whose value cannot be used.
func (f *generateFlags) validate() error {
	s := &f.spec
	return checkLeast(intOption{"states", s.States, 2}, intOption{"node-features", s.NodeFeatures, 1},
		intOption{"edge-features", s.EdgeFeatures, 1}, intOption{"samples", s.Samples, 1},
		intOption{"instances", s.Instances, 1}, intOption{"sweeps", s.Sweeps, 1})
}

func (a *app) generate(f *generateFlags, args []string) error {
	if f.out == "" || len(args) > 0 {
		return usagef("generate: want blockbp generate -o DIR --graph KIND:SIZE")
	}
	s := &f.spec
	var err error
	if s.Graph, err = synthetic.ParseGraph(f.graph); err != nil {
		return usagef("--graph %q: %v", f.graph, err)
	}
	if err := f.validate(); err != nil {
		return err
	}
	generated, err := synthetic.Generate(*s, f.threads)
	if err != nil {
		return usagef("generate: %v", err)
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	run, err := a.newFolder("out")
	if err != nil {
		return err
	}
	if err := generated.Write(run); err != nil {
		return err
	}
	first := generated.Instances[0]
	return a.print(f.json, struct {
		Out       string `json:"out"`
		Instances int    `json:"instances"`
		Nodes     int    `json:"nodes"`
		Edges     int    `json:"edges"`
		Samples   int    `json:"samples"`
		Weights   int    `json:"weights"`
		Seed      uint64 `json:"seed"`
	}{f.out, s.Instances, first.Graph.NumNodes(), first.Graph.NumEdges(), s.Samples, generated.Truth.Layout.Size, s.Seed},
		"%s: %s with %d nodes, %d edges and %s each; true weights in %s\n",
		f.out, describe.Counted(s.Instances, "instance"), first.Graph.NumNodes(), first.Graph.NumEdges(),
		describe.Counted(s.Samples, "sample"), filepath.Join(f.out, synthetic.TruthFile))
}
