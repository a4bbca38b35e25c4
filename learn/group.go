package learn

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/simd"
)

// Group is several processes that make one run together. Each has all of the data, and calls Fit
// with the same problem and settings but for Threads, and for what only one of them should do.
// Checkpoint is called in process 0 alone; State.WriteFile there has all processes write their parts.
// The result is the same on all, to the last bit, and that of one process.
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

// first reports whether this is process 0.
func (s *Settings) first() bool { return s.Group == nil || s.Group.Rank() == 0 }

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

// common returns in all processes the error of the first that has one, as a commonError.
func (s *Settings) common(err error) error {
	if s.Group == nil {
		return err
	}
	var own []byte
	if err != nil {
		own = fmt.Appendf(nil, "%d%v", oneIf(errors.Is(err, ErrState)), err)
	}
	for r, text := range s.Group.Bytes(own) {
		switch {
		case len(text) == 0:
		case r == s.Group.Rank():
			return &commonError{r, err.Error(), err}
		case text[0] == '1':
			return &commonError{r, string(text[1:]), ErrState}
		default:
			return &commonError{r, string(text[1:]), nil}
		}
	}
	return nil
}

// commonError is an error that all processes return.
type commonError struct {
	process int
	text    string
	is      error // the error itself in the process that has met it, or its kind in others; nil: no other kind than text
}

func (e *commonError) Error() string { return e.text }
func (e *commonError) Unwrap() error { return e.is }

// Process returns which process has met it.
func (e *commonError) Process() int { return e.process }

// sameEverywhere refuses a run whose processes have other data, blocks or counting numbers.
func (l *learner) sameEverywhere() error {
	g := l.settings.Group
	if g == nil {
		return nil
	}
	if g.Size() > mostParts {
		return fmt.Errorf("learn: %d processes, and a run is made by at most %d: start fewer, with more threads each", g.Size(), mostParts)
	}
	is, start := l.identify(), runstate.Digest(0)
	start.AddFloats(l.model.Weights)
	for _, x := range []struct{ what, has string }{
		{"data", is.Data},
		{"blocks, whose sizes follow the machine's cache: name them with --blocks", is.Partition},
		{"counting numbers", is.Counting},
		{"initial weights", start.String()},
		{"options or version", l.settings.course(l.problem.L2)},
		{"kernels (AVX-512, AVX2 or plain Go, which round differently), so give all the same, as by GODEBUG=cpu.avx512f=off", simd.Name()},
	} {
		all := g.Bytes([]byte(x.has))
		for r, has := range all {
			if string(has) != string(all[0]) {
				return fmt.Errorf("learn: process %d has other %s than process 0: all need the same files, options and version", r, x.what)
			}
		}
	}
	return nil
}

// course is what of the settings decides the course of a run, in words.
func (s *Settings) course(l2 float64) string {
	resume := ""
	if s.Resume != nil {
		resume = s.Resume.checksum + string(s.Resume.progress)
	}
	metric := ""
	if s.EarlyStop != nil {
		metric = fmt.Sprint(*s.EarlyStop)
	}
	return fmt.Sprint(stateFormat, l2, s.Method, s.stepName(), s.order(), s.Seed, s.Together, s.Pairs, s.InnerSweeps, s.InnerTolerance,
		s.GradientTolerance, s.RelativeTolerance, s.ObjectiveTolerance, s.Gap, s.Proof, s.MaxIterations, s.MaxPasses, s.MaxTime,
		s.Evaluate != nil, s.EvaluateEvery, metric, s.Checkpoint != nil, resume)
}
