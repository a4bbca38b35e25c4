package bp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestBlocksReachTheWholesFixedPoint: sweeping block by block, in any order and with any number of sweeps per
// visit, with messages out of the block or not, and with nodes observed, ends where sweeps over the whole end.
func TestBlocksReachTheWholesFixedPoint(t *testing.T) {
	for name, g := range loopyGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				rng := source(300 + seed)
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 3), 1, 0)
				observed := [][]int32{nil, observe(seed, p.Card)}[seed%2]
				for _, c := range someNumbers(rng, g, seed) {
					for _, blocks := range []int{2, 3} {
						part := randomPartition(rng, g, blocks)
						whole := newBlockInference(t, p, c, observed, part)
						whole.solve(t)
						for _, outward := range []bool{false, true} {
							r := newBlockInference(t, p, c, observed, part)
							r.outward = outward
							r.converge(t, rng.Perm(blocks), 1+rng.IntN(30), 1e-13)
							r.check(t, 1e-9)
							compareRuns(t, fmt.Sprintf("seed %d, %s, %d blocks, outward %v", seed, c.Name, blocks, outward), r, whole, 1e-9)
						}
					}
				}
			}
		})
	}
}

// TestSweepTouchesItsBlockOnly: beliefs of other blocks and messages into them keep their bits.
func TestSweepTouchesItsBlockOnly(t *testing.T) {
	g := legal(graph.Grid(4, 5, graph.GridOptions{}))
	rng := source(1)
	p := oracle.RandomPairwise(rng, g, randomCards(rng, 20, 2, 4), 1, 0)
	r := newBlockInference(t, p, counting.Convex(g), nil, randomPartition(rng, g, 4))
	for round := range 2 {
		for b := range r.part.Blocks {
			before := State{slices.Clone(r.state.LogMessage), slices.Clone(r.state.LogBelief)}
			r.sweep(t, []int{b})
			changed := 0
			for s := range int32(20) {
				inside := r.part.Of[s] == int32(b)
				same := slices.Equal(r.net.belief(r.state, s), r.net.belief(&before, s))
				for _, d := range g.Incoming(s) {
					same = same && slices.Equal(r.net.message(r.state, d, s), r.net.message(&before, d, s))
				}
				if !inside && !same {
					t.Fatalf("round %d: a sweep over block %d changed node %d of block %d", round, b, s, r.part.Of[s])
				}
				if !same {
					changed++
				}
			}
			if changed == 0 {
				t.Fatalf("round %d: a sweep over block %d changed nothing", round, b)
			}
		}
	}
	r.check(t, math.Inf(1))
}

// observe draws a state for each node with probability one half; at least one node is observed and one is not.
func observe(seed uint64, card []int32) []int32 {
	rng := source(seed)
	observed := make([]int32, len(card))
	for s, k := range card {
		observed[s] = -1
		if s == 0 || s > 1 && rng.IntN(2) == 0 {
			observed[s] = int32(rng.IntN(int(k)))
		}
	}
	return observed
}

// constantOf is what observed nodes, and edges between them, add to the value.
func (r *inference) constantOf(observed []int32) float64 {
	p, total := r.network, 0.0
	for s, y := range observed {
		if y >= 0 {
			total += p.Node[p.NodeAt[s]+int(y)]
		}
	}
	for e := range int32(p.Graph.NumEdges()) {
		if yu, yv := observed[p.Graph.U(e)], observed[p.Graph.V(e)]; yu >= 0 && yv >= 0 {
			total += p.Edge[p.EdgeAt[e]+int(yu*p.Card[p.Graph.V(e)]+yv)]
		}
	}
	return total
}

// TestObservedIsConditioning: on a tree the clamped value is the log Z of the
// conditioned network, and the beliefs are its marginals.
func TestObservedIsConditioning(t *testing.T) {
	for seed := range uint64(40) {
		rng := source(seed)
		g := legal(gen.Tree(2+rng.IntN(7), rng))
		p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 4), []float64{1, 1, 1e3, 3}[seed%4], 0)
		observed := observe(seed, p.Card)
		evidence := map[int]int{}
		for s, y := range observed {
			if y >= 0 {
				evidence[s] = int(y)
			}
		}
		conditioned := oracle.Must(p.Network().Condition(evidence))(t)
		want, _ := oracle.NetworkMarginals(conditioned.Network)
		for _, c := range treeCountings(g) {
			name := fmt.Sprintf("seed %d, %s", seed, c.Name)
			r := newBlockInference(t, p, c, observed, partition.Whole(g))
			r.solve(t)
			if got, z := r.values(t).FreeEnergy+r.constantOf(observed), oracle.NetworkLogZ(conditioned.Network); !near(got, z, 1e-10) {
				t.Fatalf("%s: value %.12f, log Z is %.12f", name, got, z)
			}
			compareTables(t, name, r.nodes(), conditioned.Marginals(want), 1e-10)
			// The values of a partition that was not restricted count observed nodes too.
			r.part = partition.Whole(g)
			v := legal(r.space.Evaluate(r.net, r.state, legal(r.load(0)), true))
			if got, z := v.FreeEnergy, oracle.NetworkLogZ(conditioned.Network); !near(got, z, 1e-10) {
				t.Fatalf("%s: value of everything %.12f, log Z is %.12f", name, got, z)
			}
		}
	}
}

// TestObservedIsEvidence: on loopy graphs, with any counting numbers, clamping a node is the same as forbidding its
// other states; and a clamped net that is cut into blocks, some of them left empty, gives the same again.
func TestObservedIsEvidence(t *testing.T) {
	for name, g := range loopyGraphs() {
		for seed := range uint64(5) {
			rng := source(400 + seed)
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 3), 1, 0)
			observed := observe(seed, p.Card)
			forbidding := *p
			forbidding.Node = slices.Clone(p.Node)
			for s, y := range observed {
				for i := range p.Card[s] {
					if y >= 0 && i != y {
						forbidding.Node[p.NodeAt[s]+int(i)] = math.Inf(-1)
					}
				}
			}
			for _, c := range []*counting.Numbers{counting.Convex(g), legal(counting.SampledTreeReweighted(g, seed)), dualCounting(rng, g)} {
				where := fmt.Sprintf("%s, seed %d, %s", name, seed, c.Name)
				want := newInference(t, &forbidding, c)
				want.solve(t)
				for _, part := range []*partition.Partition{partition.Whole(g), randomPartition(rng, g, 3)} {
					r := newBlockInference(t, p, c, observed, part)
					r.solve(t)
					compareTables(t, where, r.nodes(), want.nodes(), 1e-9)
					got, value := r.values(t), want.values(t)
					if constant := r.constantOf(observed); !near(got.FreeEnergy+constant, value.FreeEnergy, 1e-10) || !near(got.Dual+constant, value.Dual, 1e-10) {
						t.Fatalf("%s: values %+v plus %v, want %+v", where, got, constant, value)
					}
				}
			}
		}
	}
}

// TestAllObserved: nothing is left to infer, and nothing breaks.
func TestAllObserved(t *testing.T) {
	g := legal(gen.Complete(3))
	p := oracle.RandomPairwise(source(1), g, []int32{2, 3, 2}, 1, 0)
	r := newBlockInference(t, p, counting.Convex(g), []int32{1, 2, 0}, partition.Whole(g))
	r.solve(t)
	compareTables(t, "node", r.nodes(), [][]float64{{0, 1}, {0, 0, 1}, {1, 0}}, 0)
	if v := r.values(t); v != (Values{}) {
		t.Errorf("values %+v of a block without nodes and edges", v)
	}
}

// TestIterateStops: the limits do what they say.
func TestIterateStops(t *testing.T) {
	g := legal(graph.Grid(3, 3, graph.GridOptions{}))
	p := oracle.RandomPairwise(source(2), g, slices.Repeat([]int32{2}, 9), 1, 0)
	r := newInference(t, p, counting.Convex(g))
	o, err := r.iterate(0, Limits{Tolerance: 1e-9})
	if err != nil || o != (Outcome{}) {
		t.Errorf("no sweeps: %+v, %v", o, err)
	}
	o, err = r.iterate(0, Limits{Tolerance: 1e-9, MaxSweeps: 3})
	if err != nil || o.Sweeps != 3 || o.Converged || o.Residual > o.FirstResidual || o.Residual <= 1e-9 {
		t.Errorf("three sweeps: %+v, %v", o, err)
	}
	o, err = r.iterate(0, Limits{Tolerance: 1e-9, MaxSweeps: 1000})
	if err != nil || !o.Converged || o.Residual > 1e-9 || o.Damping != 0 {
		t.Errorf("to convergence: %+v, %v", o, err)
	}
	if o, err = r.iterate(0, Limits{Tolerance: 1e-9, MaxSweeps: 1000}); err != nil || o.Sweeps != 1 || !o.Converged {
		t.Errorf("again: %+v, %v", o, err)
	}
	// A damped message moves a part of its way only, which is no convergence.
	damped := newInference(t, p, counting.Convex(g))
	o, err = damped.iterate(0, Limits{Tolerance: 1e-6, MaxSweeps: 10000, Damping: 0.95})
	if residual := damped.sweep(t, []int{0}); err != nil || !o.Converged || o.Damping != 0.95 || residual > 2e-6 {
		t.Errorf("damped: %+v, %v, and then an undamped sweep changes messages by %g", o, err, residual)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	block := oracle.Must(r.load(0))(t)
	if o, err := r.space.Iterate(ctx, r.net, r.state, block, Limits{MaxSweeps: 10}); err != nil || o.Sweeps != 0 || o.Converged {
		t.Errorf("cancelled: %+v, %v", o, err)
	}
	r.check(t, 1e-8)
}

// TestDampingRescues: a frustrated network on which ordinary belief propagation does not settle by itself. Iterate must
// damp, and may claim convergence only at a fixed point of the undamped updates.
func TestDampingRescues(t *testing.T) {
	g := legal(gen.Complete(6))
	rescued := 0
	for seed := range uint64(30) {
		p := oracle.RandomPairwise(source(seed), g, slices.Repeat([]int32{2}, 6), 0.1, 0)
		for e := range g.NumEdges() {
			copy(p.Edge[p.EdgeAt[e]:], []float64{0, 1.6, 1.6, 0}) // every edge wants its ends to differ
		}
		r := newInference(t, p, counting.Bethe(g))
		undamped := newInference(t, p, counting.Bethe(g))
		settled := false
		for range 300 {
			settled = settled || undamped.sweep(t, undamped.blocks()) < 1e-9
		}
		o := oracle.Must(r.iterate(0, Limits{Tolerance: 1e-9, MaxSweeps: 5000}))(t)
		if !o.Converged {
			continue
		}
		r.check(t, 1e-6)
		if residual := r.sweep(t, r.blocks()); residual > 3e-9 {
			t.Errorf("seed %d: %+v, and an undamped sweep changes messages by %g", seed, o, residual)
		}
		if !settled && o.Damping > 0 {
			rescued++
		}
	}
	if rescued == 0 {
		t.Error("damping was never needed: the test tests nothing")
	}
}

// TestEmptyBlocks: graphs without edges, and of one node.
func TestEmptyBlocks(t *testing.T) {
	for _, n := range []int{1, 4} {
		g := legal(graph.FromEdges(n, nil, nil))
		p := oracle.RandomPairwise(source(1), g, randomCards(source(2), n, 1, 3), 1, 0)
		for _, c := range []*counting.Numbers{counting.Convex(g), counting.Bethe(g), legal(counting.SampledTreeReweighted(g,
			1))} {
			compareWithOracle(t, c.Name, p, c)
		}
	}
}
