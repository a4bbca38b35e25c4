package ground

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// Potentials are the ground potentials θ of one block: scratch that is filled when the block is picked, used, and
// filled again for the next one. The zero value is ready.
type Potentials struct {
	// Node holds θ_s(i) of the p-th node of the block at Node[NodeAt[p]+i].
	Node   []float64
	NodeAt []int
	// Table holds edge tables θ_uv(i,j), row-major with the state of U(e) slow. The q-th edge of the block has the table
	// at Table[EdgeAt[q]]. Edges that have equal features may share one.
	Table  []float64
	EdgeAt []int
	// TableID numbers the distinct tables: the q-th edge has number TableID[q],
	// below NumTables. Edges with equal numbers share their table.
	TableID   []int32
	NumTables int
	// Forbidding says that some potentials may be −Inf. Ground makes those that the schema forbids.
	Forbidding bool

	scratch scratch
	// shared has, by type and bin, the position of the first edge of the block with that
	// table, or −1; type t begins at sharedAt[t].
	shared   []int32
	sharedAt []int
}

// Room is how many numbers the potentials of a block are at most. They are float64, as
// those of models too large to be trained may not fit an int.
type Room struct {
	Nodes, Edges   float64 // of the block
	NodePotentials float64
	Tables         float64 // entries of all of them
	NumTables      float64
	Shared         bool    // some edges may share tables
	Features       float64 // of the elements with the most dense ones
	Cells          float64 // of the largest map that is upsampled
	CellValues     float64 // potentials of the cells that the block's nodes lie on
}

// RoomOf counts, without grounding anything. Shared tables are counted once each.
func RoomOf(layout *crf.Layout, in *crf.Instance, block *partition.Block) Room {
	r := Room{Nodes: float64(len(block.Nodes)), Edges: float64(len(block.Edges)), Shared: SharesTables(in)}
	for t := range layout.Node {
		n := countOf(block.Nodes, len(layout.Node), t, in.NodeType)
		r.NodePotentials += n * float64(layout.Node[t].States)
		f := nodeFeatures(in, t)
		if r.addFeatures(f); f.pixels() != nil {
			const corners = 4
			cells := float64(f.pixels().NumCells())
			r.Cells = max(r.Cells, cells)
			r.CellValues += min(cells, corners*n) * float64(layout.Node[t].States)
		}
	}
	for t := range layout.Edge {
		n := countOf(block.Edges, len(layout.Edge), t, in.EdgeType)
		span, f := &layout.Edge[t], edgeFeatures(in, t)
		if distinct := f.tables(); distinct > 0 && !span.Untied {
			n = min(n, float64(distinct))
		}
		r.NumTables += n
		r.Tables += n * float64(span.States)
		r.addFeatures(f)
	}
	return r
}

// countOf counts the numbers of one of the types.
func countOf(numbers []int32, types, t int, typeOf func(int32) int) (n float64) {
	if types == 1 {
		return float64(len(numbers))
	}
	for _, x := range numbers {
		if typeOf(x) == t {
			n++
		}
	}
	return n
}

func (r *Room) addFeatures(f *matrix) {
	if f.dense() || f.Computed != nil {
		r.Features = max(r.Features, float64(f.Dim))
	}
}

// Entries returns how many states all nodes of an instance have, how many entries the tables of all edges, and how many
// where those that share one count once.
func Entries(in *crf.Instance) (states, all, distinct float64) {
	for a := range in.Schema().NodeTypes {
		states += float64(in.NodeFeatures(a).Rows()) * float64(in.Schema().NodeStates(a))
	}
	for b, t := range in.Schema().EdgeTypes {
		u, v := in.Schema().EdgeStates(b)
		edges := in.EdgeFeatures(b).Rows()
		tables := edges
		if n := Tables(in.EdgeFeatures(b)); n > 0 && t.Copies == 0 {
			tables = min(edges, n)
		}
		all += float64(edges) * float64(u) * float64(v)
		distinct += float64(tables) * float64(u) * float64(v)
	}
	return states, all, distinct
}

// Max returns room for either of two blocks.
func (r Room) Max(o Room) Room {
	return Room{
		Nodes: max(r.Nodes, o.Nodes), Edges: max(r.Edges, o.Edges), NodePotentials: max(r.NodePotentials, o.NodePotentials),
		Tables: max(r.Tables, o.Tables), NumTables: max(r.NumTables, o.NumTables), Shared: r.Shared || o.Shared,
		Features: max(r.Features, o.Features), Cells: max(r.Cells, o.Cells), CellValues: max(r.CellValues, o.CellValues),
	}
}

// Bytes returns about what the potentials take. Those of cells of a map that is upsampled are there twice, in slices
// that grow by a quarter.
func (r Room) Bytes() float64 {
	const double, place, ofCells = 8, 20, 2 * 1.25
	return double*(r.NodePotentials+r.Tables+ofCells*r.CellValues+2*RowsPerBatch*r.Features) +
		place*(r.Nodes+r.Edges+r.Cells)
}

// Reserve makes room for the potentials of blocks as large as that, so that grounding one
// allocates nothing more than Bytes says.
func (pot *Potentials) Reserve(r Room) {
	reserve(&pot.Node, r.NodePotentials)
	reserve(&pot.Table, r.Tables)
	reserve(&pot.NodeAt, r.Nodes+1)
	reserve(&pot.EdgeAt, r.Edges)
	reserve(&pot.TableID, r.Edges)
}

// reserve gives a slice the capacity n, if it has less. What was in it is forgotten.
func reserve[T any](s *[]T, n float64) {
	if float64(cap(*s)) < n {
		*s = make([]T, 0, int(n))
	}
}

// Ground computes the potentials of a block from the model's weights: θ_s(i) = Σ_j W[i,j] f_s[j] and θ_uv(i,i') = Σ_j
// W[i,i',j] f_uv[j] (docs/explanation/equations.md, section 1).
func (pot *Potentials) Ground(m *crf.Model, in *crf.Instance, block *partition.Block) {
	pot.Reserve(RoomOf(&m.Layout, in, block))
	pot.GroundNodes(m, in, block)
	for lo := 0; lo < len(block.Edges); {
		lo, _ = pot.GroundEdges(m, in, block, lo, 0)
	}
}

// GroundNodes begins with a block: it forgets the one before and computes the potentials of its nodes.
func (pot *Potentials) GroundNodes(m *crf.Model, in *crf.Instance, block *partition.Block) {
	pot.reset(m, in)
	for lo, hi := 0, 0; lo < len(block.Nodes); lo = hi {
		t, at := in.NodeType(block.Nodes[lo]), len(pot.Node)
		span, f := &m.Layout.Node[t], nodeFeatures(in, t)
		hi = NodeRun(in, block.Nodes, lo, min(lo+f.together(in, len(block.Nodes)), len(block.Nodes)))
		rows := nodeRows(in, block.Nodes[lo:hi], &pot.scratch.rows)
		if f.dense() {
			f.prefetch(nodeRows(in, block.Nodes[hi:min(hi+RowsPerBatch, len(block.Nodes))], &pot.scratch.next))
		}
		pot.Node = numeric.Resize(pot.Node, at+len(rows)*span.States)
		pot.multiply(pot.Node[at:], m, span, f, rows)
		for range rows {
			at += span.States
			pot.NodeAt = append(pot.NodeAt, at)
		}
	}
	if pot.Forbidding = m.Layout.Masked; pot.Forbidding {
		pot.forbidNodes(m, in, block.Nodes)
	}
}

// GroundEdges computes the potentials of some more edges of the block, those from
// the lo-th on, and returns the first that it did not. GroundNodes comes first. Where scale is not 0 and it can, it
// leaves e^(scale θ) in their place, and reports true (simd.MultiplyExp).
func (pot *Potentials) GroundEdges(m *crf.Model, in *crf.Instance, block *partition.Block, lo int,
	scale float64) (hi int, exponentials bool) {
	t, f, rows := pot.edgeBatch(in, block, lo)
	span := &m.Layout.Edge[t]
	if f.tables() > 0 && !span.Untied {
		for _, r := range rows {
			pot.groundShared(m, f, t, int(r))
		}
	} else {
		at := len(pot.Table)
		pot.Table = numeric.Resize(pot.Table, at+len(rows)*span.States)
		exponentials = scale != 0 && f.dense() && !span.Untied && !m.Layout.Masked &&
			simd.MultiplyExp(pot.Table[at:], f.doubles(rows, &pot.scratch), copyOf(span, m.Weights, 0), len(rows), f.Dim,
				span.States, scale)
		if !exponentials {
			pot.multiply(pot.Table[at:], m, span, f, rows)
		}
		for i := range rows {
			pot.addTable(at + i*span.States)
		}
	}
	// Edges that share a table have the same mask.
	forbidPairs(m, pot.Table, pot.EdgeAt[lo:], t)
	return lo + len(rows), exponentials
}

// edgeBatch returns the type of the block's lo-th edge, its features, and the rows of
// the edges of that type that follow; it asks for the features of the batch after.
func (pot *Potentials) edgeBatch(in *crf.Instance, block *partition.Block, lo int) (t int, f *matrix, rows []int32) {
	hi := EdgeRun(in, block.Edges, lo, min(lo+RowsPerBatch, len(block.Edges)))
	t = in.EdgeType(block.Edges[lo])
	f = edgeFeatures(in, t)
	if f.dense() {
		f.prefetch(edgeRows(in, block.Edges[hi:min(hi+RowsPerBatch, len(block.Edges))], &pot.scratch.next))
	}
	return t, f, edgeRows(in, block.Edges[lo:hi], &pot.scratch.rows)
}

// groundShared gives an edge the table of the first one with the same features.
func (pot *Potentials) groundShared(m *crf.Model, f *matrix, edgeType, r int) {
	first := &pot.shared[pot.sharedAt[edgeType]+f.tableOf(r)]
	if *first >= 0 {
		pot.EdgeAt = append(pot.EdgeAt, pot.EdgeAt[*first])
		pot.TableID = append(pot.TableID, pot.TableID[*first])
		return
	}
	*first = int32(len(pot.EdgeAt))
	span, at := &m.Layout.Edge[edgeType], len(pot.Table)
	pot.Table = numeric.Resize(pot.Table, at+span.States)
	f.multiply(pot.Table[at:], copyOf(span, m.Weights, r), r, &pot.scratch)
	pot.addTable(at)
}

// addTable gives the next edge a table of its own, which begins there.
func (pot *Potentials) addTable(at int) {
	pot.EdgeAt = append(pot.EdgeAt, at)
	pot.TableID = append(pot.TableID, int32(pot.NumTables))
	pot.NumTables++
}

// multiply computes dst[i*k+x] = Σ_j f[rows[i],j] w[j*k+x] for rows of one type, w being the weights of the row.
func (pot *Potentials) multiply(dst []float64, m *crf.Model, span *crf.Span, f *matrix, rows []int32) {
	k := span.States
	if pixels := f.pixels(); pixels != nil {
		multiplyUpsampled(pixels, dst, copyOf(span, m.Weights, 0), rows, &pot.scratch)
		return
	}
	if f.dense() && !span.Untied {
		simd.MultiplyMatrix(dst, f.doubles(rows, &pot.scratch), copyOf(span, m.Weights, 0), len(rows), f.Dim, k)
		return
	}
	for i, r := range rows {
		f.multiply(dst[i*k:][:k], copyOf(span, m.Weights, int(r)), int(r), &pot.scratch)
	}
}

func (pot *Potentials) reset(m *crf.Model, in *crf.Instance) {
	pot.Node, pot.Table = pot.Node[:0], pot.Table[:0]
	pot.NodeAt, pot.EdgeAt = append(pot.NodeAt[:0], 0), pot.EdgeAt[:0]
	pot.TableID, pot.NumTables = pot.TableID[:0], 0
	pot.shared, pot.sharedAt = pot.shared[:0], pot.sharedAt[:0]
	for t := range m.Layout.Edge {
		pot.sharedAt = append(pot.sharedAt, len(pot.shared))
		for range edgeFeatures(in, t).tables() {
			pot.shared = append(pot.shared, -1)
		}
	}
}

// forbidNodes puts −Inf in the place of the potentials of nodes that the schema forbids.
func (pot *Potentials) forbidNodes(m *crf.Model, in *crf.Instance, nodes []int32) {
	for p, s := range nodes {
		for _, x := range m.Schema.NodeTypes[in.NodeType(s)].Forbidden {
			pot.Node[pot.NodeAt[p]+x] = math.Inf(-1)
		}
	}
}

// forbidPairs does the same in the tables at some places, which are of one type.
func forbidPairs(m *crf.Model, tables []float64, places []int, edgeType int) {
	t := &m.Schema.EdgeTypes[edgeType]
	if len(t.Forbidden) == 0 {
		return
	}
	columns := m.Schema.NodeStates(t.V)
	for _, at := range places {
		for _, x := range t.Forbidden {
			tables[at+x[0]*columns+x[1]] = math.Inf(-1)
		}
	}
}

// LogScore returns Σ_s θ_s(y_s) + Σ_uv θ_uv(y_u, y_v) over the nodes that have a label and the edges both of whose
// ends have one, given the potentials of a whole network: those of Ground on the one block of partition.Whole.
func (pot *Potentials) LogScore(in *crf.Instance, labels []int32) (score float64) {
	for s, y := range labels {
		if y != crf.Unobserved {
			score += pot.Node[pot.NodeAt[s]+int(y)]
		}
	}
	u, v := in.Graph.Ends()
	for e := range u {
		if yu, yv := labels[u[e]], labels[v[e]]; yu != crf.Unobserved && yv != crf.Unobserved {
			score += pot.Table[pot.EdgeAt[e]+int(yu)*in.States(v[e])+int(yv)]
		}
	}
	return score
}

// Condition multiplies the features of an instance into the model: the result is
// a network with explicit tables, about 8 · states² bytes per edge.
func Condition(m *crf.Model, in *crf.Instance) *mrf.Pairwise {
	whole := partition.Whole(in.Graph)
	block := &whole.Blocks[0]
	var pot Potentials
	pot.Ground(m, in, block)
	p := &mrf.Pairwise{Graph: in.Graph, Card: in.Cards(), Node: pot.Node, NodeAt: pot.NodeAt}
	_, pairs, _ := Entries(in)
	p.Edge, p.EdgeAt = make([]float64, 0, int(pairs)), make([]int, 1, len(block.Edges)+1)
	// A whole graph is one group, so its edges keep their order.
	for q, e := range block.Edges {
		k := m.Layout.Edge[in.EdgeType(e)].States
		p.Edge = append(p.Edge, pot.Table[pot.EdgeAt[q]:][:k]...)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	return p
}

// ConditionBytes returns how much memory Condition takes for an instance, the tables that it copies included.
func ConditionBytes(in *crf.Instance) float64 {
	const double, node, edge = 8, 50, 60
	single, pairs, _ := Entries(in)
	return double*(single+2*pairs) + node*float64(in.Graph.NumNodes()) + edge*float64(in.Graph.NumEdges())
}
