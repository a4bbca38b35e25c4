package bp

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// maxRange is the largest spread, in nats, of an edge table that is kept in multiplicative form: exp(−600) is well
// above tooSmall, so that a sum in which the largest weight, 1, meets the smallest entry is still trusted.
const maxRange = 600

// tooSmall is the sum below which a multiplicative result is not trusted: terms
// that underflowed could matter. It is then done again with logarithms.
const tooSmall = simd.TooSmall

// Workspace is the scratch for message passing on one block at a time. Use one
// per goroutine; it grows to the largest block and is then free of allocation.
type Workspace struct {
	// Potentials are ground by the caller before Prepare, which may overwrite the
	// edge tables with exponentials: ground them anew for each Prepare.
	Potentials ground.Potentials
	// Threads is how many goroutines sweeps over a large block may take, 0: 1. Results do not depend on it.
	Threads int

	arena    []float64 // what the tables are made of: Potentials.Table, or expansion
	at       []int     // [block edges] where in the arena each edge's table begins
	forms    []form    // [block edges], or empty if all are zero
	expanded []int32   // [NumTables*classes] first edge with that table, or below 0
	sharedAt []int     // at, where it is not Potentials.EdgeAt
	// expansion holds one exponentiated table per distinct pair of a shared potential table and a counting number. Where
	// tables are not shared it is scratch of prepareOwn.
	expansion     []float64
	batch         batch      // nodes that are updated together
	together      simd.Edges // edges whose beliefs are computed in one call
	logZ, product []float64  // of these
	nodeLogs      []float64  // beliefs of nodes that are computed together
	// wide: some table may have more than maxRange between two entries, or a forbidden one.
	wide      bool
	forecast  forecast
	residuals []float64 // since momentum began
	wavefront wavefront
	last      last
	backward  bool // sweeps visit the nodes in reverse order

	free    []float64 // potentials of nodes, while sums with κ log τ are in their place
	noProx  bool      // in sweeps
	rho     []float64 // [nodes] of a sweep: ρ_s, or ρ_s + κ_s
	outward bool      // messages move out of the block, too
	// accelerated: sweeps may be over-relaxed.
	accelerated bool

	// conditional [states of the block's nodes] is what a split adds to the arguments of
	// the nodes' terms in (7), and conditionalAt [2·block edges] where in it the target
	// of directed edges 2q, 2q + 1 begins, −1 for one outside the block.
	conditional   []float64
	conditionalAt []int
	marginals     []float64 // of edges computed together
	ones          []float64
	forth         []int32 // what AddSplit sums: edges forward, ...
	numbers       []int32 // ... 0, 1, 2, ...
	places        []int   // ... and their beliefs
	beliefs       []float64
	soft          softMaxima
	consistency   consistency

	sum, weight, out []float64 // [max card]
	pair             []float64 // [most pairs of states of an edge]
	logs             []float64 // and twice as many
	second           []float64 // [max card]
	colSum           []float64 // [max card]
}

// form tells how an edge's table, divided by ρ_uv, is kept: as exp(θ/ρ − shift), or as θ/ρ − shift. The shift is 0, or
// the largest entry, if that is needed to stay in range. A band is of the exponentiated table.
type form struct {
	shift float64
	log   bool
	band  simd.Band
}

// form returns the form of the table of the q-th edge of the block.
func (w *Workspace) form(q int32) form {
	if len(w.forms) == 0 {
		return form{}
	}
	return w.forms[q]
}

// setForm notes the form of the table of the q-th of so many edges.
func (w *Workspace) setForm(q, edges int, f form) {
	if len(w.forms) == 0 {
		w.forms = numeric.Resize(w.forms, edges)
		clear(w.forms)
	}
	w.forms[q] = f
}

// NumericalError says where inference met a number it can't go on with.
type NumericalError struct {
	Node, Edge int32 // −1 where it does not apply
	Reason     string
}

// Error implements error.
func (e *NumericalError) Error() string {
	switch {
	case e.Edge >= 0:
		return fmt.Sprintf("edge %d: %s", e.Edge, e.Reason)
	case e.Node >= 0:
		return fmt.Sprintf("node %d: %s", e.Node, e.Reason)
	}
	return e.Reason
}

// Ground computes the potentials of a block of an instance and prepares them for sweeps, each table while it is in the
// nearest cache. Meanwhile it asks for what these need of the state, unless that is nil. The error is that of Prepare.
func (w *Workspace) Ground(m *crf.Model, in *crf.Instance, net *Net, st *State, block *partition.Block) error {
	if ground.SharesTables(in) {
		w.Potentials.Ground(m, in, block)
		return w.Prepare(net, block)
	}
	w.Potentials.GroundNodes(m, in, block)
	if st != nil && net.uniform > 0 {
		simd.PrefetchRows(st.LogBelief, block.Nodes, net.uniform)
	}
	if err := w.begin(net, block); err != nil {
		return err
	}
	for lo := 0; lo < len(block.Edges); {
		scale := 0.0 // of small tables a kernel of their product would leave much of a vector empty
		if n := net.pairStates(block.Edges[lo]); net.same != 0 && n > 32 && few(n) {
			scale = 1 / net.same
		}
		hi, done := w.Potentials.GroundEdges(m, in, block, lo, scale)
		if st != nil && net.uniform > 0 {
			simd.PrefetchRows(st.LogMessage, block.Edges[lo:hi], 2*net.uniform)
		}
		if !done {
			if err := w.prepareOwn(net, block, lo, hi); err != nil {
				return err
			}
		}
		lo = hi
	}
	w.arena, w.at = w.Potentials.Table, w.Potentials.EdgeAt
	return nil
}

// few says that tables of so many entries are too small to look for bands in them.
func few(entries int) bool { return entries < simd.LeastBanded*simd.LeastBanded }

// Prepare divides the ground edge tables of the block by ρ_uv and exponentiates them, once for all following sweeps.
// Potentials of −Inf are hard zeros; NaN, +Inf, or a table of zeros alone is a *NumericalError.
func (w *Workspace) Prepare(net *Net, block *partition.Block) error {
	if err := w.begin(net, block); err != nil {
		return err
	}
	if w.Potentials.NumTables != len(block.Edges) {
		return w.prepareShared(net, block)
	}
	for lo := 0; lo < len(block.Edges); {
		hi, size := net.edgeRun(block.Edges, lo, lo+ground.RowsPerBatch), net.pairStates(block.Edges[lo])
		for i := lo + 1; i < hi; i++ {
			if w.Potentials.EdgeAt[i] != w.Potentials.EdgeAt[i-1]+size {
				hi = i
			}
		}
		if err := w.prepareOwn(net, block, lo, hi); err != nil {
			return err
		}
		lo = hi
	}
	w.arena, w.at = w.Potentials.Table, w.Potentials.EdgeAt
	return nil
}

// begin forgets the block before.
func (w *Workspace) begin(net *Net, block *partition.Block) error {
	w.fit(net.maxCard, net.maxPair)
	w.forms, w.wide = w.forms[:0], w.Potentials.Forbidding
	return w.checkNodes(block)
}

// fit makes room for nodes of up to k states and edges of up to so many pairs of them.
func (w *Workspace) fit(k, pairs int) {
	if len(w.sum) < k {
		for _, s := range []*[]float64{&w.sum, &w.weight, &w.out, &w.second, &w.colSum} {
			*s = make([]float64, k)
		}
	}
	if len(w.pair) < pairs {
		w.pair, w.logs = make([]float64, pairs), make([]float64, 2*pairs)
	}
}

// checkNodes looks for the first potential of a node that is a NaN or +Inf.
func (w *Workspace) checkNodes(block *partition.Block) error {
	pot := &w.Potentials
	for p, s := range block.Nodes {
		for i, x := range pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]] {
			if !(x <= math.MaxFloat64) {
				return &NumericalError{s, -1, fmt.Sprintf("potential of state %d is %v", i, x)}
			}
		}
	}
	return nil
}

// prepareOwn exponentiates, in place, the tables of the edges lo ≤ q < hi: as large
// as each other, one behind the other, and of no other edge.
func (w *Workspace) prepareOwn(net *Net, block *partition.Block, lo, hi int) error {
	at, size := w.Potentials.EdgeAt[lo], net.pairStates(block.Edges[lo])
	tables := w.Potentials.Table[at:][:(hi-lo)*size]
	if few(size) && net.same != 0 {
		w.expansion = numeric.Resize(w.expansion, len(tables))
		if simd.Exponentials(w.expansion, tables, 1/net.same) { // as if they were one
			copy(tables, w.expansion)
			return nil
		}
	}
	for q := lo; q < hi; q++ {
		if err := w.prepareTable(tables[(q-lo)*size:][:size], net, block, q); err != nil {
			return err
		}
	}
	return nil
}

// prepareTable exponentiates, in place, the table of the q-th edge, less a shift if that
// is needed, or leaves it in logarithms.
func (w *Workspace) prepareTable(values []float64, net *Net, block *partition.Block, q int) error {
	e := block.Edges[q]
	f, err := form{}, error(nil)
	if simd.Exponentials(w.pair, values, 1/net.Counting.Edge[e]) {
		copy(values, w.pair)
	} else {
		if f.shift, f.log, err = exponentiate(values, values, net.Counting.Edge[e]); err != nil {
			return &NumericalError{-1, e, err.Error()}
		}
		w.wide = w.wide || f.log
	}
	if k := int(net.Card[net.Graph.U(e)]); !f.log && k >= simd.LeastBanded && k*k == len(values) {
		f.band = simd.BandOf(values, k)
	}
	if f != (form{}) {
		w.setForm(q, len(block.Edges), f)
	}
	return nil
}

// prepareShared handles blocks in which edges share tables: each pair of a
// table and a counting number is exponentiated at its first use.
func (w *Workspace) prepareShared(net *Net, block *partition.Block) error {
	pot := &w.Potentials
	classes := net.classes
	w.expanded = w.expanded[:0]
	for range pot.NumTables * classes {
		w.expanded = append(w.expanded, -1)
	}
	most := len(block.Edges) // tables
	if classes > 0 {
		most = min(most, len(w.expanded))
	}
	if most *= net.maxPair; cap(w.expansion) < most {
		w.expansion = make([]float64, 0, most)
	}
	w.arena = w.expansion[:0]
	w.sharedAt = w.sharedAt[:0]
	for q, e := range block.Edges {
		if classes > 0 {
			first := &w.expanded[int(pot.TableID[q])*classes+int(net.class[e])]
			if *first >= 0 {
				w.sharedAt = append(w.sharedAt, w.sharedAt[*first])
				if len(w.forms) > 0 {
					w.forms[q] = w.forms[*first]
				}
				continue
			}
			*first = int32(q)
		}
		at, k := len(w.arena), net.pairStates(e)
		w.arena = w.arena[:at+k]
		w.sharedAt = append(w.sharedAt, at)
		copy(w.arena[at:], pot.Table[pot.EdgeAt[q]:][:k])
		if err := w.prepareTable(w.arena[at:], net, block, q); err != nil {
			return err
		}
	}
	w.at = w.sharedAt
	return nil
}

func (n *Net) pairStates(e int32) int { return int(n.Card[n.Graph.U(e)]) * int(n.Card[n.Graph.V(e)]) }

// edgeRun returns the end, at most hi, of the edges from the lo-th on with as many states at their ends.
func (n *Net) edgeRun(edges []int32, lo, hi int) int {
	u, v := n.Graph.Ends()
	for i, e := range edges[lo:min(hi, len(edges))] {
		if n.Card[u[e]] != n.Card[u[edges[lo]]] || n.Card[v[e]] != n.Card[v[edges[lo]]] {
			return lo + i
		}
	}
	return min(hi, len(edges))
}

// exponentiate writes exp(theta/rho − shift) to dst, which may be theta itself, or
// its logarithm where the range is too large.
func exponentiate(dst, theta []float64, rho float64) (shift float64, log bool, err error) {
	largest := simd.Max(theta)
	if !(math.Abs(largest) <= math.MaxFloat64) {
		return 0, false, tableTrouble(theta)
	}
	shift = largest / rho
	if math.IsInf(shift, 0) {
		return 0, false, fmt.Errorf("the largest potential is %v: divided by the counting number %v it overflows; make "+
			"both smaller or larger by one factor", largest, rho)
	}
	for i, x := range theta {
		y := (x - largest) * (1 / rho)
		if isForbidden(y) && !isForbidden(x) {
			return 0, false, fmt.Errorf("potential of joint state %d is %v and the largest %v: their difference, divided by "+
				"the counting number %v, overflows; for a forbidden state use −Inf", i, x, largest, rho)
		}
		dst[i] = y
		log = log || !(y >= -maxRange || isForbidden(y))
	}
	if !log {
		simd.Exp(dst, dst)
	}
	return shift, log, nil
}

// tableTrouble says what is wrong with a table whose largest entry is not finite.
func tableTrouble(theta []float64) error {
	for i, x := range theta {
		if !(x <= math.MaxFloat64) {
			return fmt.Errorf("potential of joint state %d is %v", i, x)
		}
	}
	return fmt.Errorf("every joint state is forbidden (all potentials are −Inf)")
}

// values returns the n entries of the table of the q-th edge; valid until the next call.
func (w *Workspace) values(q int32, n int) []float64 { return w.arena[w.at[q]:][:n] }

// logAt returns log of entry i of the table of the q-th edge, without the shift.
func (w *Workspace) logAt(q int32, i int) float64 {
	x := w.arena[w.at[q]+i]
	if w.form(q).log {
		return x
	}
	return math.Log(x)
}

func exp(x float64) float64      { return math.Exp(x) }
func isForbidden(x float64) bool { return x < -math.MaxFloat64 }
