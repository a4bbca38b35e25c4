package infer

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestIntervals: bounds by walks of any length hold the probabilities by enumeration, longer ones are no wider, and
// walks that end by themselves give them.
func TestIntervals(t *testing.T) {
	const slack, closed = 1e-12, 1e-7
	wide, narrow, zero := 0, 0, 0
	for seed := range uint64(240) {
		rng := source(seed)
		card := make([]int, 3+seed%6)
		for v := range card {
			card[v] = 1 + rng.IntN(3)
		}
		n := oracle.RandomNetwork(rng, card, 2*len(card), 2+int(seed%5)/4, 0.5+3*rng.Float64(), 0.4*float64(seed%3))
		evidence, all := map[int]int{1: rng.IntN(card[1])}, rng.Perm(len(card))
		given := must(n.Condition(evidence))
		if math.IsInf(oracle.NetworkLogZ(given.Network), -1) {
			_, err := Marginals(context.Background(), n, Options{Evidence: evidence, Query: all, Method: walking})
			if zero++; !errors.Is(err, ErrZero) {
				t.Errorf("network %d: the error is %v, want ErrZero", seed, err)
			}
			continue
		}
		free, _ := oracle.NetworkMarginals(given.Network)
		truth, last := given.Marginals(free), (*Result)(nil)
		for _, most := range []float64{1, 30, 100, 300, 1000, 1e4, 1e9, 0} {
			o := Options{Evidence: evidence, Query: all, Method: walking, operations: most}
			if most == 0 {
				o.Method = ""
			}
			got := must(Marginals(context.Background(), n, o))
			for i, v := range all {
				for x, p := range truth[v] {
					lo, hi := got.Lower[i][x], got.Upper[i][x]
					if hi-lo > closed {
						wide++
					} else {
						narrow++
					}
					if !(0 <= lo && lo <= p+slack && p-slack <= hi && hi <= 1) || most > 1e4 && !(hi-lo < closed) ||
						most == 0 && lo != hi || last != nil && (lo < last.Lower[i][x]-slack || hi > last.Upper[i][x]+slack) && most > 0 {
						t.Errorf("network %d, work %g: p(%d = %d) is %v, not in [%v, %v]", seed, most, v, x, p, lo, hi)
					}
				}
			}
			last = got
		}
	}
	if wide < 1000 || narrow < 1000 || zero < 10 {
		t.Errorf("%d wide intervals, %d narrow ones, %d networks of probability zero", wide, narrow, zero)
	}
}
