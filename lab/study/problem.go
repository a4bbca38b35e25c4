package study

import (
	"cmp"
	"context"
	"fmt"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// Kinds of synthetic networks.
const (
	Grid = "grid" // Size × Size nodes, 4 neighbours
	BA   = "ba"   // Barabási–Albert, Size nodes
)

// baAttached is how many edges each new node of a Barabási–Albert graph brings.
const baAttached = 2

// Problem describes one synthetic learning problem of the paper (docs/explanation/equations.md, section 9). What the
// paper leaves open is a field; zero fields take the choice of the study, which lab/README.md gives reasons for.
type Problem struct {
	Kind string `json:"kind"`
	Size int    `json:"size"`
	Seed uint64 `json:"seed"`
	// WeightScale is the standard deviation of the true weights; 1.
	WeightScale float64 `json:"weight_scale"`
	// L2 is the weight of the regulariser in L, which is a sum over variables; 1.
	L2 float64 `json:"l2"`
	// L2PerVariable, if set, makes the weight L2PerVariable times the number of
	// variables instead, as in the code of the paper's authors.
	L2PerVariable float64 `json:"l2_per_variable"`
	// Counting is "convex", by default, or "trw".
	Counting string `json:"counting"`
	// States of every variable; 8.
	States int `json:"states,omitempty"`
	// Features is what kind of features there are: see Plain.
	Features string `json:"features,omitempty"`
	// Untied gives every node and edge weights of its own and no features.
	Untied bool `json:"untied,omitempty"`
}

// withDefaults resolves zero fields.
func (p Problem) withDefaults() Problem {
	p.WeightScale, p.L2, p.Counting = cmp.Or(p.WeightScale, 1), cmp.Or(p.L2, 1), cmp.Or(p.Counting, "convex")
	return p
}

// Nodes returns the number of variables.
func (p Problem) Nodes() int {
	if p.Kind == Grid {
		return p.Size * p.Size
	}
	return p.Size
}

// Name is how tables and figures call the network.
func (p Problem) Name() string {
	if p.Kind == Grid {
		return fmt.Sprintf("grid %d×%d", p.Size, p.Size)
	}
	return fmt.Sprintf("BA %d", p.Size)
}

// bench is a problem that was built, with what runs on it need.
type bench struct {
	spec    Problem
	problem learn.Problem // its Model has zero weights: where every run starts
	in      *crf.Instance
	nodes   int
	// threads is how many runs may be made at the same time where time does not count.
	threads int
}

// build draws the problem.
func (p Problem) build(threads int) (*bench, error) {
	p = p.withDefaults()
	spec := synthetic.Synthetic{Seed: p.Seed}
	var err error
	switch p.Kind {
	case Grid:
		spec = synthetic.Grid(p.Size, p.Size, p.Seed)
	case BA:
		spec.Graph, err = gen.BarabasiAlbert(p.Size, baAttached, spec.Source(synthetic.StreamGraph, 0))
	default:
		err = fmt.Errorf("study: kind of network %q: want %q or %q", p.Kind, Grid, BA)
	}
	if err != nil {
		return nil, err
	}
	spec.WeightScale, spec.States = p.WeightScale, p.States
	generated := synthetic.Generate(spec, threads)
	model, err := crf.NewModel(generated.Truth.Schema)
	if err != nil {
		return nil, err
	}
	in := generated.Instances[0]
	switch {
	case p.Untied:
		model, in, err = p.untied(generated)
	case p.Features != Plain:
		in, err = p.conditioned(generated)
	}
	if err != nil {
		return nil, err
	}
	b := &bench{spec: p, in: in, nodes: in.Graph.NumNodes(), threads: threads}
	b.problem = learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: p.L2}
	if p.L2PerVariable > 0 {
		b.problem.L2 = p.L2PerVariable * float64(b.nodes)
	}
	if b.problem.Counting, err = p.counting(); err != nil {
		return nil, err
	}
	return b, nil
}

// counting returns the counting numbers by name; nil is the default of learn.
func (p Problem) counting() (counting.Func, error) {
	switch p.Counting {
	case "convex":
		return nil, nil
	case "trw":
		return func(g *graph.Graph) (*counting.Numbers, error) {
			return counting.SampledTreeReweighted(g, p.Seed)
		}, nil
	}
	return nil, fmt.Errorf("study: counting numbers %q: want \"convex\" or \"trw\"", p.Counting)
}

// blocks cuts the network as the paper does: a grid into tiles, a BA graph into
// ranges of node numbers. Twenty blocks of a grid are 4 rows and 5 columns.
func (b *bench) blocks(n int) (*partition.Partition, error) {
	if b.spec.Kind == Grid {
		rows, cols := tileShape(n)
		return tiles(b.in, rows, cols)
	}
	return partition.FromAssignment(b.in.Graph, partition.Ranges(b.nodes, n), n)
}

// cut cuts the network for learning by BBPL; for other methods there is nothing to cut.
func (b *bench) cut(m Method, s *learn.Settings) (part *partition.Partition, err error) {
	if m.Method == learn.BBPL {
		part, err = b.blocks(m.Blocks)
		s.Assign = func(*crf.Instance) ([]int32, int, error) { return part.Of, len(part.Blocks), nil }
	}
	return part, err
}

// tiles cuts a grid into rows × cols tiles.
func tiles(in *crf.Instance, rows, cols int) (*partition.Partition, error) {
	return partition.FromAssignment(in.Graph, partition.Tiles(in.Rows, in.Cols, rows, cols), rows*cols)
}

// tileShape returns rows and columns whose product is n, as nearly square as n allows.
func tileShape(n int) (rows, cols int) {
	for rows = 1; (rows+1)*(rows+1) <= n; rows++ {
	}
	for n%rows != 0 {
		rows--
	}
	return rows, n / rows
}

// optimumTolerance is the norm of ∇L that θ* is solved to. Rounding leaves about 1e-13 of the norm of
// the data's statistics, which is more than this on networks of tens of thousands of nodes; learn.Fit
// then stops at that, and its gradient norm says so.
const optimumTolerance = 1e-10

// solve finds θ* of a problem.
func solve(ctx context.Context, p learn.Problem) (*learn.Result, error) {
	r, err := fit(ctx, p, learn.Settings{Method: learn.InnerDual, GradientTolerance: optimumTolerance})
	if err != nil {
		return nil, fmt.Errorf("solving for θ*: %w", err)
	}
	if r.Status != learn.Converged {
		return nil, fmt.Errorf("θ* was not reached: %s", r.Reason)
	}
	return r, nil
}
