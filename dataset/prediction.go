package dataset

// WritePrediction writes what a model says of one instance as a file that
// numpy.load reads, whole or not at all:
//
//	labels   [n] int32           the most likely state of every node
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
	return writeArchive(path, arrayOf(labelsArray, labels, len(labels)),
		rowsOf("beliefs", func(row []float64, s int) { clear(row[copy(row, belief[at[s]:at[s+1]]):]) }, len(labels), most),
		arrayOf(statesArray, states, len(labels)))
}
