package simd

// Uniform is a part of a network whose nodes all have the same number of states, up
// to UniformStates, and none of whose tables needs logarithms. Where things are then
// follows from the numbers of nodes and edges. The kernels for it are those of a
// batch, fused, without lists.
type Uniform struct {
	States int // k
	// PerEdge is −1 if edge e has the factor Rho[e], and 0 if all have Rho[0].
	PerEdge int
	Damping float64 // the weight of old messages
	// Beliefs has the log-belief of node s from Beliefs[s*k] on, and Messages the
	// log-message of directed edge d from Messages[d*k] on.
	Beliefs, Messages []float64
	Tables            []float64 // exponentiated
	At                []int     // [edges of the block] where in Tables each begins
	Rho               []float64
	// Potentials has those of the p-th node of the block from Potentials[p*k] on.
	Potentials []float64
	RhoNode    []float64 // by number of the node
	// Nodes, Order, InStart, In, InEdge and InSource are those of a partition.Block.
	Nodes, Order, InStart, In, InEdge, InSource []int32

	// Scratch: a row of UniformRow for each message and for each node, and a number for
	// each node; and UniformPadding more of each.
	Rows, Sums, Totals []float64
	// Far is 1 if the tables are too many for the second-level cache: see Cold.
	Far int

	// Edges are those of a partition.Block, from U[e] to V[e].
	Edges, U, V []int32
	Count       []float64 // c_s, by number of the node

	// Cold is 1 if messages and beliefs, and tables if they are far, should be asked
	// for early, and 0 if they were used a moment ago.
	Cold int
}

// UniformPadding is how many rows of scratch must follow those that are used: kernels
// fill up groups of four.
const UniformPadding = 4

// UniformStates returns the largest number of states for which there are kernels for
// a Uniform: 0 if there are none.
func UniformStates() int { return active.uniform.states }

// UniformEdgeStates returns up to how many states there are kernels for the beliefs of
// edges of a Uniform.
func UniformEdgeStates() int { return active.uniform.edgeStates }

// UniformRow returns the length of a row of scratch: whole vectors of eight.
func UniformRow(states int) int { return (states + 7) / 8 * 8 }

// uniform are the kernels for a Uniform. Messages are places lo ≤ i < hi in In, nodes
// are places in Order; neither list may be empty. Offsets are not checked.
type uniform struct {
	states     int
	edgeStates int

	products func(u *Uniform, lo, hi int) (safe bool)
	absorb   func(u *Uniform, lo, hi int) (residual float64)
	shift    func(u *Uniform, lo, hi int) (done int)
	settle   func(u *Uniform, lo, hi int) (residual float64)
	nodes    func(u *Uniform, dst, sum []float64, lo, hi int) (freeEnergy float64)
	edges    func(u *Uniform, dst, sum []float64, lo, hi int) (freeEnergy float64, safe bool)

	list func(u *Uniform, list []Edge, lo, hi int)
}

// Products computes the sums of the messages lo ≤ i < hi of In: Cavities, Exp,
// Products and, with a limit of 1e-130 and where no cavity is above 708, AllSafe. It changes nothing but Rows, of which the first is that of
// message lo.
func (u *Uniform) Products(lo, hi int) (safe bool) { return active.uniform.products(u, lo, hi) }

// Absorb takes the sums over into the messages, as Log and AbsorbAll do, leaves the
// new messages in Rows, and returns the residual.
func (u *Uniform) Absorb(lo, hi int) (residual float64) { return active.uniform.absorb(u, lo, hi) }

// Shift computes from the new messages the Sums and Totals of the nodes lo ≤ i < hi of
// Order, as Shift, Exp and Totals of a batch do; Rows begin with the first message into the first
// of them. It returns how many are done: all, or less than that where the next, or one
// of three after it, has a sum that Shift does not accept, and its sums are left as
// they were before they were shifted.
func (u *Uniform) Shift(lo, hi int) (done int) { return min(active.uniform.shift(u, lo, hi), hi-lo) }

// Settle computes the beliefs of the nodes lo ≤ i < hi of Order from their Sums and
// the logarithms of their totals, which are in Totals, and returns the residual.
func (u *Uniform) Settle(lo, hi int) (residual float64) { return active.uniform.settle(u, lo, hi) }

// List writes the edges lo ≤ q < hi of Edges to list, for EdgeBeliefs. There is at
// least one; len(list) ≥ hi−lo.
func (u *Uniform) List(list []Edge, lo, hi int) { active.uniform.list(u, list[:hi-lo], lo, hi) }

// Room returns how many entries are written for so many beliefs of one size: where rows
// are no whole vectors, some follow that belong to none.
func (u *Uniform) Room(beliefs, size int) int {
	if u.States == UniformRow(u.States) {
		return beliefs * size
	}
	return beliefs*size + Padding
}

// WriteNodes writes the beliefs of the nodes lo ≤ p < hi of Nodes, one behind the other,
// to dst [Room(hi−lo, k)], adds them to sum [k], and returns the sum of
// ⟨θ_s,τ_s⟩ + c_s H(τ_s). The list is not empty.
func (u *Uniform) WriteNodes(dst, sum []float64, lo, hi int) (freeEnergy float64) {
	return active.uniform.nodes(u, dst[:u.Room(hi-lo, u.States)], sum[:u.States], lo, hi)
}

// WriteEdges writes the beliefs of the edges lo ≤ q < hi of Edges, one behind the other, to
// dst [Room(hi−lo, k²)], adds them to sum [k²], and returns the sum of
// ⟨θ_uv,τ_uv⟩ + ρ_uv H(τ_uv), as from EdgeBelief. Where it reports false some edge is
// not safe: dst is rubbish then, and sum as it was. The list is not empty, and k is at
// most UniformEdgeStates.
func (u *Uniform) WriteEdges(dst, sum []float64, lo, hi int) (freeEnergy float64, safe bool) {
	n := u.States * u.States
	return active.uniform.edges(u, dst[:u.Room(hi-lo, n)], sum[:n], lo, hi)
}
