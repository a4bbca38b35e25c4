package simd

// Message is a message of a batch, by where its parts are: offsets of their first
// entries. Those that are int32 are offsets in scratch.
type Message struct {
	Belief  int // of the source's log-belief, in beliefs
	Reverse int // of the log-message from the target to the source, in messages
	Old     int // of the message itself, in messages
	Table   int // of the edge's exponentiated table, in tables
	// Rho is the factor with which the message enters the sum.
	Rho    float64
	Weight int32 // of the source's weights
	Out    int32 // of the message that is being made
	Sum    int32 // of the target's sum
	Source int32 // states of the source
	Target int32 // states of the target
	// Backward is not 0 if the rows of the table are states of the target, not of
	// the source.
	Backward int32
}

// Node is a node of a batch, in the same way.
type Node struct {
	Belief  int     // of its log-belief, in beliefs
	Inverse float64 // 1/ρ_s
	Sum     int32   // of its sum
	States  int32
}

// Padding is how many entries of scratch must follow those that are used: kernels
// read and write whole vectors.
const Padding = 8

// The kernels of a batch are the steps of updating nodes of which no two are
// neighbours. For messages d into these nodes, from sources s:
//
//	Cavities     weights = log τ_s − λ_rev(d)/ρ
//	Exp          weights = e^weights
//	Products     out = table · weights
//	AllSafe      can the sums be trusted?
//	Log          out = log out
//	AbsorbAll    λ_d/ρ = out − max out,  sum += ρ λ_d/ρ
//
// and for the nodes, whose sum held their potentials before:
//
//	Shift        sum = (sum − max sum)/ρ_s
//	Exp          weights = e^sum
//	Totals       totals = Σ weights
//	Log          totals = log totals
//	Settle       log τ = sum − totals
//
// Each step is done for the whole batch: nothing in it waits for anything else, and
// exponentials and logarithms are of long arrays, whatever the number of states.
// Offsets are not checked: the caller answers for them.

// Lists are the kernels of lists of messages and of nodes.
type Lists implementation

// ForRows returns those for rows of up to so many states, good until Use changes them.
func ForRows(most int) *Lists { return (*Lists)(active.forRows(most)) }

// Cavities computes weights[x] = beliefs[x] − messages[x] for the source's states of
// every message, −Inf where either is; beside a NaN it may be one. Weights that follow each other must be listed
// in their order.
func (k *Lists) Cavities(weights, beliefs, messages []float64, list []Message) {
	k.cavities(weights, beliefs, messages, list)
}

// Products computes the sums of every message: out[x] = Σ_y weights[y] table[y,x],
// or, if backward, Σ_y table[x,y] weights[y]. Sums that follow each other must be
// listed in their order.
func (k *Lists) Products(out, weights, tables []float64, list []Message) {
	k.products(out, weights, tables, list)
}

// AllSafe reports whether every entry is in [TooSmall, MaxFloat64].
func AllSafe(x []float64) bool { return active.allSafe(x) }

// AbsorbAll does for every message what Absorb does for one, with the message of
// out, shifted so that its largest entry is 0.
func (k *Lists) AbsorbAll(messages, sums, out []float64, list []Message, damping float64) (residual float64) {
	return k.absorbAll(messages, sums, out, list, damping)
}

// Shift computes sum[x] = (sum[x] − max sum)·inverse for every node and returns how
// many are done: all, or those before the first that has a NaN among its sums or
// whose largest is not finite.
func (k *Lists) Shift(sums []float64, list []Node) (done int) { return k.shift(sums, list) }

// Totals computes totals[i] = Σ_x weights[x] of the i-th node; its weights lie where
// its sums do. len(totals) ≥ len(list).
func (k *Lists) Totals(totals, weights []float64, list []Node) {
	k.totals(totals[:len(list)], weights, list)
}

// Settle computes beliefs[x] = sums[x] − logTotals[i] of the i-th node, and returns
// the largest change of an entry that changes, as Absorb does.
// len(logTotals) ≥ len(list).
func (k *Lists) Settle(beliefs, sums, logTotals []float64, list []Node) (residual float64) {
	return k.settle(beliefs, sums, logTotals[:len(list)], list)
}

// moderate is the largest magnitude of an exponent that Exponentials takes.
const moderate = 300

// Exponentials replaces the entries θ of tables [len(inverse)*size] by
// e^(θ·inverse[i]), i being the number of the table, and returns how many tables are
// done. If done < len(inverse), an exponent of table done has a magnitude above 300
// or is a NaN, and the table is as it was: see Exponentiate.
func Exponentials(tables []float64, size int, inverse []float64) (done int) {
	return active.exponentials(tables[:size*len(inverse)], size, inverse)
}
