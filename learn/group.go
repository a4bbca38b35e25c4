package learn

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Group is several processes that make one run together. Each has all of the data, and calls Fit
// with the same problem and settings but for Threads, and for what only one of them should do, such
// as writing checkpoints. The result is the same on all, to the last bit, and that of one process.
//
// All processes call the same methods in the same order. A method returns when this process has
// its part of the result; where another one has ended, a Group ends this one, too.
type Group interface {
	// Rank is the number of this process, below Size.
	Rank() int
	Size() int
	// Agree overwrites values by those of process 0.
	Agree(values []float64)
	// Gather has, of each process one after another, counts[rank] numbers in all. A process has
	// written its own before.
	Gather(all []float64, counts []int)
	// Exchange sends send[r] to each process r, and fills receive[r] with what that process sends
	// here. Lengths are known on both sides, and may be 0; that of this process is.
	Exchange(send, receive [][]float64)
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
	all, counts := make([]float64, s.Group.Size()), make([]int, s.Group.Size())
	all[s.Group.Rank()] = float64(oneIf(x))
	for i := range counts {
		counts[i] = 1
	}
	s.Group.Gather(all, counts)
	for _, y := range all {
		if y > 0 {
			return true
		}
	}
	return false
}

// sameEverywhere refuses a run whose processes have other data, blocks or counting numbers.
func (l *learner) sameEverywhere() error {
	g := l.settings.Group
	if g == nil {
		return nil
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
	g.Gather(all, counts)
	for r := range counts {
		for i, what := range []string{"data", "blocks, whose sizes follow this machine's cache: name them with --blocks", "counting numbers", "initial weights or l2"} {
			if all[i] != all[r*len(digests)+i] {
				return fmt.Errorf("learn: process %d has other %s than process 0: all need the same files, options and version", r, what)
			}
		}
	}
	return nil
}

// longestText is how many bytes of an error go from one process to the others.
const longestText = 1024

// tell returns the text of the process who, at most longestText of it.
func tell(g Group, who int, text string) string {
	all, counts := make([]float64, 1+longestText/4), make([]int, g.Size())
	counts[who] = len(all)
	if g.Rank() == who {
		bytes := make([]byte, longestText)
		all[0] = float64(copy(bytes, text))
		for i := range longestText / 4 {
			all[1+i] = float64(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
	}
	g.Gather(all, counts)
	var bytes []byte
	for _, x := range all[1:] {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(x))
	}
	return string(bytes[:int(math.Max(0, all[0]))])
}
