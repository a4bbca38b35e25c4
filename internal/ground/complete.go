package ground

import (
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
)

// Completions is how many joint states the hidden labels of a sample have: 1 where all are known.
func Completions(in *crf.Instance, labels []int32) float64 {
	n := 1.0
	for s, y := range labels {
		if y == crf.Unobserved {
			n *= float64(in.States(int32(s)))
		}
	}
	return n
}

// hiddenOf lists the nodes whose labels are hidden.
func hiddenOf(labels []int32) []int32 {
	return slices.DeleteFunc(numeric.To(len(labels)), func(s int32) bool { return labels[s] != crf.Unobserved })
}

// EachCompletion calls do with a sample whose hidden labels are filled in, in each way. The labels are good for one
// call.
func EachCompletion(in *crf.Instance, labels []int32, do func(full []int32)) {
	hidden, full := hiddenOf(labels), slices.Clone(labels)
	for _, s := range hidden {
		full[s] = 0
	}
	for {
		do(full)
		next := 0 // the first hidden label that has another state yet; those before begin again
		for ; next < len(hidden); next++ {
			s := hidden[next]
			if full[s]++; int(full[s]) < in.States(s) {
				break
			}
			full[s] = 0
		}
		if next == len(hidden) {
			return
		}
	}
}

const (
	// MostDraws bounds how many samples stand for one with hidden labels. Beyond so many joint states they are drawn: the
	// error that this makes is a share of 1/MostDraws of that which missing values make.
	MostDraws = 8
	// firstSweeps of a chain, and sweeps between draws: labels that are known hold most of what is near.
	firstSweeps, sweepsBetween = 10, 2
)

// Complete returns the instance with every hidden label filled in: a sample is there once for each joint state of
// what it hides, with the probability given what is known for its weight, or, where these are many, for draws of
// Gibbs sampling. Random numbers are those of the sample, whatever the weights.
func (l *PseudoLikelihood) Complete(m *crf.Model, in *crf.Instance, whole *partition.Block) (*crf.Instance, error) {
	l.potential.Ground(m, in, whole)
	spec := in.Spec()
	spec.Labels, spec.SampleWeights = nil, nil
	for i, labels := range in.Samples() {
		weight, first := in.SampleWeight(i), len(spec.Labels)
		add := func(full []int32, w float64) {
			spec.Labels, spec.SampleWeights = append(spec.Labels, slices.Clone(full)), append(spec.SampleWeights, w)
		}
		if n := Completions(in, labels); n > MostDraws {
			l.draw(in, labels, uint64(i), func(full []int32) { add(full, weight/MostDraws) })
			continue
		} else if n == 1 {
			add(labels, weight)
			continue
		}
		EachCompletion(in, labels, func(full []int32) { add(full, l.potential.LogScore(in, full)) })
		p := spec.SampleWeights[first:]
		Softmax(p)
		for x := range p {
			p[x] *= weight
		}
	}
	return crf.NewInstance(in.Schema(), spec)
}

// draw makes draws of what a sample hides.
func (l *PseudoLikelihood) draw(in *crf.Instance, labels []int32, number uint64, do func(full []int32)) {
	rng := rand.New(rand.NewPCG(number, 0x68696464656e))
	hidden, full := hiddenOf(labels), slices.Clone(labels)
	for _, s := range hidden {
		full[s] = int32(rng.IntN(in.States(s)))
	}
	for sweep := 1; sweep <= firstSweeps+MostDraws*sweepsBetween; sweep++ {
		for _, s := range hidden {
			l.logits = slices.Grow(l.logits[:0], in.States(s))[:in.States(s)]
			l.conditional(l.logits, in, full, s)
			rest := rng.Float64()
			for x, p := range l.logits {
				if rest -= p; rest < 0 && p > 0 {
					full[s] = int32(x)
					break
				}
			}
		}
		if sweep > firstSweeps && (sweep-firstSweeps)%sweepsBetween == 0 {
			do(full)
		}
	}
}
