package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/runfolder"
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

Graphs: grid:RxC  grid8:RxC  torus:RxC  chain:N  tree:N  complete:N  er:N:P (edge
probability P)  ba:N[:M] (Barabasi-Albert, M edges per new node, 2 by default)`,
		Example: "  blockbp generate -o data --graph grid:50x50 --seed 7\n  blockbp generate -o data --graph ba:1000:2 --samples 50",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.generate(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make")
	fl.StringVar(&f.graph, "graph", "grid:50x50", "the graph; see above")
	fl.IntVar(&f.spec.States, "states", 8, "states of every variable")
	fl.IntVar(&f.spec.NodeFeatures, "node-features", 20, "length of the node features")
	fl.IntVar(&f.spec.EdgeFeatures, "edge-features", 10, "length of the edge features")
	fl.IntVar(&f.spec.Samples, "samples", 20, "samples per instance, which share its features")
	fl.IntVar(&f.spec.Instances, "instances", 1, "instances with features of their own")
	fl.Float64Var(&f.spec.WeightScale, "weight-scale", 1, "standard deviation of the true weights")
	fl.IntVar(&f.spec.Sweeps, "sweeps", 100, "Gibbs sweeps before a sample is taken")
	fl.Uint64Var(&f.spec.Seed, "seed", 1, "seed of everything drawn")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads; results do not depend on it")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// parseGraph reads KIND:SIZES.
func parseGraph(text string) (synthetic.GraphSpec, error) {
	bad := func() (synthetic.GraphSpec, error) {
		return synthetic.GraphSpec{}, usagef("--graph %q: want grid:RxC, grid8:RxC, torus:RxC, chain:N, tree:N, complete:N, er:N:P or ba:N[:M]", text)
	}
	fields := strings.Split(text, ":")
	g := synthetic.GraphSpec{Kind: fields[0]}
	if len(fields) < 2 || len(fields) > 3 {
		return bad()
	}
	var err error
	switch g.Kind {
	case "grid", "grid8", "torus":
		rows, cols, ok := strings.Cut(fields[1], "x")
		var e1, e2 error
		g.Rows, e1 = strconv.Atoi(rows)
		g.Cols, e2 = strconv.Atoi(cols)
		if !ok || e1 != nil || e2 != nil || len(fields) != 2 {
			return bad()
		}
		return g, nil
	case "er":
		if len(fields) != 3 {
			return bad()
		}
		if g.EdgeChance, err = strconv.ParseFloat(fields[2], 64); err != nil {
			return bad()
		}
	case "ba":
		if len(fields) == 3 {
			if g.Attach, err = strconv.Atoi(fields[2]); err != nil || g.Attach < 1 {
				return bad()
			}
		}
	case "chain", "tree", "complete":
		if len(fields) != 2 {
			return bad()
		}
	default:
		return bad()
	}
	if g.Nodes, err = strconv.Atoi(fields[1]); err != nil {
		return bad()
	}
	return g, nil
}

// Bounds on what is generated: a slip of the pen must not ask for all memory.
const (
	mostGeneratedWeights = 1 << 28 // 2 GiB
	mostGeneratedNumbers = 1 << 32 // node features of all instances, 32 GiB
)

// validate reports the first option whose value cannot be used.
func (f *generateFlags) validate() error {
	s := &f.spec
	for _, o := range []struct {
		name         string
		value, least int
	}{
		{"states", s.States, 2}, {"node-features", s.NodeFeatures, 1}, {"edge-features", s.EdgeFeatures, 1}, {"samples", s.Samples, 1},
		{"instances", s.Instances, 1}, {"sweeps", s.Sweeps, 1}, {"threads", f.threads, 1},
	} {
		if o.value < o.least {
			return usagef("--%s %d: want at least %d", o.name, o.value, o.least)
		}
	}
	if !(s.WeightScale > 0) || math.IsInf(s.WeightScale, 0) {
		return usagef("--weight-scale %v: want a finite positive number", s.WeightScale)
	}
	k := float64(s.States)
	if weights := k * (float64(s.NodeFeatures) + k*float64(s.EdgeFeatures)); weights > mostGeneratedWeights {
		return usagef("--states %d, --node-features %d and --edge-features %d make %.3g weights, at most %d are supported", s.States, s.NodeFeatures, s.EdgeFeatures, weights, mostGeneratedWeights)
	}
	nodes := max(float64(s.Graph.Nodes), float64(s.Graph.Rows)*float64(s.Graph.Cols))
	if numbers := nodes * float64(s.NodeFeatures) * float64(s.Instances); numbers > mostGeneratedNumbers {
		return usagef("--graph %s, --node-features %d and --instances %d make %.3g features, at most %d are supported", f.graph, s.NodeFeatures, s.Instances, numbers, mostGeneratedNumbers)
	}
	return nil
}

func (a *app) generate(f *generateFlags, args []string) error {
	if f.out == "" || len(args) > 0 {
		return usagef("generate: want blockbp generate -o DIR --graph KIND:SIZE")
	}
	s := &f.spec
	var err error
	if s.Graph, err = parseGraph(f.graph); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	if err := checkOutput(f.out); err != nil {
		return err
	}
	generated, err := synthetic.Generate(*s, f.threads)
	if err != nil {
		return usagef("generate: %v", err)
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	run, err := createOutput(f.out)
	if err != nil {
		return err
	}
	for i, in := range generated.Instances {
		arrays := &dataset.Arrays{
			Edges:        dataset.EdgesOf(in.Graph),
			NodeFeatures: &dataset.Matrix{Columns: s.NodeFeatures, Data: generated.NodeFeatures[i]},
			EdgeFeatures: &dataset.Matrix{Columns: s.EdgeFeatures, Data: generated.EdgeFeatures[i]},
			Labels:       in.Samples(), GridShape: [2]int{in.Rows, in.Cols}, States: []int32{int32(s.States)},
		}
		if err := dataset.WriteNPZ(run.Path(in.Name+".npz"), arrays); err != nil {
			return err
		}
	}
	if err := writeTruth(run, f.graph, generated); err != nil {
		return err
	}
	first := generated.Instances[0]
	if f.json {
		return a.printJSON(struct {
			Out       string `json:"out"`
			Instances int    `json:"instances"`
			Nodes     int    `json:"nodes"`
			Edges     int    `json:"edges"`
			Samples   int    `json:"samples"`
			Weights   int    `json:"weights"`
			Seed      uint64 `json:"seed"`
		}{f.out, s.Instances, first.Graph.NumNodes(), first.Graph.NumEdges(), s.Samples, generated.Truth.Layout.Size, s.Seed})
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s with %d nodes, %d edges and %s each; true weights in %s\n",
		f.out, counted(s.Instances, "instance"), first.Graph.NumNodes(), first.Graph.NumEdges(), counted(s.Samples, "sample"), filepath.Join(f.out, truthFile))
	return err
}

// truthFile holds the weights that generated data were drawn from.
const truthFile = "truth.safetensors"

// syntheticOrigin is what the true model says of the data drawn from it: the
// options of generate.
type syntheticOrigin struct {
	Graph        string  `json:"graph"`
	States       int     `json:"states"`
	NodeFeatures int     `json:"node_features"`
	EdgeFeatures int     `json:"edge_features"`
	Samples      int     `json:"samples"`
	Instances    int     `json:"instances"`
	WeightScale  float64 `json:"weight_scale"`
	Sweeps       int     `json:"sweeps"`
	Seed         uint64  `json:"seed"`
}

func writeTruth(run *runfolder.Run, graph string, g *synthetic.Generated) error {
	s := g.Spec
	origin := jsonText(syntheticOrigin{graph, s.States, s.NodeFeatures, s.EdgeFeatures, s.Samples, s.Instances, s.WeightScale, s.Sweeps, s.Seed})
	recipe := dataset.Recipe{Kind: dataset.KindNPZ, NodeForm: dataset.FormDense, EdgeForm: dataset.FormDense}
	if err := crf.Save(run.Path(truthFile), g.Truth, map[string]string{metaSynthetic: origin, dataset.RecipeKey: recipe.String()}); err != nil {
		return err
	}
	return run.WriteJSON("dataset.json", map[string]any{"states": g.Truth.Schema.NodeTypes[0].States})
}
