package synthetic

import (
	"fmt"
	"math"
	"slices"
)

const (
	networkSide   = 6
	networkStates = 3
)

// fillNetwork writes a grid of variables in UAI format whose neighbours prefer to be equal.
func fillNetwork(f *folder, seed uint64) {
	const variables = networkSide * networkSide
	rng := source(seed, 0)
	scopes, tables, factors := "", "", 0
	add := func(scope string, size int, value func(i int) float64) {
		factors++
		scopes += scope + "\n"
		tables += fmt.Sprintf("\n%d\n", size)
		for i := range size {
			tables += fmt.Sprintf(" %.4f", value(i))
		}
		tables += "\n"
	}
	for s := range variables {
		add(fmt.Sprintf("1 %d", s), networkStates, func(int) float64 { return math.Exp(rng.NormFloat64()) })
	}
	join := func(s, t int) {
		strength := math.Exp(2 * rng.Float64())
		add(fmt.Sprintf("2 %d %d", s, t), networkStates*networkStates, func(i int) float64 {
			if i/networkStates == i%networkStates {
				return strength
			}
			return 1
		})
	}
	for s := range variables {
		if s%networkSide < networkSide-1 {
			join(s, s+1)
		}
		if s < variables-networkSide {
			join(s, s+networkSide)
		}
	}
	cards := spaced(slices.Repeat([]int{networkStates}, variables))
	f.text("", fmt.Sprintf("MARKOV\n%d\n%s\n%d\n%s%s", variables, cards, factors, scopes, tables))
}
