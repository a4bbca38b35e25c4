package exact

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// randomPlan plans a network of random scopes.
func randomPlan(t *testing.T, rng *rand.Rand, scale float64) *Plan {
	t.Helper()
	card := make([]int, 5+rng.IntN(20))
	for v := range card {
		card[v] = 1 + rng.IntN(4)
	}
	return NewPlan(oracle.RandomNetwork(rng, card, len(card)+rng.IntN(10), 3, scale, 0.1), math.Inf(1))
}

// A run takes exactly the memory that its plan forecasts.
func TestForecastIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	for range 30 {
		plan := randomPlan(t, rng, 1)
		r := newRun(context.Background(), plan, false)
		chosen := oracle.Must(r.maximize())(t)
		got := r.bytes + plan.groupBytes()
		for _, states := range chosen {
			got += int64(len(states)) * bytesPerState
		}
		if got != plan.MaximumBytes || len(chosen) != len(plan.buckets) {
			t.Errorf("maximum: %d bytes used, forecast %d", got, plan.MaximumBytes)
		}
		for _, marginals := range []bool{false, true} {
			r := newRun(context.Background(), plan, false)
			oracle.Must(r.forward(marginals))(t)
			want := plan.PartitionBytes
			if marginals {
				want = plan.Bytes
				oracle.OK(t, r.backward(&Answer{}))
			}
			oracle.Equal(t, r.bytes+plan.groupBytes(), want, "marginals %v: bytes used, and forecast", marginals)
			free := int64(0)
			for _, t := range r.free {
				free += int64(t.size) * bytesPerEntry
			}
			if marginals && free != r.bytes {
				t.Errorf("%d of %d bytes were given back", free, r.bytes)
			}
		}
	}
}

// Both forms of a bucket are in use where they are meant to be.
func TestFormFollowsRange(t *testing.T) {
	for _, c := range []struct {
		scale       float64
		logarithmic bool
	}{{1, false}, {1e4, true}} {
		plan := randomPlan(t, rand.New(rand.NewPCG(8, 9)), c.scale)
		r := newRun(context.Background(), plan, false)
		oracle.Must(r.forward(true))(t)
		any := slices.ContainsFunc(r.ways, func(w way) bool { return w.logarithmic })
		oracle.Equal(t, any, c.logarithmic, "scale %g: logarithmic", c.scale)
	}
}

// The bookkeeping of the elimination game agrees with counting from scratch.
func TestGameKeepsCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	for range 20 {
		card := make([]int, 12)
		for v := range card {
			card[v] = 1 + rng.IntN(4)
		}
		g := randomGame(t, rng, card)
		for g.Len() > 0 {
			var waiting []int32
			for v, eliminated := range g.eliminated {
				if !eliminated {
					waiting = append(waiting, int32(v))
				}
			}
			for _, v := range waiting {
				fill, weight := g.recount(v)
				if g.fill[v] != fill || math.Abs(g.weight[v]-weight) > 1e-9 {
					t.Fatalf("variable %d: fill %d, weight %v, want %d, %v", v, g.fill[v], g.weight[v], fill, weight)
				}
			}
			least := slices.MinFunc(waiting, func(v, w int32) int {
				if g.Less(g.place[v], g.place[w]) {
					return -1
				}
				return 1
			})
			v := heap.Pop(g).(int32)
			oracle.MustEqual(t, v, least, "the variable that was taken")
			g.eliminate(v)
		}
	}
}

func randomGame(t *testing.T, rng *rand.Rand, card []int) *game {
	t.Helper()
	neighbours, logCard := interactionGraph(oracle.RandomNetwork(rng, card, 14, 3, 1, 0))
	return newGame(neighbours, logCard, []rule{minFill, minWeight}[rng.IntN(2)])
}

// recount counts the fill and weight of v by their definition.
func (g *game) recount(v int32) (fill int, weight float64) {
	list := g.live(v)
	weight = g.logCard[v]
	for i, a := range list {
		weight += g.logCard[a]
		for _, b := range list[i+1:] {
			if !slices.Contains(g.live(a), b) {
				fill++
			}
		}
	}
	return fill, weight
}
