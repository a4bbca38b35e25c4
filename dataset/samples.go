package dataset

import (
	"archive/zip"
	"io"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/npy"
)

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
	return atomicfile.Write(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		writes := []func() error{
			func() error { return s.writeDraws(archive) },
			func() error { return writeEntry(archive, "chain", []int{draws}, s.Chain) },
			func() error { return writeEntry(archive, "sweep", []int{draws}, s.Sweep) },
			func() error { return writeEntry(archive, "log_score", []int{draws}, s.LogScore) },
			func() error { return writeEntry(archive, "states", []int{n}, s.States) },
			func() error { return writeEntry(archive, "held", []int{n}, s.Held) },
			func() error { return writeEntry(archive, "seed", nil, []uint64{s.Seed}) },
		}
		if s.RHat != nil {
			writes = append(writes,
				func() error { return writeEntry(archive, "rhat", []int{n}, s.RHat) },
				func() error { return writeEntry(archive, "ess", []int{n}, s.ESS) })
		}
		for _, write := range writes {
			if err := write(); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// writeDraws writes one joint state after another: all of them as int32 could be
// far more than they take in memory.
func (s *Samples) writeDraws(archive *zip.Writer) error {
	w, err := newEntry(archive, "samples")
	if err != nil {
		return err
	}
	x := make([]int32, len(s.States))
	if err := npy.WriteHeader[int32](w, []int{len(s.Chain), len(x)}); err != nil {
		return err
	}
	for i := range s.Chain {
		s.Draw(x, i)
		if err := npy.WriteData(w, x); err != nil {
			return err
		}
	}
	return nil
}
