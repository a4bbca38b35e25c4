package bp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// legal returns the value of a call that may not fail here.
func legal[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// randomCards draws a number of states in [lo, hi] for each of n nodes.
func randomCards(rng *rand.Rand, n, lo, hi int) []int32 {
	card := make([]int32, n)
	for s := range card {
		card[s] = int32(lo + rng.IntN(hi-lo+1))
	}
	return card
}

// randomPartition cuts g into blocks of random nodes, each with at least one.
func randomPartition(rng *rand.Rand, g *graph.Graph, blocks int) *partition.Partition {
	of := make([]int32, g.NumNodes())
	for i, s := range rng.Perm(len(of)) {
		of[s] = int32(rng.IntN(blocks))
		if i < blocks {
			of[s] = int32(i)
		}
	}
	return legal(partition.FromAssignment(g, of, blocks))
}

// inference is a network with explicit tables, cut into blocks.
type inference struct {
	network *mrf.Pairwise
	net     *Net
	state   *State
	part    *partition.Partition
	space   Workspace
	// share gives edges with equal tables one table, as binned features do.
	share bool
	// logForm keeps every table as logarithms, whatever its range.
	logForm bool
	damped  bool // some sweep was
	outward bool // visits of converge are as the paper prints them
}

// newInference prepares inference on the whole network as one block.
func newInference(t oracle.TB, p *mrf.Pairwise, c *counting.Numbers) *inference {
	t.Helper()
	return newBlockInference(t, p, c, nil, partition.Whole(p.Graph))
}

// newBlockInference prepares inference with some nodes observed (nil: none); of
// part, only what touches the others is used.
func newBlockInference(
	t oracle.TB, p *mrf.Pairwise, c *counting.Numbers, observed []int32, part *partition.Partition,
) *inference {
	t.Helper()
	net, err := NewNet(p.Graph, p.Card, c, observed)
	oracle.OK(t, err)
	if observed != nil {
		hidden := make([]bool, len(observed))
		for s, y := range observed {
			hidden[s] = y < 0
		}
		part = part.Restrict(hidden)
	}
	return &inference{network: p, net: net, state: NewState(net), part: part}
}

// load grounds and prepares block b.
func (r *inference) load(b int) (*partition.Block, error) {
	block, pot, p := &r.part.Blocks[b], &r.space.Potentials, r.network
	pot.Node, pot.NodeAt = pot.Node[:0], append(pot.NodeAt[:0], 0)
	for _, s := range block.Nodes {
		pot.Node = append(pot.Node, p.Node[p.NodeAt[s]:p.NodeAt[s+1]]...)
		pot.NodeAt = append(pot.NodeAt, len(pot.Node))
	}
	pot.Table, pot.EdgeAt, pot.TableID, pot.NumTables = pot.Table[:0], pot.EdgeAt[:0], pot.TableID[:0], 0
	for q, e := range block.Edges {
		table := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]]
		at, id := len(pot.Table), pot.NumTables
		if r.share {
			for earlier := range q {
				if slices.Equal(pot.Table[pot.EdgeAt[earlier]:][:r.net.pairStates(block.Edges[earlier])], table) {
					at, id = pot.EdgeAt[earlier], int(pot.TableID[earlier])
					break
				}
			}
		}
		if id == pot.NumTables {
			pot.Table = append(pot.Table, table...)
			pot.NumTables++
		}
		pot.EdgeAt, pot.TableID = append(pot.EdgeAt, at), append(pot.TableID, int32(id))
	}
	if err := r.space.Prepare(r.net, block); err != nil {
		return nil, err
	}
	if r.logForm {
		for q, e := range block.Edges {
			r.space.toLogarithms(int32(q), r.net.pairStates(e))
		}
	}
	return block, nil
}

// toLogarithms changes the form of the table of an edge, of n entries, that is multiplicative.
func (w *Workspace) toLogarithms(q int32, n int) {
	f := w.form(q)
	if f.log {
		return
	}
	for i, x := range w.values(q, n) {
		w.arena[w.at[q]+i] = math.Log(x)
	}
	for other, at := range w.at {
		if at == w.at[q] {
			w.setForm(other, len(w.at), form{shift: f.shift, log: true})
		}
	}
}

// iterate sweeps over block b until limits are met.
func (r *inference) iterate(b int, limits Limits) (Outcome, error) {
	block, err := r.load(b)
	if err != nil {
		return Outcome{}, err
	}
	o, err := r.space.Iterate(context.Background(), r.net, r.state, block, limits)
	r.damped = r.damped || o.Damping > 0
	return o, err
}

// sweep makes one undamped sweep over every block in the order given.
func (r *inference) sweep(t oracle.TB, order []int) (residual float64) {
	t.Helper()
	for _, b := range order {
		o, err := r.iterate(b, Limits{MaxSweeps: 1})
		if err != nil {
			t.Fatalf("block %d: %v", b, err)
		}
		residual = max(residual, o.Residual)
	}
	return residual
}

// converge visits the blocks in the order given, each with at most sweeps sweeps, until no first sweep changes a
// message by more than tolerance. It fails where that takes more than a thousand rounds.
func (r *inference) converge(t oracle.TB, order []int, sweeps int, tolerance float64) {
	t.Helper()
	damping, best, bestAt := 0.0, math.Inf(1), 0
	for round := range 1000 {
		largest := 0.0
		for _, b := range order {
			o, err := r.iterate(b, Limits{Tolerance: tolerance, MaxSweeps: sweeps, Damping: damping, Outward: r.outward})
			if err != nil {
				t.Fatalf("round %d, block %d: %v", round, b, err)
			}
			largest = max(largest, o.FirstResidual)
		}
		if largest <= tolerance*(1-damping) {
			return
		}
		if largest < best {
			best, bestAt = largest, round
		} else if round-bestAt > 20 {
			damping, best, bestAt = MoreDamping(damping), largest, round
		}
	}
	t.Fatalf("no fixed point after 1000 rounds over blocks %v, best residual %v", order, best)
}

// blocks returns 0 … D−1.
func (r *inference) blocks() []int {
	order := make([]int, len(r.part.Blocks))
	for b := range order {
		order[b] = b
	}
	return order
}

// solve converges the blocks in order to 1e-13 and checks the invariants.
func (r *inference) solve(t oracle.TB) {
	t.Helper()
	r.converge(t, r.blocks(), 100, 1e-13)
	r.check(t, 1e-9)
}

// values are those of the whole network.
func (r *inference) values(t oracle.TB) Values {
	t.Helper()
	whole := newBlockInference(t, r.network, r.net.Counting, r.net.Observed, partition.Whole(r.network.Graph))
	whole.share, whole.logForm = r.share, r.logForm
	block, err := whole.load(0)
	oracle.OK(t, err)
	v, err := whole.space.Evaluate(r.net, r.state, block, true)
	oracle.OK(t, err)
	return v
}

// nodes returns the belief of every node.
func (r *inference) nodes() [][]float64 {
	out := make([][]float64, len(r.net.Card))
	for s, k := range r.net.Card {
		out[s] = make([]float64, k)
		r.net.Belief(out[s], r.state, int32(s))
	}
	return out
}

// edges returns the belief of every edge; nil for edges whose ends are both observed.
func (r *inference) edges(t oracle.TB) [][]float64 {
	t.Helper()
	out := make([][]float64, r.network.Graph.NumEdges())
	for b := range r.part.Blocks {
		block, err := r.load(b)
		oracle.OK(t, err)
		for q, e := range block.Edges {
			out[e] = make([]float64, r.net.pairStates(e))
			oracle.Must(r.space.EdgeBelief(out[e], r.net, r.state, block, q))(t)
		}
	}
	return out
}

// check holds after every visit of every block: messages and beliefs are numbers or −Inf, the largest entry of an
// undamped message is 0, beliefs are distributions; and beliefs agree within tolerance (+Inf: they need not).
func (r *inference) check(t oracle.TB, tolerance float64) {
	t.Helper()
	u, v := r.network.Graph.Ends()
	for d := range int32(2 * len(u)) {
		m := r.net.message(r.state, d, r.network.Graph.Target(d))
		if m == nil {
			continue
		}
		if largest := slices.Max(m); math.IsNaN(largest) || largest > 0 || largest < 0 && !r.damped {
			t.Fatalf("directed edge %d: message %v, want the largest entry to be 0", d, m)
		}
	}
	nodes := r.nodes()
	for s, b := range nodes {
		checkDistribution(t, "node", s, b)
	}
	for e, b := range r.edges(t) {
		if b == nil {
			continue
		}
		checkDistribution(t, "edge", e, b)
		rows, columns := marginalsOf(b, len(nodes[v[e]]))
		for i, x := range nodes[u[e]] {
			oracle.MustNear(t, rows[i], x, tolerance, "edge %d: belief of node %d in state %d", e, u[e], i)
		}
		for j, x := range nodes[v[e]] {
			oracle.MustNear(t, columns[j], x, tolerance, "edge %d: belief of node %d in state %d", e, v[e], j)
		}
	}
}

func checkDistribution(t oracle.TB, what string, i int, b []float64) {
	t.Helper()
	total := 0.0
	for _, x := range b {
		if !(x >= 0) {
			t.Fatalf("%s %d: belief %v", what, i, b)
		}
		total += x
	}
	oracle.MustNear(t, total, 1, 1e-11, "%s %d: sum of the belief %v", what, i, b)
}

// marginalsOf sums the rows and columns of a joint table.
func marginalsOf(pair []float64, k int) (rows, columns []float64) {
	rows, columns = make([]float64, len(pair)/k), make([]float64, k)
	for i, x := range pair {
		rows[i/k] += x
		columns[i%k] += x
	}
	return rows, columns
}

// near reports whether a and b are equal to within a part of their size, or equally infinite.
func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// compareTables fails where two sets of marginals differ by more than tolerance.
func compareTables(t oracle.TB, what string, got, want [][]float64, tolerance float64) {
	t.Helper()
	for i := range want {
		for x := range got[i] {
			oracle.MustNear(t, got[i][x], want[i][x], tolerance, "%s %d: entry %d of %v", what, i, x, got[i])
		}
	}
}

func edgeCover(g *graph.Graph) *counting.Numbers {
	return legal(legal(counting.Parse(context.Background(), "cover", 0)).Of(g))
}

func constants(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func stateNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	return names
}
