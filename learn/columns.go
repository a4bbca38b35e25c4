package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// columns adds up the gradient of a node type with sparse features by columns: with the beliefs of
// all nodes side by side, the weights of a feature get the sum over the nodes that have it.
// Networks one after the other would have to go to the same weights again and again, which lie
// anywhere in memory, in a contribution for each network. That takes all blocks at once: each
// network is one.
type columns struct {
	span    *crf.Span
	rows    int // nodes of all units
	entries int
	valued  bool

	start   []int // [features+1] where the entries of each begin
	row     []int32
	value   []float64 // nil: ones
	beliefs []float64 // [rows][states] times the weights of units
}

// columnsTogether is how many features one goroutine adds up before the next is asked: some
// hundred microseconds of work.
const columnsTogether = 2048

// planColumns finds the types that are added up by columns: sparse ones, where every network is
// one block.
func (l *learner) planColumns() {
	layout := &l.model.Layout
	l.columns = make([]*columns, len(layout.Node))
	if l.blocks > 1 || len(l.bundles) > 1 {
		return
	}
	for _, u := range l.units {
		u.firstRows = make([]int, len(layout.Node))
	}
	for t := range layout.Node {
		l.columns[t] = l.columnsOf(t)
	}
}

func (l *learner) columnsOf(t int) *columns {
	c := &columns{span: &l.model.Layout.Node[t]}
	if c.span.Untied {
		return nil
	}
	for _, u := range l.units {
		m := u.in.NodeFeatures(t).Data()
		if m.Start == nil && m.Rows > 0 {
			return nil
		}
		u.firstRows[t] = c.rows
		c.rows += m.Rows
		c.entries += len(m.Column)
		c.valued = c.valued || m.Value != nil
	}
	if c.entries == 0 || c.rows > math.MaxInt32 {
		return nil
	}
	return c
}

// allocate sorts the entries by columns.
func (c *columns) allocate(units []*unit, t int) {
	c.start = make([]int, c.span.Features+1)
	c.row, c.beliefs = make([]int32, c.entries), make([]float64, c.rows*c.span.States)
	if c.valued {
		c.value = make([]float64, c.entries)
	}
	for _, u := range units {
		for _, j := range u.in.NodeFeatures(t).Data().Column {
			c.start[j+1]++
		}
	}
	for j := range c.span.Features {
		c.start[j+1] += c.start[j]
	}
	next := c.start // of each column, and afterwards where it ends
	for _, u := range units {
		m := u.in.NodeFeatures(t).Data()
		for r := range m.Rows {
			for i := m.Start[r]; i < m.Start[r+1]; i++ {
				at := next[m.Column[i]]
				next[m.Column[i]]++
				c.row[at] = int32(u.firstRows[t] + r)
				switch {
				case m.Value != nil:
					c.value[at] = m.Value[i]
				case c.valued:
					c.value[at] = 1
				}
			}
		}
	}
	copy(c.start[1:], c.start)
	c.start[0] = 0
}

// keep takes the beliefs of nodes of a unit. Those of observed nodes are zeros, for ever.
func (c *columns) keep(u *unit, t int, nodes []int32, beliefs []float64) {
	k := c.span.States
	for i, s := range nodes {
		kept := c.beliefs[(u.firstRows[t]+u.in.NodeRow(s))*k:][:k]
		for x, b := range beliefs[i*k:][:k] {
			kept[x] = u.weight * b
		}
	}
}

// sum adds the columns lo ≤ j < hi up.
func (c *columns) sum(dst []float64, lo, hi int) {
	k := c.span.States
	for j := lo; j < hi; j++ {
		out := dst[j*k:][:k]
		for i := c.start[j]; i < c.start[j+1]; i++ {
			b := c.beliefs[int(c.row[i])*k:][:k]
			switch {
			case k > longRow && c.value != nil:
				simd.AddScaled(out, b, c.value[i])
			case k > longRow:
				simd.AddScaled(out, b, 1)
			case c.value != nil:
				v := c.value[i]
				for x := range out {
					out[x] += v * b[x]
				}
			default:
				for x := range out {
					out[x] += b[x]
				}
			}
		}
	}
}

// longRow is from how many states on a call of a kernel takes less than a loop.
const longRow = 12

// addColumns adds what is summed by columns to the fresh contribution of all units, and takes its
// part out of the entropy.
func (l *learner) addColumns() {
	for t, c := range l.columns {
		if c == nil {
			continue
		}
		fresh := l.fresh[c.span.Part:][:c.span.Len]
		task := func(_, i int) {
			lo := i * columnsTogether
			c.sum(fresh, lo, min(lo+columnsTogether, c.span.Features))
		}
		l.pool.Run(visit{task: task}, (c.span.Features+columnsTogether-1)/columnsTogether)
		l.fresh[l.entropyAt()] -= simd.Dot(l.model.Weights[l.model.Layout.Node[t].At:][:c.span.Len], fresh)
	}
}
