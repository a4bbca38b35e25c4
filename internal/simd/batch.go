package simd

// Node is a node of a batch, by where its parts are: offsets of their first entries. Those that are int32 are in
// scratch.
type Node struct {
	Belief    int     // of its log-belief, in beliefs
	Inverse   float64 // 1/ρ_s, or 0 where more messages follow
	Potential int     // of what its sum begins with, in potentials
	Sum       int32   // of its sum
	States    int32
	Messages  int32 // of the list, that it takes
}

// Padding is how many entries of scratch must follow those that are used: kernels read and write whole vectors.
const Padding = 8

// The kernels of a batch are the steps of updating nodes of which no two are
// neighbours. For messages d into these nodes, from sources s:
//
//	Cavities     weights = log τ_s − λ_rev(d)/ρ
//	Exp          weights = e^weights
//	Products     out = table · weights
//	Log          out = log out, and can the sums be trusted?
//	Absorb       λ_d/ρ = out − max out,  sum = potentials + Σ ρ λ_d/ρ,  sum = (sum − max sum)/ρ_s
//
// and for the nodes:
//
//	Exp          weights = e^sum
//	Totals       totals = Σ weights
//	Log          totals = log totals
//	Settle       log τ = sum − totals
//
// Each step is done for the whole batch: nothing in it waits for anything else, and exponentials and logarithms are of
// long arrays, whatever the number of states. Messages are listed by the numbers of their directed edges, the last bit
// of which is not 0 if rows of the edge's table are states of the target, not of the source; weights and out of one
// follow those of the one before. Offsets are not checked: the caller answers for them. An array of offsets that is nil
// says that all parts are of n numbers, one behind the other.

// Gather copies the n numbers of each of a list of parts that follow each other.
func Gather(dst, x []float64, list []int32, n int) {
	active.forRows(n).cavities(dst, x, nil, list, list, nil, nil, n, nil)
}

// Sizes are the states at the sources and targets of messages: so many of each, or, where that is 0, those of a list.
type Sizes struct {
	Source, Target   int
	Sources, Targets []int32
}

// Cavities computes weights[x] = beliefs[x] − messages[x] over the states of the sources of messages, −Inf where either
// is; beside a NaN it may be one. Of messages it takes those to the sources.
func (k *Lists) Cavities(weights, beliefs, messages []float64, source, directed []int32, beliefAt, messageAt []int,
	n Sizes) {
	k.cavities(weights, beliefs, messages, source, directed, beliefAt, messageAt, n.Source, n.Sources)
}

// Products computes the sums of messages: out[x] = Σ_y weights[y] table[y,x], or Σ_y table[x,y] weights[y]. Tables are
// where at says of their edges. Those of a source without states are 0.
func (k *Lists) Products(out, weights, tables []float64, directed, edge []int32, at []int, n Sizes) {
	k.products(out, weights, tables, directed, edge, at, n.Source, n.Target, n.Sources, n.Targets)
}

// Pairs does the steps Cavities to Log at once, but for what Absorb takes off a message anyway, for two states at
// either end of all edges and parts that follow each other. It reports false where that is not what it can do, or a sum
// is not safe: out is rubbish then.
func (k *Lists) Pairs(out, beliefs, messages, tables []float64, source, directed, edge []int32, at []int) bool {
	return k.pairs.messages != nil && len(directed) >= k.pairs.least &&
		k.pairs.messages(out, beliefs, messages, tables, source, directed, edge, at)
}

// Lists are the kernels of lists of nodes.
type Lists implementation

// ForRows returns those for rows of up to so many entries, good until Use changes them.
func ForRows(most int) *Lists { return (*Lists)(active.forRows(most)) }

// Absorb makes sums of potentials and messages of the listed nodes, which take as many of the list of messages as they
// say. Each is put in the place of the old one, shifted so that its largest entry is 0:
//
//	new = out, or (1−damping)·out + damping·old where the two differ and damping is not 0;
//	sum += ρ·new;   old = new,
//
// where ρ is that of the edge, or the same for all if rho is nil. After the last message sum = (sum − max sum)·inverse,
// unless that is 0: with a NaN where there was one, or +Inf, and all −Inf where they were. It returns the largest
// |new − old| over the entries that differ, 0 if none does: −Inf does not differ from −Inf, a NaN differs from
// everything and makes the residual a NaN. Potentials may be sums.
func (k *Lists) Absorb(messages, sums, potentials, out []float64, directed []int32, messageAt []int, rho []float64,
	same float64, list []Node, damping float64) (residual float64) {
	return k.absorb(messages, sums, potentials, out, directed, messageAt, rho, same, list, damping)
}

// Totals computes totals[i] = Σ_x weights[x] of the i-th node; its weights lie where
// its sums do. len(totals) ≥ len(list).
func (k *Lists) Totals(totals, weights []float64, list []Node) {
	k.totals(totals[:len(list)], weights, list)
}

// Settle computes beliefs[x] = sums[x] − logTotals[i] of the i-th node, and returns the largest change of an entry that
// changes, as Absorb does. len(logTotals) ≥ len(list).
func (k *Lists) Settle(beliefs, sums, logTotals []float64, list []Node) (residual float64) {
	return k.settle(beliefs, sums, logTotals[:len(list)], list)
}
