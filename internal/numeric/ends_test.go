package numeric

import (
	"math/rand/v2"
	"testing"
)

// TestTold: ends tell of labels where each edge leads from a state to itself or to the next by chance. Where an order
// of nodes made them, by classes or by a crawl, also one that a tenth of them do not follow, they don't.
func TestTold(t *testing.T) {
	round := Ends{make([]int32, 4), []int32{0, 1, 2, 3}, []int32{1, 2, 0, 0}}
	on := Ends{make([]int32, 4), []int32{0, 1, 0}, []int32{1, 2, 2}}
	if !cyclic(round) || cyclic(on) {
		t.Error("cycles are not found, or where there are none")
	}
	const n, states, edges = 1200, 3, 3000
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		labels, neighbours := make([]int32, n), make([][]int32, n)
		place := map[string][]int{"": make([]int, n), "classes": rng.Perm(n), "a crawl": make([]int, n)}
		for s := range labels {
			labels[s] = int32(rng.IntN(states))
			place["classes"][s] += int(labels[s]) * n
		}
		var ring, near Ends
		for len(near.U) < edges {
			u, v := rng.Int32N(n), rng.Int32N(n)
			x, y := labels[u], labels[v]
			if u != v && y == (x+rng.Int32N(2))%states {
				ring.U, ring.V = append(ring.U, u), append(ring.V, v)
			}
			if u != v && (x == y || rng.IntN(8) == 0) {
				near.U, near.V = append(near.U, u), append(near.V, v)
				neighbours[u], neighbours[v] = append(neighbours[u], v), append(neighbours[v], u)
			}
		}
		for i, s := range NarrowOrder(neighbours) {
			place["a crawl"][s] = i
		}
		for _, c := range []struct {
			of    Ends
			order string
			not   float64 // of edges that do not follow the order
			want  bool
		}{
			{ring, "", 0, true}, {Ends{U: ring.U[:60], V: ring.V[:60]}, "", 0, false}, {ring, "", .5, false},
			{near, "classes", 0, false}, {near, "classes", .1, false}, {near, "a crawl", 0, false}, {near, "a crawl", .1, false},
		} {
			of, at, got := Ends{Labels: labels}, place[c.order], false
			for e, u := range c.of.U {
				v := c.of.V[e]
				if at[u] > at[v] != (rng.Float64() < c.not) {
					u, v = v, u
				}
				of.U, of.V = append(of.U, u), append(of.V, v)
			}
			for a := range int32(states) {
				for b := range int32(states) {
					got = got || a != b && Told([]Ends{of}, a, b)
				}
			}
			if got != c.want {
				t.Errorf("seed %d, ends in the order %q but for %v of %d edges: told is %v", seed, c.order, c.not, len(of.U), got)
			}
		}
	}
}
