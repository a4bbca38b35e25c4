package bp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// loopyGraphs are small enough to enumerate.
func loopyGraphs() map[string]*graph.Graph {
	return map[string]*graph.Graph{
		"triangle": legal(gen.Complete(3)),
		"K5":       legal(gen.Complete(5)),
		"grid":     legal(graph.Grid(2, 4, graph.GridOptions{})),
		"scale":    legal(gen.BarabasiAlbert(7, 2, source(5))),
		"pieces":   legal(graph.FromEdges(7, []int32{2, 0, 1, 4}, []int32{1, 2, 0, 5})), // a triangle, an edge, lone nodes
	}
}

// dualCounting draws counting numbers with c_s ≥ 0, some of them zero.
func dualCounting(rng *rand.Rand, g *graph.Graph) *counting.Numbers {
	node, edge := make([]float64, g.NumNodes()), make([]float64, g.NumEdges())
	for s := range node {
		node[s] = 2 * rng.Float64()
		if g.Degree(int32(s)) > 0 && rng.IntN(3) == 0 {
			node[s] = 0
		}
	}
	for e := range edge {
		edge[e] = 0.2 + 2*rng.Float64()
	}
	for s := range node {
		if g.Degree(int32(s)) == 0 {
			node[s] = 1 // ρ_s must be positive
		}
	}
	c := legal(counting.New("drawn", g, node, edge))
	c.Prove(g)
	return c
}

// TestStationary derives (2) anew: at the solution the free energy, a function of beliefs alone, has no slope along any
// direction that keeps the beliefs in the local polytope. As it is concave there, its value is the maximum B. The
// value, the dual and the directly summed free energy agree, and B ≥ log Z where that is claimed.
func TestStationary(t *testing.T) {
	for name, g := range loopyGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				rng := source(seed)
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), 1.5, 0)
				trw := legal(counting.SampledTreeReweighted(g, seed))
				for _, c := range []*counting.Numbers{counting.Convex(g), trw, dualCounting(rng, g)} {
					r := newInference(t, p, c)
					r.solve(t)
					nodes, edges := r.nodes(), r.edges(t)
					v := r.values(t)
					if direct := freeEnergy(p, c, nodes, edges); !near(direct, v.FreeEnergy, 1e-10) || !near(direct, v.Primal, 1e-10) {
						t.Fatalf("seed %d, %s: values %+v, the free energy is %.12f", seed, c.Name, v, direct)
					}
					if c.Facts.Certified && !near(v.Dual, v.Primal, 1e-10) {
						t.Fatalf("seed %d, %s: gap %g", seed, c.Name, v.Dual-v.Primal)
					}
					oracle.MustEqual(t, !c.Facts.Certified, math.IsInf(v.Dual, 1),
						"seed %d, %s: no bound, with dual %v and c_s = %v", seed, c.Name, v.Dual, c.Node)
					if z := oracle.LogZ(p); c.Facts.Bound == counting.Upper && v.FreeEnergy < z-1e-9 {
						t.Fatalf("seed %d, %s: B = %.12f below log Z = %.12f", seed, c.Name, v.FreeEnergy, z)
					}
					for range 20 {
						if slope := slopeAlong(rng, p, c, nodes, edges); math.Abs(slope) > 1e-8 {
							t.Fatalf("seed %d, %s: the free energy has slope %g", seed, c.Name, slope)
						}
					}
					checkUpdates(t, r, edges)
				}
			}
		})
	}
}

// freeEnergy is (2) at any beliefs, term by term.
func freeEnergy(p *mrf.Pairwise, c *counting.Numbers, nodes, edges [][]float64) float64 {
	total := 0.0
	add := func(belief, theta []float64, count float64) {
		for x, b := range belief {
			if b > 0 {
				total += b * (theta[x] - count*math.Log(b))
			}
		}
	}
	for s, b := range nodes {
		add(b, p.Node[p.NodeAt[s]:], c.Node[s])
	}
	for e, b := range edges {
		add(b, p.Edge[p.EdgeAt[e]:], c.Edge[e])
	}
	return total
}

// slopeAlong returns the derivative of the free energy along a random unit direction δ within the local polytope: Σ δ_s
// = 0, and δ_uv has the margins δ_u and δ_v.
func slopeAlong(rng *rand.Rand, p *mrf.Pairwise, c *counting.Numbers, nodes, edges [][]float64) float64 {
	slope, square := 0.0, 0.0
	add := func(delta, belief, theta []float64, count float64) {
		for x, d := range delta {
			slope += d * (theta[x] - count*(math.Log(belief[x])+1))
			square += d * d
		}
	}
	delta := make([][]float64, len(nodes))
	for s, b := range nodes {
		delta[s] = centred(rng, len(b))
		add(delta[s], b, p.Node[p.NodeAt[s]:], c.Node[s])
	}
	u, v := p.Graph.Ends()
	for e, b := range edges {
		du, dv := delta[u[e]], delta[v[e]]
		joint := make([]float64, len(b))
		a, z := centred(rng, len(du)), centred(rng, len(dv))
		for i := range joint {
			x, y := i/len(dv), i%len(dv)
			joint[i] = du[x]/float64(len(dv)) + dv[y]/float64(len(du)) + a[x]*z[y]
		}
		add(joint, b, p.Edge[p.EdgeAt[e]:], c.Edge[e])
	}
	if square == 0 { // every variable has one state
		return 0
	}
	return slope / math.Sqrt(square)
}

// centred draws k numbers that sum to zero.
func centred(rng *rand.Rand, k int) []float64 {
	x, mean := make([]float64, k), 0.0
	for i := range x {
		x[i] = rng.NormFloat64()
		mean += x[i] / float64(k)
	}
	for i := range x {
		x[i] -= mean
	}
	return x
}

// checkUpdates computes (4) and (6) from the messages as they are printed, up to normalisation.
func checkUpdates(t oracle.TB, r *inference, edges [][]float64) {
	t.Helper()
	p, c, g := r.network, r.net.Counting, r.network.Graph
	nodes := r.nodes()
	for s := range nodes {
		x := append([]float64(nil), p.Node[p.NodeAt[s]:p.NodeAt[s+1]]...)
		for _, d := range g.Incoming(int32(s)) {
			for i, m := range r.net.message(r.state, d, int32(s)) {
				x[i] += c.Edge[d>>1] * m
			}
		}
		for i := range x {
			x[i] /= c.Rho[s]
		}
		compareTables(t, "(4), node", nodes[s:s+1], [][]float64{softmax(x)}, 1e-10)
	}
	for e := range int32(g.NumEdges()) {
		u, v, rho := g.U(e), g.V(e), c.Edge[e]
		toV, toU := r.net.message(r.state, 2*e, v), r.net.message(r.state, 2*e+1, u)
		x := make([]float64, len(edges[e]))
		for k := range x {
			i, j := k/len(toV), k%len(toV)
			x[k] = math.Log(nodes[u][i]) + math.Log(nodes[v][j]) + (p.Edge[p.EdgeAt[e]+k]-rho*toV[j]-rho*toU[i])/rho
		}
		compareTables(t, "(6), edge", edges[e:e+1], [][]float64{softmax(x)}, 1e-10)
	}
}

func softmax(x []float64) []float64 {
	largest, total := math.Inf(-1), 0.0
	for _, v := range x {
		largest = max(largest, v)
	}
	for i, v := range x {
		x[i] = math.Exp(v - largest)
		total += x[i]
	}
	for i := range x {
		x[i] /= total
	}
	return x
}

// TestDualDescends: with c_s ≥ 0 every visit of every node lowers the dual, or leaves it, in whatever order nodes are
// visited; and after any number of visits the primal is a lower bound on B and the dual an upper one.
func TestDualDescends(t *testing.T) {
	for name, g := range loopyGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				rng := source(100 + seed)
				zeros := 0.0
				if seed%2 == 1 {
					zeros = 0.3
				}
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), 2, zeros)
				for _, c := range []*counting.Numbers{counting.Convex(g), edgeCover(g), dualCounting(rng, g)} {
					checkDescent(t, fmt.Sprintf("seed %d, %s", seed, c.Name), rng, p, c)
				}
			}
		})
	}
}

func checkDescent(t oracle.TB, name string, rng *rand.Rand, p *mrf.Pairwise, c *counting.Numbers) {
	t.Helper()
	solved := newInference(t, p, c)
	solved.solve(t)
	best := solved.values(t)
	slack := 1e-10 * (1 + math.Abs(best.Dual))
	if !near(best.Dual, best.Primal, 1e-9) {
		t.Fatalf("%s: the gap of the solution is %g", name, best.Dual-best.Primal)
	}
	n := p.Graph.NumNodes()
	alone := make([]int32, n)
	for s := range alone {
		alone[s] = int32(s)
	}
	r := newBlockInference(t, p, c, nil, legal(partition.FromAssignment(p.Graph, alone, n)))
	last := r.values(t)
	for range 12 {
		for _, b := range rng.Perm(n) {
			r.sweep(t, []int{b})
			v := r.values(t)
			if v.Dual > last.Dual+slack || v.Dual < best.Dual-slack || !(v.Primal <= best.Primal+slack) {
				t.Fatalf("%s: after node %d the values are %+v, after the node before %+v, and B is %.12f", name, b, v, last, best.Dual)
			}
			last = v
		}
		r.check(t, math.Inf(1))
	}
}

// scramble puts random messages and beliefs, that no iteration has made, in the place of the state's.
func (r *inference) scramble(rng *rand.Rand) {
	for i := range r.state.LogMessage {
		r.state.LogMessage[i] = 3 * rng.NormFloat64()
	}
	for s := range r.net.Card {
		b := r.net.belief(r.state, int32(s))
		for i := range b {
			b[i] = 3 * rng.NormFloat64()
		}
		total := 0.0
		for _, x := range b {
			total += math.Exp(x)
		}
		for i := range b {
			b[i] -= math.Log(total)
		}
	}
}
