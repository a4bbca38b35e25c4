package exact

// blockEntries is the wanted number of entries of a block: two blocks of
// products and the index lists of a bucket's tables fit the first-level cache.
const blockEntries = 1 << 10

// loop walks a bucket's joint table, own variable first. The separator's variables are divided in two: the trailing
// ones make up a block, the others, outer ones, are counted up like an odometer. A table is met in a block in one of
// three ways, so no coordinate is ever decoded.
type loop struct {
	own    int   // states of the bucket's own variable
	outer  []int // states of the outer variables
	digits []int // current states of the outer variables
	block  int   // entries of a block
	views  []*view
}

// access is how a table is met in a block.
type access int

const (
	constant   access = iota // one entry for the whole block
	contiguous               // an entry for each entry of the block, in order
	gathered                 // entries at the offsets in view.offsets
)

// view is a table seen from a bucket's loop.
type view struct {
	entries   []float64
	access    access
	offsets   []int32 // [block] for gathered
	reach     int     // entries of the table that a block can touch
	ownStride int     // 0: the table does not depend on the bucket's own variable
	strides   []int   // [outer variables]
	base      int     // offset at the current outer state and own state 0
}

// newLoop divides the bucket's scope.
func newLoop(b *bucket) *loop {
	l, split := &loop{own: b.card[0], block: 1}, len(b.card)
	for split > 1 && (l.block == 1 || l.block*b.card[split-1] <= blockEntries) {
		split--
		l.block *= b.card[split]
	}
	l.outer = b.card[1:split]
	l.digits = make([]int, len(l.outer))
	return l
}

// addView adds a table over scope, a subset of the bucket's.
func (l *loop) addView(b *bucket, scope []int32, entries []float64) *view {
	strides := make([]int, len(b.scope)) // 0: not in the table's scope
	stride := 1
	for i, j := len(b.scope)-1, len(scope)-1; j >= 0; i-- {
		if b.scope[i] == scope[j] {
			strides[i] = stride
			stride *= b.card[i]
			j--
		}
	}
	inner := 1 + len(l.outer)
	v := &view{entries: entries, ownStride: strides[0], strides: strides[1:inner]}
	v.offsets, v.reach = blockOffsets(b.card[inner:], strides[inner:], l.block)
	switch {
	case v.reach == 1:
		v.access, v.offsets = constant, nil
	case v.reach == l.block:
		v.access, v.offsets = contiguous, nil
	default:
		v.access = gathered
	}
	l.views = append(l.views, v)
	return v
}

// blockOffsets lists a table's offset for every entry of a block over variables with the given states, last one
// fastest. reach is one more than the largest. Because a table's variables keep the bucket's order, reach equals the
// block's size only if the offsets are 0, 1, 2, ….
func blockOffsets(card, strides []int, block int) (offsets []int32, reach int) {
	offsets = make([]int32, 1, block)
	for i := len(card) - 1; i >= 0; i-- {
		filled := len(offsets)
		for state := 1; state < card[i]; state++ {
			for _, offset := range offsets[:filled] {
				offsets = append(offsets, offset+int32(state*strides[i]))
			}
		}
	}
	return offsets, int(offsets[len(offsets)-1]) + 1
}

// advance moves to the next outer state and reports whether there is one.
func (l *loop) advance() bool {
	for j := len(l.outer) - 1; j >= 0; j-- {
		l.digits[j]++
		if l.digits[j] < l.outer[j] {
			for _, v := range l.views {
				v.base += v.strides[j]
			}
			return true
		}
		for _, v := range l.views {
			v.base -= (l.outer[j] - 1) * v.strides[j]
		}
		l.digits[j] = 0
	}
	return false
}

// block returns the part of the view's table that the current block touches, for
// state own of the bucket's own variable.
func (v *view) block(own int) []float64 {
	base := v.base + own*v.ownStride
	return v.entries[base : base+v.reach]
}
