package exact

import "slices"

// bytesPerEntry is the size of a float64.
const bytesPerEntry = 8

// arena hands out tables and takes them back for reuse. A dry arena goes through the same motions without memory; it
// is how a plan knows what a run will need.
type arena struct {
	dry   bool
	sizes []sizeClass // ascending
	bytes int64       // obtained so far, in use or free
}

// sizeClass holds the free buffers of one size.
type sizeClass struct {
	size int
	free []buffer
}

// buffer is memory for a table; entries is nil in a dry arena.
type buffer struct {
	size    int
	entries []float64
}

// wasteLimit is how many times larger than asked a reused buffer may be.
const wasteLimit = 4

// find returns the first class of at least n entries.
func (a *arena) find(n int) (at int, exact bool) {
	return slices.BinarySearchFunc(a.sizes, n, func(c sizeClass, n int) int { return c.size - n })
}

// take returns a buffer for at least n entries, of any content.
func (a *arena) take(n int) buffer {
	at, _ := a.find(n)
	for ; at < len(a.sizes) && a.sizes[at].size/wasteLimit <= n; at++ {
		if c := &a.sizes[at]; len(c.free) > 0 {
			b := c.free[len(c.free)-1]
			c.free = c.free[:len(c.free)-1]
			return b
		}
	}
	a.bytes += int64(n) * bytesPerEntry
	b := buffer{size: n}
	if !a.dry {
		b.entries = make([]float64, n)
	}
	return b
}

// give takes back a buffer that is no longer used.
func (a *arena) give(b buffer) {
	at, exact := a.find(b.size)
	if !exact {
		a.sizes = slices.Insert(a.sizes, at, sizeClass{size: b.size})
	}
	a.sizes[at].free = append(a.sizes[at].free, b)
}
