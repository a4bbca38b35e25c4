package spill

import (
	"cmp"
	"slices"
	"unsafe"
)

// Pages are pieces of arrays in files that are needed soon. The zero value has none. A disk is asked
// for many pieces at a time, in their order there, as its requests cost more than bytes do; for mostPieces
// even before Fetch, so that no network asks for more room.
type Pages struct{ spans []span }

// PagesBytes is what Pages that something was wanted of take.
const PagesBytes = mostPieces * int64(unsafe.Sizeof(span{}))

// mostPieces are about those of 64 blocks of a grid of the size of a cache: a hundred rows, in ten arrays.
const mostPieces = 1 << 16

// span are bytes of memory, from lo until hi.
type span struct{ lo, hi uintptr }

// request is about how many bytes a disk reads in the time that one more request takes: it reads what
// lies between two pieces nearer than that.
const request = 64 << 10

// near is the distance within which pieces are of one page, or of two that follow each other.
const near = 4 << 10

// Want adds n elements of an array, from at on. Pieces that follow each other cost least.
func Want[T Number](p *Pages, x []T, at, n int) {
	if n <= 0 || len(x) == 0 {
		return
	}
	s := spanOf(x[at : at+n])
	if i := len(p.spans) - 1; i >= 0 && s.lo >= p.spans[i].lo && s.lo <= p.spans[i].hi+near {
		p.spans[i].hi = max(p.spans[i].hi, s.hi)
		return
	}
	if len(p.spans) == mostPieces {
		p.Fetch()
	}
	if p.spans == nil {
		p.spans = make([]span, 0, mostPieces)
	}
	p.spans = append(p.spans, s)
}

// Fetch asks the system to read all pieces, does not wait for that, and forgets them. What lies in
// memory stays as it is.
func (p *Pages) Fetch() {
	if len(p.spans) == 0 {
		return
	}
	slices.SortFunc(p.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	together := p.spans[0]
	for _, s := range p.spans[1:] {
		if s.lo > together.hi+request {
			together.fetch()
			together = s
		}
		together.hi = max(together.hi, s.hi)
	}
	together.fetch()
	p.spans = p.spans[:0]
}

// large are the bytes from which on an array is told of: what the system keeps of each is limited, and
// small ones are read as a whole.
const large = 1 << 20

// Apart tells the system whether pieces of a large array in a file are asked for before they are read. If
// so it reads no more than these, else it reads ahead.
func Apart[T Number](x []T, apart bool) {
	if len(x) == 0 {
		return
	}
	if s := spanOf(x); s.hi-s.lo >= large {
		s.readApart(apart)
	}
}

// Apart is that of all arrays of a Space.
func (s *Space) Apart(apart bool) {
	for _, f := range s.files {
		spanOf(f.bytes).readApart(apart)
	}
}

func spanOf[T Number | byte](x []T) span {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	return span{lo, lo + uintptr(len(x))*unsafe.Sizeof(x[0])}
}
