package learn

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/simd"
)

// Group is several processes that make one run together. Each has all of the data, and calls Fit
// with the same problem and settings except for Threads, and for what only one of them should do.
// Checkpoint is called in process 0 alone; State.WriteFile there brings the parts of all processes together.
// The result is the same on all, to the last bit, and that of one process.
//
// All processes call the same methods in the same order. A method returns when this process has its part of the result;
// where another one has ended, a Group ends this one, too. Slices are used until then only.
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

// sameEverywhere refuses a run whose processes have other data, blocks, numbers or options.
func (l *learner) sameEverywhere() error {
	g := l.settings.Group
	if g == nil {
		return nil
	}
	if g.Size() > mostParts {
		return fmt.Errorf("learn: %d processes, and a run is made by at most %d: start fewer, with more threads each",
			g.Size(), mostParts)
	}
	start := runstate.Digest(0)
	start.AddFloats(l.model.Weights)
	for _, t := range append(slices.Clone(l.identify()), trait{"initial weights", start.String()},
		trait{"options or version", l.everyOption()},
		trait{"kernels (AVX-512, AVX2 or plain Go, which round differently), so give all the same, " +
			"as by GODEBUG=cpu.avx512f=off", simd.Name()},
	) {
		all := g.Bytes([]byte(t.is))
		for r, has := range all {
			if string(has) != string(all[0]) {
				return fmt.Errorf("learn: process %d has other %s than process 0: all need the same files, options and version; "+
					"blocks follow the machine's cache where no number of them is given", r, t.name)
			}
		}
	}
	return nil
}

// everyOption is what of the settings decides the course of a run, in words: traits, limits, what watches it, and
// what it goes on from.
func (l *learner) everyOption() string {
	s, resume, metric := l.settings, "", EarlyStop{}
	if s.Resume != nil {
		resume = s.Resume.saved.Checksum + string(s.Resume.saved.Progress)
	}
	if s.EarlyStop != nil {
		metric = *s.EarlyStop
	}
	return fmt.Sprint(runstate.Format, l.traits(nil), s.Seed, s.GradientTolerance, s.RelativeTolerance,
		s.Gap, s.Proof, s.MaxIterations, s.MaxPasses, s.MaxTime, s.Evaluate != nil, s.EvaluateEvery, metric,
		s.Checkpoint != nil, s.CheckpointEvery > 0, resume)
}
