package uai

import (
	"fmt"
	"math"
)

// MarginalDistance compares two sets of marginals.
type MarginalDistance struct {
	// Hellinger is the mean over the variables of the Hellinger distance
	//
	//	H(p, q) = √(½ Σ_i (√p_i − √q_i)²),
	//
	// which is from 0 to 1: the score of the UAI competitions for the task MAR.
	Hellinger float64
	// Largest is the largest of these distances, that of variable Worst.
	Largest float64
	Worst   int
	// Absolute is the largest difference of two probabilities.
	Absolute float64
}

// sumSlack is by how much the probabilities of a variable may miss 1: files of
// other programs round.
const sumSlack = 1e-2

// CompareMarginals compares [variable][state] got with want, each normalised. Rows
// that do not fit each other, or are no distributions, are errors that name the
// variable. Without variables all distances are 0.
func CompareMarginals(got, want [][]float64) (*MarginalDistance, error) {
	if len(got) != len(want) {
		return nil, fmt.Errorf("marginals of %d variables, the reference has %d", len(got), len(want))
	}
	d := &MarginalDistance{}
	for v := range want {
		if len(got[v]) != len(want[v]) {
			return nil, fmt.Errorf("variable %d has %d states, in the reference %d", v, len(got[v]), len(want[v]))
		}
		a, err := total(got[v])
		if err != nil {
			return nil, fmt.Errorf("variable %d: %w", v, err)
		}
		b, err := total(want[v])
		if err != nil {
			return nil, fmt.Errorf("variable %d of the reference: %w", v, err)
		}
		sum := 0.0
		for i := range want[v] {
			p, q := got[v][i]/a, want[v][i]/b
			root := math.Sqrt(p) - math.Sqrt(q)
			sum += root * root
			d.Absolute = max(d.Absolute, math.Abs(p-q))
		}
		distance := math.Sqrt(sum / 2)
		d.Hellinger += distance / float64(len(want))
		if distance > d.Largest {
			d.Largest, d.Worst = distance, v
		}
	}
	return d, nil
}

// total returns the sum of probabilities, which must be nearly 1.
func total(probabilities []float64) (float64, error) {
	sum := 0.0
	for i, p := range probabilities {
		if !(p >= 0) {
			return 0, fmt.Errorf("the probability of state %d is %v", i, p)
		}
		sum += p
	}
	if !(math.Abs(sum-1) <= sumSlack) {
		return 0, fmt.Errorf("its probabilities sum to %v, want 1", sum)
	}
	return sum, nil
}
