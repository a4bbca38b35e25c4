package bp

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestVelocity: velocities are the changes of messages over a visit, with what carrying
// did; carried messages and beliefs stay in (4), other blocks' stay as they are, and
// the fixed point is the same.
func TestVelocity(t *testing.T) {
	const factor = 0.5
	g := legal(graph.Grid(5, 6, graph.GridOptions{}))
	for _, observed := range []bool{false, true} {
		rng := source(12)
		p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, 4), 1.5, 0)
		var held []int32
		if observed {
			held = slices.Repeat([]int32{-1}, g.NumNodes())
			held[7] = 1
		}
		plain, carried := newBlockInference(t, p, counting.Convex(g), held, randomPartition(rng, g, 3)), (*inference)(nil)
		carried = newBlockInference(t, p, counting.Convex(g), held, plain.part)
		plain.converge(t, []int{0, 1, 2}, 5, 1e-13)
		velocity := carried.net.NewVelocity()
		var m Momentum
		passes := 0
		for ; passes < 400; passes++ {
			largest := 0.0
			for b := range carried.part.Blocks {
				block := &carried.part.Blocks[b]
				before := slices.Clone(carried.state.LogMessage)
				Carry(carried.net, carried.state, velocity, block, factor)
				m.Remember(carried.net, carried.state, velocity, block, factor)
				old := slices.Clone(velocity)
				carried.sweep(t, []int{b})
				product, square := m.Measure(carried.net, carried.state, velocity, block)
				wantProduct, wantSquare := 0.0, 0.0
				for i, x := range carried.state.LogMessage {
					change := x - before[i]
					if change == 0 && velocity[i] == old[i] {
						continue // of another block
					}
					if math.Abs(change-float64(velocity[i])) > 1e-6*(1+math.Abs(change)) {
						t.Fatalf("pass %d, block %d: message entry %d moved by %v, its velocity is %v", passes, b, i, change, velocity[i])
					}
					wantProduct += change * float64(old[i])
					wantSquare += change * change
					largest = max(largest, math.Abs(change))
				}
				if math.Abs(product-wantProduct) > 1e-9*(1+wantSquare) || math.Abs(square-wantSquare) > 1e-9*(1+wantSquare) {
					t.Fatalf("pass %d, block %d: products %v and %v, want %v and %v", passes, b, product, square, wantProduct, wantSquare)
				}
			}
			if largest < 1e-12 {
				break
			}
		}
		for i, x := range carried.state.LogBelief {
			if math.Abs(x-plain.state.LogBelief[i]) > 1e-8 {
				t.Fatalf("observed %v: after %d passes log-belief %d is %v, want %v", observed, passes, i, x, plain.state.LogBelief[i])
			}
		}
	}
}

// TestCarryKeepsBeliefsConsistent: beliefs that belong to their messages by (4) do so
// when both are carried on, up to their norm.
func TestCarryKeepsBeliefsConsistent(t *testing.T) {
	g := legal(graph.Grid(4, 4, graph.GridOptions{}))
	rng := source(13)
	p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 3, 3), 1, 0)
	r := newBlockInference(t, p, counting.Convex(g), nil, randomPartition(rng, g, 1))
	r.sweep(t, []int{0})
	velocity := r.net.NewVelocity()
	for i := range velocity {
		velocity[i] = float32(rng.NormFloat64())
	}
	before := State{slices.Clone(r.state.LogMessage), slices.Clone(r.state.LogBelief)}
	Carry(r.net, r.state, velocity, &r.part.Blocks[0], 0.7)
	for s := range int32(g.NumNodes()) {
		for x, b := range r.net.belief(r.state, s) {
			want := 0.0
			for _, d := range g.Incoming(s) {
				c := r.net.Counting.Edge[d>>1] / r.net.Counting.Rho[s]
				want += c * (r.net.message(r.state, d, s)[x] - r.net.message(&before, d, s)[x])
			}
			if got := b - r.net.belief(&before, s)[x]; math.Abs(got-want) > 1e-12 {
				t.Fatalf("node %d, state %d: log-belief moved by %v, want %v", s, x, got, want)
			}
		}
	}
}
