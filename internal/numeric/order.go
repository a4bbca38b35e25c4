package numeric

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// NarrowOrder numbers the nodes of a graph so that neighbours are near each other: breadth first from a node with few
// neighbours, those with few of their own first (Cuthill and McKee 1969).
func NarrowOrder(neighbours [][]int32) []int32 {
	n := len(neighbours)
	starts := To(n)
	byDegree := func(a, b int32) int { return len(neighbours[a]) - len(neighbours[b]) }
	slices.SortStableFunc(starts, byDegree)
	seen := make([]bool, n)
	order := make([]int32, 0, n)
	for _, s := range starts {
		if seen[s] {
			continue
		}
		seen[s] = true
		next := len(order)
		order = append(order, s)
		for ; next < len(order); next++ {
			from := len(order)
			for _, t := range neighbours[order[next]] {
				if !seen[t] {
					seen[t] = true
					order = append(order, t)
				}
			}
			slices.SortStableFunc(order[from:], byDegree)
		}
	}
	return order
}

// SetOf answers whether something is in a list, however long: a search through it, once for each entry of another,
// takes time with the square of their length, which a file may choose.
func SetOf[X comparable](list []X) map[X]bool {
	set := make(map[X]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// InOrder returns texts in the order in which people look for them: numbers by size, before others by the alphabet.
func InOrder(texts []string) []string {
	key := func(text string) float64 {
		if x, err := ParseDecimal(text); err == nil {
			return x
		}
		return math.Inf(1)
	}
	return slices.SortedFunc(slices.Values(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), strings.Compare(a, b))
	})
}

// To are the numbers from 0 to n-1.
func To(n int) []int32 {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	return numbers
}

// Fill gives all entries of a list one value.
func Fill[X any](list []X, x X) {
	for i := range list {
		list[i] = x
	}
}

// Sum adds numbers up in their order.
func Sum[X int | int32 | int64 | float64](list []X) (sum X) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// Map is what a function makes of each of a list.
func Map[X, Y any](list []X, of func(x X) Y) (all []Y) {
	for _, x := range list {
		all = append(all, of(x))
	}
	return all
}

// Pick returns those entries of a list, nil of nil.
func Pick[X any](list []X, which []int32) []X {
	if list == nil {
		return nil
	}
	return Map(which, func(i int32) X { return list[i] })
}

// NaturalOrder orders names as people number files: digits compare as numbers, so that "2.npz" comes before "10.npz".
func NaturalOrder(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if m == 0 || n == 0 {
			m, n, p, q = 1, 1, x[:1], y[:1]
		}
		if order := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); order != 0 {
			return order
		}
		x, y = x[m:], y[n:]
	}
	// Names that differ only in leading zeros still need a fixed order.
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits is how many of them s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
