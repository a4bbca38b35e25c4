package bp

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// maxRange is the largest spread, in nats, of an edge table that is kept in
// multiplicative form: exp(−600) is well above tooSmall, so that a sum in which
// the largest weight, 1, meets the smallest entry is still trusted.
const maxRange = 600

// tooSmall is the sum below which a multiplicative result is not trusted: terms
// that underflowed could matter. It is then done again with logarithms.
const tooSmall = simd.TooSmall

// Workspace is the scratch for message passing on one block at a time. Use one
// per goroutine; it grows to the largest block and is then free of allocation.
type Workspace struct {
	// Potentials are ground by the caller before Prepare, which may overwrite the
	// edge tables with exponentials: ground them anew for each Prepare.
	Potentials crf.Potentials

	tables   []table
	which    []int32   // [block edges] index into tables
	arena    []float64 // what the tables are made of: Potentials.Table, or expansion
	expanded []int32   // [NumTables*numClasses] index into tables, or −1
	// expansion holds one exponentiated table per distinct pair of a shared
	// potential table and a counting number.
	expansion     []float64
	arriving      []simd.Incoming // messages into the node at work
	together      []simd.Edge     // edges whose beliefs are computed in one call
	logZ, product []float64       // of these
	// wide: some table may have more than maxRange between two entries, or a
	// forbidden one.
	wide bool

	sum, weight, out []float64 // [max card]
	pair             []float64 // [max card²]
	second           []float64 // [max card]
	rowSum, colSum   []float64 // [max card]
}

// table is one edge table divided by ρ_uv, with its largest entry subtracted.
type table struct {
	values []float64 // exp(θ/ρ − shift), or θ/ρ − shift in log form
	shift  float64
	at     int // of values in Workspace.arena
	log    bool
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

// Prepare divides the ground edge tables of the block by ρ_uv, subtracts the
// largest entry and exponentiates, once for all following sweeps. Potentials of
// −Inf are hard zeros; NaN, +Inf, or a table of zeros alone is a
// *NumericalError.
func (w *Workspace) Prepare(net *Net, block *partition.Block) error {
	w.fit(net.maxCard)
	w.tables, w.which, w.wide = w.tables[:0], w.which[:0], w.Potentials.Forbidding
	if err := w.checkNodes(block); err != nil {
		return err
	}
	if w.Potentials.NumTables == len(block.Edges) {
		return w.prepareOwn(net, block)
	}
	return w.prepareShared(net, block)
}

func (w *Workspace) fit(k int) {
	if len(w.sum) >= k {
		return
	}
	for _, s := range []*[]float64{&w.sum, &w.weight, &w.out, &w.second, &w.rowSum, &w.colSum} {
		*s = make([]float64, k)
	}
	w.pair = make([]float64, k*k)
}

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

// prepareOwn handles blocks in which every edge has a table of its own: they
// are exponentiated in place.
func (w *Workspace) prepareOwn(net *Net, block *partition.Block) error {
	pot := &w.Potentials
	w.arena = pot.Table
	for q, e := range block.Edges {
		values := pot.Table[pot.EdgeAt[q]:][:net.pairStates(e)]
		t, err := exponentiate(values, values, net.Counting.Edge[e])
		if err != nil {
			return &NumericalError{-1, e, err.Error()}
		}
		w.wide = w.wide || t.log
		t.at = pot.EdgeAt[q]
		w.which = append(w.which, int32(q))
		w.tables = append(w.tables, t)
	}
	return nil
}

// prepareShared handles blocks in which edges share tables: each pair of a
// table and a counting number is exponentiated at its first use.
func (w *Workspace) prepareShared(net *Net, block *partition.Block) error {
	pot := &w.Potentials
	classes := net.Counting.numClasses
	w.expanded = w.expanded[:0]
	for range pot.NumTables * classes {
		w.expanded = append(w.expanded, -1)
	}
	w.makeRoom(net, block, classes)
	for q, e := range block.Edges {
		var slot *int32
		if classes > 0 {
			slot = &w.expanded[int(pot.TableID[q])*classes+int(net.Counting.class[e])]
			if *slot >= 0 {
				w.which = append(w.which, *slot)
				continue
			}
			*slot = int32(len(w.tables))
		}
		k := net.pairStates(e)
		at := len(w.arena)
		w.arena = w.arena[:at+k]
		dst := w.arena[at:]
		t, err := exponentiate(dst, pot.Table[pot.EdgeAt[q]:][:k], net.Counting.Edge[e])
		if err != nil {
			return &NumericalError{-1, e, err.Error()}
		}
		w.wide = w.wide || t.log
		t.at = at
		w.which = append(w.which, int32(len(w.tables)))
		w.tables = append(w.tables, t)
	}
	return nil
}

// makeRoom gives the arena the capacity for every table that the block can need,
// so that none moves.
func (w *Workspace) makeRoom(net *Net, block *partition.Block, classes int) {
	most := len(block.Edges)
	if classes > 0 {
		most = min(most, w.Potentials.NumTables*classes)
	}
	if need := most * net.maxCard * net.maxCard; cap(w.expansion) < need {
		w.expansion = make([]float64, 0, need)
	}
	w.arena = w.expansion[:0]
}

func (n *Net) pairStates(e int32) int {
	return int(n.Card[n.Graph.U(e)]) * int(n.Card[n.Graph.V(e)])
}

// exponentiate writes exp(theta/rho − shift) to dst, which may be theta itself.
func exponentiate(dst, theta []float64, rho float64) (table, error) {
	largest, safe := simd.Exponentiate(dst, theta, 1/rho, -maxRange)
	if !safe && !(math.Abs(largest) <= math.MaxFloat64) {
		return table{}, tableTrouble(theta)
	}
	t := table{values: dst, shift: largest / rho, log: !safe}
	if math.IsInf(t.shift, 0) {
		return table{}, fmt.Errorf("the largest potential is %v: divided by the counting number %v it overflows; make both smaller or larger by one factor", largest, rho)
	}
	if safe {
		return t, nil
	}
	for i, x := range theta {
		y := (x - largest) * (1 / rho)
		if isForbidden(y) && !isForbidden(x) {
			return table{}, fmt.Errorf("potential of joint state %d is %v and the largest %v: their difference, divided by the counting number %v, overflows; for a forbidden state use −Inf", i, x, largest, rho)
		}
		dst[i] = y
	}
	return t, nil
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

// logAt returns log of entry i of the table.
func (t *table) logAt(i int) float64 {
	if t.log {
		return t.values[i]
	}
	return math.Log(t.values[i])
}

func exp(x float64) float64      { return math.Exp(x) }
func logOf(n int) float64        { return math.Log(float64(n)) }
func isForbidden(x float64) bool { return x < -math.MaxFloat64 }
