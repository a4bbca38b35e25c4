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
	edges                         [][2]int32 // their ends
	at                            []int      // of tables
	together                      Edges
	in                            [][]int32 // directed edges into each node
	batches                       []gridBatch
	nodeF, edgeF, nodeW, edgeW    []float64
	theta, tables, inverse        []float64
	weights, out, sums, totals    []float64 // of a batch
	beliefs, messages             []float64
	dst, logZ, product            []float64
	nodeGradient, edgeGradient, p []float64
}

func newGridCase(k int) *gridCase {
	n := gridSide * gridSide
	c := &gridCase{k: k, nodes: n, in: make([][]int32, n)}
	join := func(u, v int) {
		q := int32(len(c.edges))
		c.edges, c.at = append(c.edges, [2]int32{int32(u), int32(v)}), append(c.at, int(q)*k*k)
		c.in[v], c.in[u] = append(c.in[v], 2*q), append(c.in[u], 2*q+1)
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
	c.theta, c.tables, c.inverse = make([]float64, n*k), make([]float64, m*k*k), make([]float64, m)
	for i := range c.inverse {
		c.inverse[i] = -0.1 // e^−x/10 again and again stays moderate, whatever x
	}
	c.collect()
	c.beliefs, c.messages, c.p = make([]float64, n*k), make([]float64, 2*m*k), make([]float64, n*k)
	c.dst, c.logZ, c.product = make([]float64, chunkEdges*k*k), make([]float64, chunkEdges), make([]float64, chunkEdges)
	return c
}

func (c *gridCase) ground(with implementation) {
	with.multiplyMatrix(c.theta, c.nodeF, c.nodeW, c.nodes, nodeFeatures, c.k)
	with.multiplyMatrix(c.tables, c.edgeF, c.edgeW, len(c.edges), edgeFeatures, c.k*c.k)
}

func (c *gridCase) exponentials(with implementation) {
	if with.exponentials(c.tables, c.k*c.k, c.inverse) < len(c.inverse) {
		panic("an exponent is not moderate")
	}
}

// gridBatch is nodes of which no two are neighbours, and the messages into them.
type gridBatch struct {
	source, directed, edge []int32
	nodes                  []Node
}

// collect makes the batches: the nodes of one colour of a chequerboard, and then
// those of the other.
func (c *gridCase) collect() {
	most := max(1, batchEntries/c.k/nodeDegree)
	for colour := range 2 {
		var b gridBatch
		for u, in := range c.in {
			if (u/gridSide+u%gridSide)%2 != colour {
				continue
			}
			n := len(b.nodes)
			b.nodes = append(b.nodes, Node{Belief: u * c.k, Inverse: 1 / 1.5, Potential: u * c.k, Sum: int32(n * c.k), States: int32(c.k),
				Messages: int32(len(in))})
			for _, d := range in {
				b.source, b.directed, b.edge = append(b.source, c.edges[d>>1][d&1]), append(b.directed, d), append(b.edge, d>>1)
			}
			if len(b.nodes) == most {
				c.batches, b = append(c.batches, b), gridBatch{}
			}
		}
		c.batches = append(c.batches, b)
	}
	for _, x := range []*[]float64{&c.weights, &c.out, &c.sums, &c.totals} {
		*x = make([]float64, most*nodeDegree*c.k+Padding)
	}
}

func (c *gridCase) sweep(with implementation) (done bool) {
	done = true
	for _, b := range c.batches {
		weights, out, totals := c.weights[:len(b.directed)*c.k], c.out[:len(b.directed)*c.k], c.totals[:len(b.nodes)]
		with.cavities(c.weights, c.beliefs, c.messages, b.source, b.directed, nil, nil, c.k, nil)
		with.exp(weights, weights)
		with.products(c.out, c.weights, c.tables, b.directed, b.edge, c.at, c.k, c.k, nil, nil)
		done = done && with.allSafe(out)
		with.log(out, out)
		with.absorb(c.messages, c.sums, c.theta, c.out, b.directed, nil, nil, 0.5, b.nodes, 0)
		done = done && with.shift(c.sums, b.nodes) == len(b.nodes)
		used := len(b.nodes) * c.k
		with.exp(c.weights[:used], c.sums[:used])
		with.totals(totals, c.weights, b.nodes)
		with.log(totals, totals)
		with.settle(c.beliefs, c.sums, totals, b.nodes)
	}
	return done
}

func (c *gridCase) gradient(with implementation) (done bool) {
	done = true
	size := c.k * c.k
	for at := 0; at < len(c.edges); at += chunkEdges {
		n := min(chunkEdges, len(c.edges)-at)
		c.together.Begin(n, c.k, c.k, nil, nil)
		for q := at; q < at+n; q++ {
			c.together.Add(int32(q), c.edges[q][0], c.edges[q][1])
		}
		done = done && n == c.together.WriteBeliefs(c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.at[at:at+n])
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
		c.exponentials(with)
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
		{"exponentials", func(c *gridCase, with implementation) { c.exponentials(with) }},
		{"sweep", func(c *gridCase, with implementation) { c.sweep(with) }},
		{"gradient", func(c *gridCase, with implementation) { c.gradient(with) }},
	} {
		b.Run(phase.name, func(b *testing.B) {
			eachSize(b, states, func(b *testing.B, with implementation, k int) {
				c := newGridCase(k)
				c.ground(with)
				c.exponentials(with)
				for b.Loop() {
					phase.run(c, with)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.edges)), "ns/edge")
			})
		})
	}
}
