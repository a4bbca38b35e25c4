package example

import (
	"fmt"
	"math"
	"strings"
)

const (
	networkSide   = 6
	networkStates = 3
)

// writeNetwork writes a grid of variables in UAI format whose neighbours prefer to
// be equal.
func writeNetwork(path string, seed uint64) error {
	rng := source(seed, 0)
	var scopes, tables strings.Builder
	factors := 0
	add := func(scope string, size int, value func(i int) float64) {
		factors++
		fmt.Fprintln(&scopes, scope)
		fmt.Fprintf(&tables, "\n%d\n", size)
		for i := range size {
			fmt.Fprintf(&tables, " %.4f", value(i))
		}
		fmt.Fprintln(&tables)
	}
	for s := range networkSide * networkSide {
		add(fmt.Sprintf("1 %d", s), networkStates, func(int) float64 { return math.Exp(rng.NormFloat64()) })
	}
	for s := range networkSide * networkSide {
		for _, t := range neighbours(s) {
			strength := 2 * rng.Float64()
			add(fmt.Sprintf("2 %d %d", s, t), networkStates*networkStates, func(i int) float64 {
				if i/networkStates == i%networkStates {
					return math.Exp(strength)
				}
				return 1
			})
		}
	}
	cards := strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d ", networkStates), networkSide*networkSide))
	return writeText(path, fmt.Sprintf("MARKOV\n%d\n%s\n%d\n%s%s", networkSide*networkSide, cards, factors, scopes.String(), tables.String()))
}

// neighbours are the variables to the right of and below s.
func neighbours(s int) (list []int) {
	if s%networkSide < networkSide-1 {
		list = append(list, s+1)
	}
	if s < networkSide*(networkSide-1) {
		list = append(list, s+networkSide)
	}
	return list
}
