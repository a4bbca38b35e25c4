package dataset

import "github.com/blockbp/blockbp/internal/npy"

// Samples are joint states drawn from a model, to be written.
type Samples struct {
	// States [n] is the number of states of every node.
	States []int32
	// Held [n] is the state at which a node was held, −1 for one that was drawn.
	Held []int32
	// Chain and Sweep [draws] are the number of the Markov chain that a draw comes
	// from and how many sweeps that had made; zeros for independent draws.
	Chain, Sweep []int32
	// LogScore [draws] is the logarithm of the unnormalised probability of a draw.
	LogScore []float64
	// RHat and ESS [n] are split R̂ and the effective sample size of every node, NaN
	// where they are not known; nil for independent draws.
	RHat, ESS []float64
	Seed      uint64
	// Draw writes the i-th joint state to x [n].
	Draw func(x []int32, i int)
}

// WriteSamples writes draws as a file that numpy.load reads, whole or not at all:
//
//	samples    [draws, n] int32
//	chain      [draws] int32       as in Samples, like the others
//	sweep      [draws] int32
//	log_score  [draws] float64
//	states     [n] int32
//	held       [n] int32
//	rhat, ess  [n] float64         not for independent draws
//	seed       [] uint64
//
// The same draws give the same bytes.
func WriteSamples(path string, s *Samples) error {
	n, draws := len(s.States), len(s.Chain)
	arrays := []npy.Array{
		npy.RowsOf("samples", s.Draw, draws, n), npy.ArrayOf("chain", s.Chain, draws),
		npy.ArrayOf("sweep", s.Sweep, draws), npy.ArrayOf("log_score", s.LogScore, draws),
		npy.ArrayOf(statesArray, s.States, n), npy.ArrayOf("held", s.Held, n), npy.ArrayOf("seed", []uint64{s.Seed}),
	}
	if s.RHat != nil {
		arrays = append(arrays, npy.ArrayOf("rhat", s.RHat, n), npy.ArrayOf("ess", s.ESS, n))
	}
	return npy.WriteArchive(path, arrays...)
}

// WritePrediction writes what a model says of one instance as a file that numpy.load reads, whole or not at all:
//
//	labels   [n] int32           the most likely label of every node
//	beliefs  [n, k] float64      the belief of every state; k is the largest number
//	                             of states of any node, and rows are filled with 0
//	states   [n] int32           the number of states of every node
//
// beliefs of node s are given as belief[at[s]:at[s+1]].
func WritePrediction(path string, labels []int32, belief []float64, at []int) error {
	states := make([]int32, len(labels))
	most := 0
	for s := range labels {
		states[s] = int32(at[s+1] - at[s])
		most = max(most, at[s+1]-at[s])
	}
	return npy.WriteArchive(path, npy.ArrayOf(labelsArray, labels, len(labels)),
		npy.RowsOf("beliefs", func(row []float64, s int) { clear(row[copy(row, belief[at[s]:at[s+1]]):]) }, len(labels),
			most),
		npy.ArrayOf(statesArray, states, len(labels)))
}
