package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/dataset/uai"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/infer/exact"
	"github.com/blockbp/blockbp/record"
)

// infoFlags are the options of info.
type infoFlags struct {
	data      dataFlags
	partition partitionFlags
	weights   int
	json      bool
}

func (a *app) infoCommand() *cobra.Command {
	var f infoFlags
	cmd := &cobra.Command{
		Use:   "info MODEL|RUN|DATA|NETWORK [flags]",
		Short: "Describe a model, a run, a data set or a UAI network",
		Long: `Describes what is behind a path. With --blocks, the partition of the first
network of a data set: cut edges and balance.`,
		Example: "  blockbp info run\n  blockbp info data/ --blocks 4x5\n  blockbp info grid.uai",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.info(&f, args) },
	}
	f.data.register(cmd.Flags())
	f.partition.register(cmd.Flags())
	cmd.Flags().IntVar(&f.weights, "weights", 20, "models: how many of the largest weights to list")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) info(f *infoFlags, args []string) error {
	if len(args) == 0 {
		return usagef("info: name what to describe: blockbp info PATH")
	}
	if f.weights < 0 {
		return usagef("--weights %d: want a number that is not negative", f.weights)
	}
	switch path := args[0]; {
	case filepath.Ext(path) == ".uai":
		return a.infoNetwork(f, path)
	case filepath.Ext(path) == ".safetensors" || isRunFolder(path):
		return a.infoModel(f, path)
	}
	return a.infoData(f, args)
}

// fact is one line of info; value is printed, and kept as it is in JSON.
type fact struct {
	name  string
	value any
}

func (a *app) printFacts(asJSON bool, facts []fact) error {
	if asJSON {
		object := map[string]any{}
		for _, f := range facts {
			object[strings.ReplaceAll(f.name, " ", "_")] = f.value
		}
		return a.printJSON(object)
	}
	t := record.Table{Headers: []string{"property", "value"}}
	for _, f := range facts {
		t.Rows = append(t.Rows, []string{f.name, fmt.Sprint(f.value)})
	}
	_, err := fmt.Fprintln(a.stdout, t.Text())
	return err
}

func (a *app) infoNetwork(f *infoFlags, path string) error {
	n, err := uai.ReadFile(path)
	if err != nil {
		return err
	}
	most, arity := 0, 0
	for _, k := range n.Card {
		most = max(most, k)
	}
	for _, factor := range n.Factors {
		arity = max(arity, len(factor.Scope))
	}
	facts := []fact{{"variables", len(n.Card)}, {"most states", most}, {"factors", len(n.Factors)}, {"largest arity", arity}}
	if p, _, err := n.Pairwise(); err == nil {
		facts = append(facts, fact{"edges", p.Graph.NumEdges()}, fact{"is a forest", p.Graph.IsForest()})
	}
	plan, err := exact.NewPlan(n)
	if err != nil {
		return dataf("%s: %v", path, err)
	}
	forecast := mebibytes(plan.Bytes)
	if plan.LowerBound {
		forecast = "more than " + forecast
	}
	return a.printFacts(f.json, append(facts, fact{"induced width", plan.Width}, fact{"memory for exact inference", forecast}))
}

func (a *app) infoModel(f *infoFlags, path string) error {
	m, err := loadModel(path)
	if err != nil {
		return err
	}
	facts := []fact{{"model", m.path}, {"weights", m.model.Layout.Size}}
	for _, t := range m.model.Schema.NodeTypes {
		facts = append(facts, fact{"node type " + t.Name, fmt.Sprintf("%d states (%s), %d features%s", len(t.States), strings.Join(t.States, ", "), t.Features, copiesOf(t.Copies))})
	}
	for _, t := range m.model.Schema.EdgeTypes {
		ends := m.model.Schema.NodeTypes[t.U].Name + " – " + m.model.Schema.NodeTypes[t.V].Name
		facts = append(facts, fact{"edge type " + t.Name, fmt.Sprintf("%s, %d features%s", ends, t.Features, copiesOf(t.Copies))})
	}
	for _, key := range []string{metaCounting, metaSeed, metaEdges, metaTraining, dataset.RecipeKey, "synthetic"} {
		if value, ok := m.meta[key]; ok {
			facts = append(facts, fact{key, value})
		}
	}
	facts = append(facts, fact{"norm of weights", fmt.Sprintf("%.6g", norm(m.model.Weights))}, fact{"sha256 of weights", hashOf(m.model.Weights)})
	if f.json {
		largest := map[string]float64{}
		for _, i := range largestWeights(m.model, f.weights) {
			largest[m.model.WeightName(i)] = m.model.Weights[i]
		}
		return a.printFacts(true, append(facts, fact{"largest weights", largest}))
	}
	if err := a.printFacts(false, facts); err != nil {
		return err
	}
	t := record.Table{Headers: []string{"largest weights", "value"}}
	for _, i := range largestWeights(m.model, f.weights) {
		t.Rows = append(t.Rows, []string{m.model.WeightName(i), fmt.Sprintf("%.6g", m.model.Weights[i])})
	}
	_, err = fmt.Fprintln(a.stdout, t.Text())
	return err
}

func copiesOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", untied: weights for each of %d", n)
}

func norm(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v * v
	}
	return math.Sqrt(total)
}

func (a *app) infoData(f *infoFlags, args []string) error {
	set, err := a.openData(args, f.data.options(nil))
	if err != nil {
		return err
	}
	facts := []fact{{"kind", set.Recipe.Kind}, {"instances", len(set.Instances)}}
	nodes, edges, samples, missing := 0, 0, 0, 0
	graphs := map[*graph.Graph]bool{}
	for _, in := range set.Instances {
		nodes += in.Graph.NumNodes()
		edges += in.Graph.NumEdges()
		graphs[in.Graph] = true
		for _, labels := range in.Samples() {
			samples++
			for _, y := range labels {
				if y == crf.Unobserved {
					missing++
				}
			}
		}
	}
	facts = append(facts, fact{"distinct graphs", len(graphs)}, fact{"nodes", nodes}, fact{"edges", edges}, fact{"samples", samples}, fact{"unobserved labels", missing})
	for t, nt := range set.Schema.NodeTypes {
		facts = append(facts, fact{"node type " + nt.Name, fmt.Sprintf("%d states, %d features%s", set.Schema.NodeStates(t), nt.Features, copiesOf(nt.Copies))})
	}
	for _, et := range set.Schema.EdgeTypes {
		facts = append(facts, fact{"edge type " + et.Name, fmt.Sprintf("%d features%s", et.Features, copiesOf(et.Copies))})
	}
	quality, err := f.quality(set.Instances[0])
	if err != nil {
		return err
	}
	facts = append(facts,
		fact{"blocks", strconv.Itoa(quality.Blocks)},
		fact{"edges cut", fmt.Sprintf("%d (%.2f %%)", quality.CutEdges, 100*quality.CutFraction)},
		fact{"balance", fmt.Sprintf("%.3f (largest block's edges over the mean)", quality.Balance)},
	)
	return a.printFacts(f.json, facts)
}

// quality measures the partition that training would use for an instance.
func (f *infoFlags) quality(in *crf.Instance) (partition.Quality, error) {
	cut, err := f.partition.resolve()
	if err != nil {
		return partition.Quality{}, err
	}
	p, err := cut.partitioner(1, in.Graph.NumNodes())(in)
	if err != nil {
		return partition.Quality{}, err
	}
	return p.Quality(), nil
}
