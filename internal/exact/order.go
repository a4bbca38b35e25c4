package exact

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

const (
	// largestTable is log2 of the number of entries of a table above which the
	// search for an order gives up: no machine holds it.
	largestTable = 42
	// The search for a better order by breaking ties at random goes on as long as its list steps stay below this
	// fraction of the work forecast, and below a total that takes about half a second.
	searchFraction = 0.05
	searchBudget   = 40e6
)

// elimination is an order of the variables and what it costs.
type elimination struct {
	order []int32 // variable eliminated at each position
	// separators[i] are the neighbours of order[i] when it is eliminated.
	separators [][]int32
	operations float64 // Σ entries of the buckets' joint tables
	width      int     // largest separator, in variables
	largest    float64 // log2 of the entries of the largest joint table
	complete   bool    // false if it gave up
	steps      int     // work spent on finding it
}

// findOrder plays the elimination game by min-fill, by min-weight and as a sweep, then, where even the cheapest order
// is costly, by min-fill with ties broken at random, and returns the cheapest order of all.
//
// Orders that take more than the given operations are given up on, and so is, where these are bounded, the search by
// a rule that takes more than searchBudget.
func findOrder(n *mrf.Network, operations float64) *elimination {
	neighbours, logCard := interactionGraph(n)
	most, steps, best := math.MaxInt, 0, &elimination{largest: math.Inf(1)}
	if !math.IsInf(operations, 1) {
		most = searchBudget
	}
	try := func(r rule) {
		bound := operations
		if best.complete {
			bound = best.operations
		}
		candidate := newGame(neighbours, logCard, r).play(bound, most)
		steps += candidate.steps
		if better(candidate, best) {
			best = candidate
		}
	}
	try(minFill)
	try(minWeight)
	// In reverse Cuthill–McKee order a front sweeps across the network, on grids far narrower than what greedy rules find.
	ties := make([]float64, len(logCard))
	for i, v := range numeric.NarrowOrder(neighbours) {
		ties[v] = float64(len(ties) - i)
	}
	try(func(_ *game, v int32) (float64, float64) { return ties[v], 0 })
	rng := rand.New(rand.NewPCG(uint64(len(logCard)), 0x0de7)) // any fixed seed does
	for best.complete && float64(steps) < min(searchBudget, searchFraction*best.operations) {
		for v := range ties {
			ties[v] = float64(rng.Uint32())
		}
		try(func(g *game, v int32) (float64, float64) { return float64(g.fill[v]), ties[v] })
	}
	return best
}

// better compares two orders; one that gave up early is the better the further it got below the other's largest table.
func better(a, b *elimination) bool {
	if a.complete != b.complete {
		return a.complete
	}
	if !a.complete {
		return a.largest < b.largest
	}
	return a.operations < b.operations
}

// interactionGraph joins variables that share a factor. It returns the sorted
// neighbours of each variable and log2 of its states.
func interactionGraph(n *mrf.Network) (neighbours [][]int32, logCard []float64) {
	neighbours = make([][]int32, len(n.Card))
	logCard = numeric.Map(n.Card, func(card int) float64 { return math.Log2(float64(card)) })
	for f := range n.Factors {
		for _, v := range n.Factors[f].Scope {
			for _, w := range n.Factors[f].Scope {
				if v != w {
					neighbours[v] = append(neighbours[v], int32(w))
				}
			}
		}
	}
	for v := range neighbours {
		slices.Sort(neighbours[v])
		neighbours[v] = slices.Compact(neighbours[v])
	}
	return neighbours, logCard
}

// rule says which variable the elimination game takes next: that of the least first number, then of the least second.
type rule func(g *game, v int32) (first, second float64)

// minFill takes the variable with the fewest new edges, of these that with the smallest table, minWeight the reverse.
func minFill(g *game, v int32) (fill, weight float64)   { return float64(g.fill[v]), g.weight[v] }
func minWeight(g *game, v int32) (weight, fill float64) { return g.weight[v], float64(g.fill[v]) }

// game is the state of the elimination game: eliminating a variable joins all its neighbours with each other.
// It is a heap of the variables that are left, by the rule.
type game struct {
	rule       rule
	neighbours [][]int32 // sorted, with stale ones that are eliminated: see live
	stale      []int     // [variable] how many
	eliminated []bool    // [variable]
	logCard    []float64
	fill       []int     // [variable] edges that its elimination would add
	weight     []float64 // [variable] log2 of the entries of its joint table
	left       []int32   // the heap
	place      []int     // [variable] in left, −1 once it has been taken
	steps      int
}

// newGame copies the graph.
func newGame(neighbours [][]int32, logCard []float64, r rule) *game {
	n := len(neighbours)
	g := &game{rule: r, logCard: logCard, neighbours: make([][]int32, n), stale: make([]int, n),
		eliminated: make([]bool, n), fill: make([]int, n), weight: slices.Clone(logCard), left: make([]int32, n),
		place: make([]int, n), steps: 1 + n}
	for v, list := range neighbours {
		g.left[v], g.place[v] = int32(v), v
		g.neighbours[v] = slices.Clone(list)
		g.fill[v] += len(list) * (len(list) - 1) / 2
		for _, w := range list {
			g.weight[v] += logCard[w]
			if int(w) > v { // an edge that exists need not be added for a common neighbour
				g.common(list, neighbours[w], func(u int32) { g.fill[u]-- })
			}
		}
	}
	heap.Init(g)
	return g
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (g *game) Len() int { return len(g.left) }

// Less goes by the rule, and then by the variables' numbers.
func (g *game) Less(i, j int) bool {
	v, w := g.left[i], g.left[j]
	a, b := g.rule(g, v)
	c, d := g.rule(g, w)
	return a < c || a == c && (b < d || b == d && v < w)
}

// Swap keeps the places.
func (g *game) Swap(i, j int) {
	g.left[i], g.left[j] = g.left[j], g.left[i]
	g.place[g.left[i]], g.place[g.left[j]] = i, j
}

// Push is never called: nothing is put back.
func (g *game) Push(any) { panic("exact: a variable was put back") }

// Pop takes the last variable.
func (g *game) Pop() any {
	v := g.left[len(g.left)-1]
	g.left, g.place[v] = g.left[:len(g.left)-1], -1
	return v
}

// fix moves a variable, unless it has been taken, to its place after its numbers have changed.
func (g *game) fix(v int32) {
	if g.place[v] >= 0 {
		heap.Fix(g, g.place[v])
	}
}

// common calls visit with every element of both sorted lists and returns their number.
func (g *game) common(a, b []int32, visit func(int32)) int {
	g.steps += len(a) + len(b)
	count := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			visit(a[i])
			count++
			i++
			j++
		}
	}
	return count
}

// play eliminates all variables. It gives up once the work exceeds bound, a table
// largestTable, or the steps of the game a number of their own.
func (g *game) play(bound float64, steps int) *elimination {
	e := &elimination{}
	for g.Len() > 0 {
		v := heap.Pop(g).(int32)
		separator := g.live(v)
		e.order = append(e.order, v)
		e.separators = append(e.separators, separator)
		e.operations += math.Exp2(g.weight[v])
		e.width = max(e.width, len(separator))
		e.largest = max(e.largest, g.weight[v])
		g.steps++
		e.steps = g.steps
		if e.operations > bound || e.largest > largestTable || g.steps > steps {
			return e
		}
		g.eliminate(v)
	}
	e.complete = true
	return e
}

// eliminate joins the neighbours of v and takes v out.
func (g *game) eliminate(v int32) {
	list := g.live(v)
	for i, a := range list {
		for _, b := range list[i+1:] {
			if _, joined := slices.BinarySearch(g.neighbours[a], b); !joined {
				g.join(a, b)
			}
		}
		g.steps += len(list)
	}
	g.eliminated[v] = true
	for _, a := range list {
		// v's neighbours are a clique now, so the pairs (v, w) that were still
		// missing around a are those with w outside of it.
		g.fill[a] -= len(g.neighbours[a]) - g.stale[a] - len(list)
		g.weight[a] -= g.logCard[v]
		g.stale[a]++
		g.fix(a)
	}
}

// live returns the neighbours of a that are not eliminated. They are sorted out here: to do so
// for each that is eliminated would take the square of the degree.
func (g *game) live(a int32) []int32 {
	if g.stale[a] > 0 {
		g.neighbours[a] = slices.DeleteFunc(g.neighbours[a], func(w int32) bool { return g.eliminated[w] })
		g.stale[a] = 0
	}
	return g.neighbours[a]
}

// join adds the edge (a, b).
func (g *game) join(a, b int32) {
	shared := g.common(g.live(a), g.live(b), func(w int32) {
		g.fill[w]--
		g.fix(w)
	})
	g.link(a, b, shared)
	g.link(b, a, shared)
}

// link makes b a neighbour of a; the two have shared neighbours.
func (g *game) link(a, b int32, shared int) {
	g.fill[a] += len(g.neighbours[a]) - shared
	g.weight[a] += g.logCard[b]
	at, _ := slices.BinarySearch(g.neighbours[a], b)
	g.neighbours[a] = slices.Insert(g.neighbours[a], at, b)
	g.fix(a)
}
