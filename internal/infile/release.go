package infile

import (
	"maps"
	"slices"
	"sync"
	"unsafe"
)

// spare is memory of a MapOwn file that may be let go of for a while.
type spare struct {
	again    func(lo, hi int) // makes the changes again
	released [][2]int         // elements, ascending
}

var (
	sparesMutex sync.Mutex
	spares      = map[unsafe.Pointer]*spare{} // by the first element
)

// Spare says that numbers may be let go of by Release, if they lie in a file of MapOwn. again makes the
// changes to x[lo:hi] again, from what the file has; nil: there are none, but for those that were told
// before.
func Spare[T float32 | float64](x []T, again func(lo, hi int)) {
	if len(x) == 0 || !mappedOwn(unsafe.Pointer(&x[0])) {
		return
	}
	sparesMutex.Lock()
	defer sparesMutex.Unlock()
	if at := unsafe.Pointer(&x[0]); again != nil || spares[at] == nil {
		spares[at] = &spare{again: again}
	}
}

// forgetSpares forgets those of a file that is given back.
func forgetSpares(r *region) {
	sparesMutex.Lock()
	defer sparesMutex.Unlock()
	maps.DeleteFunc(spares, func(at unsafe.Pointer, _ *spare) bool { return r.holds(uintptr(at)) })
}

// mappedOwn reports whether memory is that of a MapOwn file.
func mappedOwn(at unsafe.Pointer) (own bool) {
	regions.Range(func(r, _ any) bool {
		x := r.(*region)
		own = x.own && x.holds(uintptr(at))
		return !own
	})
	return own
}

// Release lets go of whole pages of x[lo:hi], where x was spared and the system can do that. They have
// what the file has then, until Restore makes the changes again. Calls follow each other in the order
// of lo.
func Release[T float32 | float64](x []T, lo, hi int) {
	if lo >= hi {
		return
	}
	sparesMutex.Lock()
	defer sparesMutex.Unlock()
	s := spares[unsafe.Pointer(&x[0])]
	if s == nil {
		return
	}
	var one T
	size := int(unsafe.Sizeof(one))
	from, to := uintptr(unsafe.Pointer(&x[lo])), uintptr(unsafe.Pointer(&x[hi-1]))+uintptr(size)
	from, to = (from+pageSize-1)/pageSize*pageSize, to/pageSize*pageSize
	if from >= to {
		return
	}
	first := int(from-uintptr(unsafe.Pointer(&x[0]))) / size
	n := int(to-from) / size
	if k := len(s.released); k > 0 && first < s.released[k-1][1] {
		return // it was let go of before
	}
	if discard(unsafe.Slice((*byte)(unsafe.Pointer(&x[first])), n*size)) {
		s.released = append(s.released, [2]int{first, first + n})
	}
}

// Restore makes x what it was before Release.
func Restore[T float32 | float64](x []T) {
	if len(x) == 0 {
		return
	}
	sparesMutex.Lock()
	defer sparesMutex.Unlock()
	s := spares[unsafe.Pointer(&x[0])]
	if s == nil {
		return
	}
	for _, piece := range s.released {
		if s.again != nil {
			s.again(piece[0], piece[1])
		}
	}
	s.released = slices.Delete(s.released, 0, len(s.released))
}
