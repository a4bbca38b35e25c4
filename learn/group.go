package learn

import "fmt"

// Group is several processes that make one run together. Each has all of the data, and calls Fit
// with the same problem and settings but for Threads, and for what only one of them should do, such
// as writing checkpoints. The result is the same on all, to the last bit, and that of one process.
//
// All processes call the same methods in the same order. A method returns when this process has
// its part of the result; where another one has ended, a Group ends this one, too. Slices are used
// until then only.
type Group interface {
	// Rank is the number of this process, below Size.
	Rank() int
	Size() int
	// Agree sets x to what process 0 has.
	Agree(x []float64)
	// Any reports whether a flag is set in any process.
	Any(flag bool) bool
	// Gather sets dst to the vectors of all processes, one after another. That of process r has
	// lengths[r] numbers; own may be its place in dst.
	Gather(dst, own []float64, lengths []int)
	// Sum sets dst to the sum of vectors of its length, in an order that depends on their number
	// alone. Those of process r are bounds[r] to bounds[r+1]−1, own being those of this one.
	Sum(dst []float64, own [][]float64, bounds []int)
	// Exchange sends send[r] to each process r, and fills recv[r] with what that process sends
	// here. Lengths are known on both sides, and may be 0; those of this process itself are.
	Exchange(send, recv [][]float64)
	// Bytes returns the texts of all processes.
	Bytes(own []byte) [][]byte
}

// size is the number of processes.
func (s *Settings) size() int {
	if s.Group == nil {
		return 1
	}
	return s.Group.Size()
}

// agree returns x of process 0.
func (s *Settings) agree(x float64) float64 {
	if s.Group == nil {
		return x
	}
	one := [1]float64{x}
	s.Group.Agree(one[:])
	return one[0]
}

// any reports whether x is true in any process.
func (s *Settings) any(x bool) bool {
	if s.Group == nil {
		return x
	}
	return s.Group.Any(x)
}

// sameEverywhere refuses a run whose processes have other data, blocks or counting numbers.
func (l *learner) sameEverywhere() error {
	g := l.settings.Group
	if g == nil {
		return nil
	}
	if g.Size() > mostParts {
		return fmt.Errorf("learn: %d processes, and a run is made by at most %d: start fewer, with more threads each", g.Size(), mostParts)
	}
	is := l.identify()
	var digests [4]digest
	for i, text := range []string{is.Data, is.Partition, is.Counting} {
		for _, b := range []byte(text) {
			digests[i].add(uint64(b))
		}
	}
	digests[3].addFloats(l.model.Weights)
	digests[3].addFloats([]float64{l.problem.L2})
	all, counts := make([]float64, len(digests)*g.Size()), make([]int, g.Size())
	for i, d := range digests {
		all[g.Rank()*len(digests)+i] = float64(uint32(d))
	}
	for r := range counts {
		counts[r] = len(digests)
	}
	g.Gather(all, all[g.Rank()*len(digests):][:len(digests)], counts)
	for r := range counts {
		for i, what := range []string{"data", "blocks, whose sizes follow this machine's cache: name them with --blocks", "counting numbers", "initial weights or l2"} {
			if all[i] != all[r*len(digests)+i] {
				return fmt.Errorf("learn: process %d has other %s than process 0: all need the same files, options and version", r, what)
			}
		}
	}
	return nil
}
