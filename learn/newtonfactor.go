package learn

import (
	"container/heap"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/simd"
)

// elimination is the order in which the messages of a network are eliminated from a
// symmetric system, and the shape of its Cholesky factor L. A message, of one number per
// state, is a block. Two blocks are coupled where they go into one node, or along one edge
// in both directions: a separator of the graph cuts one message per edge, so that the
// factor of a chain, a tree or a narrow grid is small.
//
// Unknowns are numbered in the order of their elimination.
type elimination struct {
	size   int
	place  []int32 // [messages] number of each unknown, by its place in bp.State.LogMessage
	panels []panel
	of     []int32 // [size] panel of each unknown
	// numbers is how many L has, factorWork how many multiplications it takes.
	numbers    int
	factorWork float64
}

// panel is a run of unknowns that are eliminated together: the columns of L from first to
// first+width, dense in their own rows and in rows, and zero in all others.
type panel struct {
	first, width int
	rows         []int32 // later unknowns, ascending
	at           int     // of its [width+len(rows)][width] numbers, row-major
}

func (p *panel) height() int { return p.width + len(p.rows) }

// newElimination finds an order of minimum degree. It returns nil where the factor would
// take more multiplications than mostWork, or more numbers than mostNumbers.
func newElimination(net *bp.Net, mostNumbers, mostWork float64) *elimination {
	for s := range int32(net.Graph.NumNodes()) { // its messages are a clique
		if hub := float64(net.Graph.Degree(s)) * float64(net.Card[s]); hub*hub/2 > mostNumbers || hub*hub*hub/6 > mostWork {
			return nil
		}
	}
	m := newMinimumDegree(net)
	if !m.run(mostNumbers, mostWork) {
		return nil
	}
	e := m.shape(net)
	if float64(e.numbers) > mostNumbers || e.factorWork > mostWork {
		return nil
	}
	return e
}

// minimumDegree eliminates the message that is coupled with the fewest numbers, again and
// again. What is coupled is kept as cliques: of the messages into each node, of the two
// along each edge, and of those that each elimination joins. An elimination takes up the
// cliques of its message, so that every message is in two at most.
type minimumDegree struct {
	size    []int32    // [messages] states
	cliques [][]int32  // members that are left
	weight  []int32    // [cliques] numbers of all members
	overlap []int32    // [cliques] numbers that are in the newest too; 0 between eliminations
	member  [][2]int32 // [messages] cliques it is in, or −1
	degree  []int32    // [messages] numbers it is coupled with
	queue   degreeQueue
	order   []int32
	joined  [][]int32 // [messages] those that elimination joins, still to come then
}

func newMinimumDegree(net *bp.Net) *minimumDegree {
	g := net.Graph
	n := 2 * g.NumEdges()
	m := &minimumDegree{
		size: make([]int32, n), member: make([][2]int32, n), degree: make([]int32, n),
		joined: make([][]int32, n), order: make([]int32, 0, n),
	}
	for d := range m.size {
		m.size[d], m.member[d] = net.Card[g.Target(int32(d))], [2]int32{-1, -1}
	}
	for s := range int32(g.NumNodes()) {
		m.add(g.Incoming(s), -1)
	}
	for e := range int32(g.NumEdges()) {
		m.add([]int32{2 * e, 2*e + 1}, -1)
	}
	for d := range int32(n) {
		m.degree[d] = m.degreeOf(d) // its two cliques share nothing else
		m.queue = append(m.queue, degreeOf{m.degree[d], d})
	}
	heap.Init(&m.queue)
	return m
}

// add makes a clique, in the place of those two of eliminated, if it is not −1.
func (m *minimumDegree) add(clique []int32, eliminated int32) {
	taken := [2]int32{-2, -2}
	if eliminated >= 0 {
		taken = m.member[eliminated]
	}
	id, weight := int32(len(m.cliques)), int32(0)
	for _, d := range clique {
		weight += m.size[d]
		member := &m.member[d]
		for i, c := range member {
			if c >= 0 && (c == taken[0] || c == taken[1]) {
				member[i] = -1
			}
		}
		if len(clique) < 2 {
			continue
		}
		if member[0] < 0 {
			member[0] = id
		} else {
			member[1] = id
		}
	}
	if len(clique) >= 2 {
		m.cliques, m.weight, m.overlap = append(m.cliques, clique), append(m.weight, weight), append(m.overlap, 0)
	}
}

// degreeOf counts what the cliques of a message have, those in both twice.
func (m *minimumDegree) degreeOf(d int32) (degree int32) {
	for _, c := range m.member[d] {
		if c >= 0 {
			degree += m.weight[c] - m.size[d]
		}
	}
	return degree
}

// run eliminates all messages. It reports false as soon as that is found to take too much.
func (m *minimumDegree) run(mostNumbers, mostWork float64) bool {
	numbers, work := 0.0, 0.0
	for len(m.queue) > 0 {
		next := heap.Pop(&m.queue).(degreeOf)
		d := next.message
		if next.degree != m.degree[d] {
			continue // eliminated, or an entry of before it changed
		}
		w, r := float64(m.size[d]), float64(next.degree)
		numbers += w * (w + r)
		work += w * (w + r) * (w + r) / 2
		if numbers > mostNumbers || work > mostWork {
			return false
		}
		m.eliminate(d)
	}
	return true
}

func (m *minimumDegree) eliminate(d int32) {
	var joined []int32
	for i, c := range m.member[d] {
		if c < 0 {
			continue
		}
		for _, other := range m.cliques[c] {
			if other != d && (i == 0 || m.member[d][0] < 0 || !m.in(other, m.member[d][0])) {
				joined = append(joined, other)
			}
		}
		m.weight[c] = 0
	}
	m.degree[d] = -1
	m.order = append(m.order, d)
	m.joined[d] = joined
	m.add(joined, d)
	for _, c := range m.member[d] {
		if c >= 0 {
			m.cliques[c] = nil
		}
	}
	newest := int32(len(m.cliques) - 1)
	each := func(do func(message, second int32)) {
		for _, other := range joined {
			for _, c := range m.member[other] {
				if c >= 0 && c != newest {
					do(other, c)
				}
			}
		}
	}
	each(func(other, c int32) { m.overlap[c] += m.size[other] })
	for _, other := range joined {
		degree := m.degreeOf(other)
		for _, c := range m.member[other] {
			if c >= 0 && c != newest {
				degree -= m.overlap[c] - m.size[other]
			}
		}
		if degree != m.degree[other] {
			m.degree[other] = degree
			heap.Push(&m.queue, degreeOf{degree, other})
		}
	}
	each(func(_, c int32) { m.overlap[c] = 0 })
}

func (m *minimumDegree) in(d, clique int32) bool {
	return m.member[d][0] == clique || m.member[d][1] == clique
}

// degreeOf is an entry of the queue; equal degrees come in the order of the messages.
type degreeOf struct{ degree, message int32 }

type degreeQueue []degreeOf

func (q degreeQueue) Len() int { return len(q) }
func (q degreeQueue) Less(i, j int) bool {
	return q[i].degree < q[j].degree || q[i].degree == q[j].degree && q[i].message < q[j].message
}
func (q degreeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *degreeQueue) Push(x any)   { *q = append(*q, x.(degreeOf)) }
func (q *degreeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// widest bounds the columns of a panel, which stay in the nearest cache then.
const widest = 64

// shape numbers the unknowns so that each block comes close before its parent, the first
// that it is joined with, and makes panels of blocks with the same rows.
func (m *minimumDegree) shape(net *bp.Net) *elimination {
	order := m.postorder()
	e := &elimination{place: make([]int32, net.Messages())}
	rank, start := make([]int32, len(order)), make([]int32, len(order)+1)
	for i, d := range order {
		rank[d] = int32(i)
		at := net.MessageAt(d)
		for x := range m.size[d] {
			e.place[at+int(x)] = start[i] + x
		}
		start[i+1] = start[i] + m.size[d]
	}
	e.size = int(start[len(order)])
	e.of = make([]int32, e.size)
	var rows []int32 // of all panels
	for i := 0; i < len(order); {
		first, width := i, int(m.size[order[i]])
		for i++; i < len(order) && width+int(m.size[order[i]]) <= widest && m.continues(order[i-1], order[i]); i++ {
			width += int(m.size[order[i]])
		}
		p := panel{first: int(start[first]), width: width, at: e.numbers}
		var blocks []int32
		for _, d := range m.joined[order[i-1]] {
			blocks = append(blocks, rank[d])
		}
		slices.Sort(blocks)
		before := len(rows)
		for _, b := range blocks {
			for x := start[b]; x < start[b+1]; x++ {
				rows = append(rows, x)
			}
		}
		p.rows = rows[before:] // its length is what counts: rows may move yet
		for x := p.first; x < p.first+width; x++ {
			e.of[x] = int32(len(e.panels))
		}
		w, r := float64(width), float64(len(p.rows))
		e.factorWork += w*w*w/6 + w*w*r/2 + w*r*r/2
		e.numbers += p.height() * width
		e.panels = append(e.panels, p)
	}
	rows, e.panels = slices.Clone(rows), slices.Clone(e.panels)
	for i := range e.panels {
		p := &e.panels[i]
		p.rows, rows = rows[:len(p.rows):len(p.rows)], rows[len(p.rows):]
	}
	return e
}

// continues reports whether all that a is joined with is b and what b is joined with.
func (m *minimumDegree) continues(a, b int32) bool {
	return len(m.joined[a]) == len(m.joined[b])+1 && slices.Contains(m.joined[a], b)
}

// postorder lists the messages so that the descendants of each come right before it.
func (m *minimumDegree) postorder() []int32 {
	rank := make([]int32, len(m.order))
	for i, d := range m.order {
		rank[d] = int32(i)
	}
	children := make([][]int32, len(m.order))
	var roots []int32
	for _, d := range m.order {
		parent := int32(-1)
		for _, other := range m.joined[d] {
			if parent < 0 || rank[other] < rank[parent] {
				parent = other
			}
		}
		if parent < 0 {
			roots = append(roots, d)
		} else {
			children[parent] = append(children[parent], d)
		}
	}
	type visited struct {
		message int32
		next    int
	}
	order := make([]int32, 0, len(m.order))
	var stack []visited
	for _, root := range roots {
		stack = append(stack, visited{message: root})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if c := children[top.message]; top.next < len(c) {
				top.next++
				stack = append(stack, visited{message: c[top.next-1]})
				continue
			}
			order = append(order, top.message)
			stack = stack[:len(stack)-1]
		}
	}
	return order
}

// bytes is what the lists take.
func (e *elimination) bytes() float64 {
	bytes := indexBytes * float64(len(e.place)+len(e.of))
	for i := range e.panels {
		bytes += indexBytes*float64(len(e.panels[i].rows)) + sliceBytes + 3*placeBytes
	}
	return bytes
}

// block returns the part of a [numbers], row by row with so many numbers between their
// beginnings, where unknowns from i on meet those from j on: blocks of messages, i not
// before j.
func (e *elimination) block(a []float64, i, j int32) (part []float64, stride int) {
	p := &e.panels[e.of[j]]
	row := int(i) - p.first
	if row >= p.width {
		at, _ := slices.BinarySearch(p.rows, i)
		row = p.width + at
	}
	return a[p.at+row*p.width+int(j)-p.first:], p.width
}

// factorise replaces the lower triangle in a [numbers] by L. local [size] is scratch. It
// reports false where the matrix is not positive definite.
func (e *elimination) factorise(a []float64, local []int32) bool {
	for i := range e.panels {
		p := &e.panels[i]
		columns := a[p.at:][:p.height()*p.width]
		if !factorisePanel(columns, p.width, p.height(), p.width) {
			return false
		}
		e.spread(a, local, p, columns[p.width*p.width:])
	}
	return true
}

// factorisePanel finds the factor of the first width rows of a, which has so many numbers
// between the beginnings of two rows, and applies it to the rest.
func factorisePanel(a []float64, width, height, stride int) bool {
	for i := range height {
		row := a[i*stride:][:width]
		for j := range min(i, width) {
			other := a[j*stride:][:width]
			row[j] = (row[j] - dot(row[:j], other[:j])) / other[j]
		}
		if i >= width {
			continue
		}
		pivot := row[i] - dot(row[:i], row[:i])
		if !(pivot > 0 && pivot <= math.MaxFloat64) {
			return false
		}
		row[i] = math.Sqrt(pivot)
	}
	return true
}

// shortDot is the length below which a loop is faster than a call of a kernel.
const shortDot = 12

func dot(a, b []float64) float64 {
	if len(a) < shortDot {
		return dotShort(a, b)
	}
	return simd.Dot(a, b)
}

// spread subtracts the products of the rows below [rows][width] of a panel from the panels
// to come.
func (e *elimination) spread(a []float64, local []int32, p *panel, below []float64) {
	for lo := 0; lo < len(p.rows); {
		t := &e.panels[e.of[p.rows[lo]]]
		hi := lo + 1
		for hi < len(p.rows) && int(p.rows[hi]) < t.first+t.width {
			hi++
		}
		for x := range t.width {
			local[t.first+x] = int32(x)
		}
		for i, x := range t.rows {
			local[x] = int32(t.width + i)
		}
		for i := lo; i < len(p.rows); i++ {
			row := below[i*p.width:][:p.width]
			out := a[t.at+int(local[p.rows[i]])*t.width:][:t.width]
			for j := lo; j < min(hi, i+1); j++ {
				out[int(p.rows[j])-t.first] -= dot(row, below[j*p.width:][:p.width])
			}
		}
		lo = hi
	}
}

// forward replaces the columns of b [size][columns] by L⁻¹ b.
func (e *elimination) forward(a, b []float64, columns int) {
	for i := range e.panels {
		p := &e.panels[i]
		l := a[p.at:]
		for x := range p.width {
			row := b[(p.first+x)*columns:][:columns]
			for y, c := range l[x*p.width:][:x] {
				simd.AddScaled(row, b[(p.first+y)*columns:], -c)
			}
			scale(row, 1/l[x*p.width+x])
		}
		for r, x := range p.rows {
			row := b[int(x)*columns:][:columns]
			for y, c := range l[(p.width+r)*p.width:][:p.width] {
				simd.AddScaled(row, b[(p.first+y)*columns:], -c)
			}
		}
	}
}

// backward replaces x [size] by L⁻ᵀ x.
func (e *elimination) backward(a, x []float64) {
	for i := len(e.panels) - 1; i >= 0; i-- {
		p := &e.panels[i]
		l, own := a[p.at:], x[p.first:][:p.width]
		for r, row := range p.rows {
			simd.AddScaled(own, l[(p.width+r)*p.width:][:p.width], -x[row])
		}
		for c := p.width - 1; c >= 0; c-- {
			row := l[c*p.width:][:p.width]
			own[c] /= row[c]
			simd.AddScaled(own[:c], row[:c], -own[c])
		}
	}
}

func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}
