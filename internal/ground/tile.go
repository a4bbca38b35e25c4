package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// tile is what some consecutive nodes, the targets, add to the pseudo-likelihood. With X the one-hot labels of the
// sources, which are all neighbours of the targets, and T what the tables of the edges between them say of each state
// of a target, the logits of all samples are X T, and the derivative by T is Xᵀ R of the residuals R. A product with X
// adds up rows. Those of one source, and the samples at hand, stay in the nearest caches, and so networks in which many
// nodes have the same neighbours, or all are neighbours, run at the speed of matrix products.
//
// There is less to add where every logit is one of the difference to a target's first state, and every row one of the
// difference to the state that a source has most often, the usual one: samples in which it has that take none.
// Forbidden states, whose potentials are −Inf, have no differences.
type tile struct {
	lo, hi     int32     // the targets
	sources    []int32   // nodes
	at         []int32   // [sources + 1] where the rows of each begin: one for each state
	rows       []int32   // of directed edges into the targets, where those of their sources begin
	column     []int32   // [targets + 1] where the states of each begin
	first      int       // state of a target that its columns begin with: 1, or 0 where some state is forbidden
	width      int       // columns
	constant   []float64 // [width] logits where all sources are as usual
	table      []float64 // T [rows][width]; that of the usual state is what an unobserved source changes
	derivative []float64 // [rows][width]
	logits     []float64 // [samples at hand][width], then residuals ω (p − one-hot label)
	own, sums  []float64 // [samples at hand][targets] of the label, less the largest; Σ exp of all, then its logarithm
	omega      []float64 // [samples at hand][targets] exp of the first state, then what the term counts
	total      []float64 // [width] residuals of all samples
	value      float64
}

const (
	// tileEntries bounds T: 1 MiB. A narrower one would have rows so short that calls of kernels take most of the time.
	tileEntries = 1 << 17
	// tileWidth bounds the columns, where targets have few neighbours.
	tileWidth = 512
	// sharedRows is how many entries T may have for each one of an edge.
	sharedRows = 1.5
	// logitsTogether are of samples at hand: 64 KiB.
	logitsTogether = 1 << 13
	// shortRow is the length below which a loop is faster than the call of a kernel.
	shortRow = 8
)

// TileBytes is about what a tile takes where no node has neighbours of more states in all, and one target alone has no
// more than tileEntries: targets that have few neighbours share them with few others.
func TileBytes(states float64) float64 {
	return 8 * (2*min(tileEntries, sharedRows*sharedRows*states*states) + 4*logitsTogether)
}

// layOut makes a tile of as many targets from lo on as share their sources. number tells tiles apart.
func (l *PseudoLikelihood) layOut(t *tile, in *crf.Instance, lo, number int32) {
	t.lo, t.hi, t.first = lo, lo, 1
	if l.potential.Forbidding {
		t.first = 0
	}
	t.sources, t.at, t.rows, t.column = t.sources[:0], append(t.at[:0], 0), t.rows[:0], append(t.column[:0], 0)
	entries := 0 // of edges
	for nodes := int32(in.Graph.NumNodes()); t.hi < nodes; t.hi++ {
		k, sources, edges, states := in.States(t.hi)-t.first, len(t.sources), len(t.rows), 0
		for _, d := range in.Graph.Incoming(t.hi) {
			if l.Skipped != nil && l.Skipped[d>>1] {
				continue
			}
			v := in.Graph.Source(d)
			if l.last[v] != number {
				l.last[v], l.place[v] = number, t.at[len(t.sources)]
				t.sources, t.at = append(t.sources, v), append(t.at, l.place[v]+int32(in.States(v)))
			}
			t.rows = append(t.rows, l.place[v])
			states += in.States(v)
		}
		entries += states * k
		width := int(t.column[t.hi-lo]) + k
		all := int(t.at[len(t.sources)]) * width
		if t.hi > lo && (all > tileEntries || max(width, int(t.hi-lo)) > tileWidth ||
			float64(all) > sharedRows*float64(entries)) {
			t.sources, t.at, t.rows = t.sources[:sources], t.at[:sources+1], t.rows[:edges]
			break
		}
		t.column = append(t.column, int32(width))
	}
	t.width = int(t.column[t.hi-lo])
}

// eachEdge calls do for every directed edge into a target, with the first entry that its source's rows have in the
// target's columns.
func (t *tile) eachEdge(l *PseudoLikelihood, in *crf.Instance, do func(d int32, at int)) {
	i := 0
	for s := t.lo; s < t.hi; s++ {
		for _, d := range in.Graph.Incoming(s) {
			if l.Skipped != nil && l.Skipped[d>>1] {
				continue
			}
			do(d, int(t.rows[i])*t.width+int(t.column[s-t.lo]))
			i++
		}
	}
}

// fill writes T, but for rows of states that no label has.
func (t *tile) fill(l *PseudoLikelihood, in *crf.Instance) {
	pot := &l.potential
	t.constant, t.table = numeric.Resize(t.constant, t.width), numeric.Resize(t.table, int(t.at[len(t.sources)])*t.width)
	clear(t.table)
	for s := t.lo; s < t.hi; s++ {
		node := pot.Node[pot.NodeAt[s]:pot.NodeAt[s+1]]
		for x, v := range node[t.first:] {
			if t.first > 0 {
				v -= node[0]
			}
			t.constant[int(t.column[s-t.lo])+x] = v
		}
	}
	t.eachEdge(l, in, func(d int32, at int) {
		v, k := in.Graph.Source(d), in.States(in.Graph.Target(d))
		table := pot.Table[pot.EdgeAt[d>>1]:]
		for y, n := range l.count[pot.NodeAt[v]:pot.NodeAt[v+1]] {
			if n == 0 {
				continue
			}
			row := t.table[at+y*t.width:][:k-t.first]
			from, stride := entriesOf(d, y, k, in.States(v))
			first := 0.0
			if t.first > 0 {
				first = table[from]
			}
			for x := range row {
				row[x] += table[from+(x+t.first)*stride] - first
			}
		}
	})
	for j, v := range t.sources {
		usual := l.usual[v]
		if usual < 0 {
			continue
		}
		base := t.row(t.table, j, usual)
		simd.AddScaled(t.constant, base, 1)
		for y, n := range l.count[pot.NodeAt[v]:pot.NodeAt[v+1]] {
			if n > 0 && int32(y) != usual {
				simd.AddScaled(t.row(t.table, j, int32(y)), base, -1)
			}
		}
		for x := range base {
			base[x] = -base[x]
		}
	}
}

// row is that of state y of the j-th source, in T or the derivative.
func (t *tile) row(of []float64, j int, y int32) []float64 {
	return of[int(t.at[j]+y)*t.width:][:t.width]
}

// entriesOf returns where, in the table of the edge of d, the entries stand that go with state y of d's source.
// Directed edge 2e leads from U, whose state is slow.
func entriesOf(d int32, y, states, sourceStates int) (at, stride int) {
	if d&1 == 0 {
		return y * states, 1
	}
	return y, sourceStates
}

// compute finds the value and, if asked, the derivatives, of so much of the terms.
func (t *tile) compute(l *PseudoLikelihood, in *crf.Instance, weight float64, derivatives bool) {
	t.fill(l, in)
	t.value, t.total = 0, numeric.Resize(t.total, t.width)
	clear(t.total)
	if derivatives {
		t.derivative = numeric.Resize(t.derivative, len(t.table))
		clear(t.derivative)
	}
	together, targets := max(1, logitsTogether/max(1, t.width)), int(t.hi-t.lo)
	for samples, first := in.Samples(), 0; len(samples) > 0; {
		n := min(together, len(samples))
		t.logits = numeric.Resize(t.logits, n*t.width)
		for _, x := range []*[]float64{&t.own, &t.sums, &t.omega} {
			*x = numeric.Resize(*x, n*targets)
		}
		for i := range n {
			copy(t.logits[i*t.width:][:t.width], t.constant)
		}
		t.eachUnusual(l, samples[:n], t.table, func(row, logits []float64) { addRow(logits, row) })
		t.normalise(l, in, first, samples[:n], weight)
		if derivatives {
			for i := range n {
				addRow(t.total, t.logits[i*t.width:])
			}
			t.eachUnusual(l, samples[:n], t.derivative, func(row, residuals []float64) { addRow(row, residuals) })
		}
		samples, first = samples[n:], first+n
	}
	if !derivatives {
		return
	}
	for j, v := range t.sources {
		if usual := l.usual[v]; usual >= 0 { // all samples but those of other rows
			row := t.row(t.derivative, j, usual)
			for x := range row {
				row[x] = t.total[x] - row[x]
			}
			for y := range int32(in.States(v)) {
				if y != usual {
					simd.AddScaled(row, t.row(t.derivative, j, y), -1)
				}
			}
		}
	}
}

// eachUnusual calls do for each sample at hand and source whose state is not the usual one, with the row of the state
// in a matrix, and what the sample has in t.logits.
func (t *tile) eachUnusual(l *PseudoLikelihood, samples [][]int32, matrix []float64, do func(row, ofSample []float64)) {
	for j, v := range t.sources {
		usual, rows := l.usual[v], matrix[int(t.at[j])*t.width:]
		for i, labels := range samples {
			y := labels[v]
			if y == usual {
				continue
			}
			if y == crf.Unobserved {
				y = usual
			}
			do(rows[int(y)*t.width:][:t.width], t.logits[i*t.width:][:t.width])
		}
	}
}

// addRow adds a row to dst.
func addRow(dst, row []float64) {
	if len(dst) >= shortRow {
		simd.AddScaled(dst, row, 1)
		return
	}
	row = row[:len(dst)]
	for x, v := range row {
		dst[x] += v
	}
}

// normalise makes residuals of logits, and adds up the value. first is the number of the first sample at hand.
func (t *tile) normalise(l *PseudoLikelihood, in *crf.Instance, first int, samples [][]int32, weight float64) {
	n := 0
	for i, labels := range samples {
		for target, y := range labels[t.lo:t.hi] {
			p := t.logits[i*t.width:][t.column[target]:t.column[target+1]]
			largest, own := simd.Max(p), 0.0
			if t.first > 0 {
				largest = max(0, largest)
			}
			if int(y) >= t.first {
				own = p[int(y)-t.first]
			}
			t.own[n], t.omega[n] = own-largest, -largest
			for x := range p {
				p[x] -= largest
			}
			n++
		}
	}
	simd.Exp(t.logits, t.logits)
	simd.Exp(t.omega, t.omega)
	n = 0
	for i, labels := range samples {
		weight := weight * in.SampleWeight(first+i)
		for target, y := range labels[t.lo:t.hi] {
			p := t.logits[i*t.width:][t.column[target]:t.column[target+1]]
			if y == crf.Unobserved {
				t.own[n], t.sums[n], t.omega[n] = 0, 1, 0
				clear(p)
				n++
				continue
			}
			sum := 0.0
			if t.first > 0 {
				sum = t.omega[n]
			}
			for _, x := range p {
				sum += x
			}
			omega := weight * ClassWeight(l.ClassWeights, in, t.lo+int32(target), y)
			t.sums[n], t.omega[n] = sum, omega
			for x := range p {
				p[x] *= omega / sum
			}
			if int(y) >= t.first {
				p[int(y)-t.first] -= omega
			}
			n++
		}
	}
	simd.Log(t.sums, t.sums)
	t.value += simd.Dot(t.omega, t.sums) - simd.Dot(t.omega, t.own)
}

// scatter multiplies the residuals by the features into the gradient: those of targets as they are, and those of tables
// as T has them. Of a first state they are what makes all sum to zero.
func (t *tile) scatter(l *PseudoLikelihood, gradient []float64, m *crf.Model, in *crf.Instance) {
	all := func(row []float64, write func(x int, v float64)) {
		sum := 0.0
		for x, v := range row {
			write(x+t.first, v)
			sum += v
		}
		if t.first > 0 {
			write(0, -sum)
		}
	}
	for s := t.lo; s < t.hi; s++ {
		l.logits = numeric.Resize(l.logits, in.States(s))
		all(t.total[t.column[s-t.lo]:t.column[s-t.lo+1]], func(x int, v float64) { l.logits[x] = v })
		l.adjoint.AddNodes(gradient, m, in, []int32{s}, l.logits)
	}
	t.eachEdge(l, in, func(d int32, at int) {
		k, sourceStates := in.States(in.Graph.Target(d)), in.States(in.Graph.Source(d))
		l.logits = numeric.Resize(l.logits, k*sourceStates)
		for y := range sourceStates {
			from, stride := entriesOf(d, y, k, sourceStates)
			all(t.derivative[at+y*t.width:][:k-t.first], func(x int, v float64) { l.logits[from+x*stride] = v })
		}
		l.adjoint.AddEdges(gradient, m, in, []int32{d >> 1}, l.logits)
	})
}
