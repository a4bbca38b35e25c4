package simd

import "testing"

const (
	gridSide     = 20
	nodeFeatures = 20
	edgeFeatures = 10
	// chunkEdges is how many beliefs of edges are kept before they are scattered:
	// few enough for the first-level cache.
	chunkEdges = 32
)

// gridCase is a block of a learning problem: a grid with everything that one
// iteration needs.
type gridCase struct {
	k, nodes                      int
	edges                         []Edge
	in                            [][]Incoming // of each node
	nodeF, edgeF, nodeW, edgeW    []float64
	theta, tables, sum            []float64
	beliefs, messages             []float64
	dst, logZ, product            []float64
	nodeGradient, edgeGradient, p []float64
}

func newGridCase(k int) *gridCase {
	n := gridSide * gridSide
	c := &gridCase{k: k, nodes: n, in: make([][]Incoming, n)}
	join := func(u, v int) {
		q := len(c.edges)
		toV, toU, table := 2*q*k, (2*q+1)*k, q*k*k
		c.edges = append(c.edges, Edge{u * k, toU, v * k, toV, table})
		c.in[v] = append(c.in[v], Incoming{Belief: u * k, Reverse: toU, Message: toV, Table: table, States: k, Rho: 0.5})
		c.in[u] = append(c.in[u], Incoming{Belief: v * k, Reverse: toV, Message: toU, Table: table, States: k, Rho: 0.5, Backward: true})
	}
	for u := range n {
		if u%gridSide+1 < gridSide {
			join(u, u+1)
		}
		if u+gridSide < n {
			join(u, u+gridSide)
		}
	}
	m := len(c.edges)
	c.nodeF, c.edgeF = random(n*nodeFeatures, 1), random(m*edgeFeatures, 1)
	c.nodeW, c.edgeW = random(nodeFeatures*k, 0.3), random(edgeFeatures*k*k, 0.3)
	c.nodeGradient, c.edgeGradient = make([]float64, len(c.nodeW)), make([]float64, len(c.edgeW))
	c.theta, c.tables, c.sum = make([]float64, n*k), make([]float64, m*k*k), make([]float64, k)
	c.beliefs, c.messages, c.p = make([]float64, n*k), make([]float64, 2*m*k), make([]float64, n*k)
	c.dst, c.logZ, c.product = make([]float64, chunkEdges*k*k), make([]float64, chunkEdges), make([]float64, chunkEdges)
	return c
}

func (c *gridCase) ground(with implementation) {
	with.multiplyMatrix(c.theta, c.nodeF, c.nodeW, c.nodes, nodeFeatures, c.k)
	with.multiplyMatrix(c.tables, c.edgeF, c.edgeW, len(c.edges), edgeFeatures, c.k*c.k)
}

func (c *gridCase) exponentiate(with implementation) {
	for q := range c.edges {
		t := c.tables[q*c.k*c.k:][:c.k*c.k]
		with.exponentiate(t, t, 2, -600)
	}
}

func (c *gridCase) sweep(with implementation) (done bool) {
	done = true
	for u, in := range c.in {
		copy(c.sum, c.theta[u*c.k:][:c.k])
		_, _, possible := with.nodeUpdate(c.beliefs[u*c.k:][:c.k], c.sum, c.beliefs, c.messages, c.tables, in, 1.5, 0, true)
		done = done && possible
	}
	return done
}

func (c *gridCase) gradient(with implementation) (done bool) {
	done = true
	size := c.k * c.k
	for at := 0; at < len(c.edges); at += chunkEdges {
		n := min(chunkEdges, len(c.edges)-at)
		done = done && n == with.edgeBeliefs(c.dst[:n*size], c.logZ[:n], c.product[:n], c.beliefs, c.messages, c.tables, c.edges[at:at+n], c.k, c.k)
		with.scatterMatrix(c.edgeGradient, c.edgeF[at*edgeFeatures:][:n*edgeFeatures], c.dst[:n*size], n, edgeFeatures, size)
	}
	with.exp(c.p, c.beliefs)
	with.scatterMatrix(c.nodeGradient, c.nodeF, c.p, c.nodes, nodeFeatures, c.k)
	return done
}

// BenchmarkIteration puts the kernels together to an iteration of learning with one
// sweep, and reports the nanoseconds per edge of each phase.
func BenchmarkIteration(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		c := newGridCase(k)
		benchmarkPhases(b, c, with)
	})
}

func benchmarkPhases(b *testing.B, c *gridCase, with implementation) {
	for b.Loop() {
		c.ground(with)
		c.exponentiate(with)
		if !c.sweep(with) || !c.gradient(with) {
			b.Fatal("a message or belief is not safe")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.edges)), "ns/edge")
}

// BenchmarkPhases reports the phases of BenchmarkIteration, one by one.
func BenchmarkPhases(b *testing.B) {
	for _, phase := range []struct {
		name string
		run  func(c *gridCase, with implementation)
	}{
		{"ground", func(c *gridCase, with implementation) { c.ground(with) }},
		{"exponentiate", func(c *gridCase, with implementation) { c.exponentiate(with) }},
		{"sweep", func(c *gridCase, with implementation) { c.sweep(with) }},
		{"gradient", func(c *gridCase, with implementation) { c.gradient(with) }},
	} {
		b.Run(phase.name, func(b *testing.B) {
			eachSize(b, states, func(b *testing.B, with implementation, k int) {
				c := newGridCase(k)
				c.ground(with)
				if phase.name == "exponentiate" {
					// Potentials each time: a table that is exponentiated again and again
					// would end as ones.
					clear(c.tables)
				} else {
					c.exponentiate(with)
				}
				for b.Loop() {
					phase.run(c, with)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.edges)), "ns/edge")
			})
		})
	}
}
