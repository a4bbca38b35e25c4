package memory

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// leastGarbage may lie about at any time, and garbageShare of what is in use: the collector's own rule, as much
	// garbage as there is in use, would make every large array need its memory twice. What is in use here has few
	// pointers as a rule, so that a collection takes less than a millisecond; scannedShare of what has to be searched
	// for pointers may lie about, too, or collections while a table grows would take time with the square of its size.
	leastGarbage = 4 << 20
	garbageShare = 0.04
	scannedShare = 0.5
	// mostShare bounds the share where next to nothing is in use. The runtime never lets the heap be smaller than 4 MiB
	// times the share, here 8 MiB: programs as small as that need no collection.
	mostShare = 2.0
)

// KeepHeapTight has the garbage collector run as soon as garbage is a small share of what
// is in use, until the program ends. It is for programs, not for libraries: the rule is one
// for the whole process. An environment that sets GOGC is left alone.
var KeepHeapTight = sync.OnceFunc(func() {
	if os.Getenv("GOGC") != "" {
		return
	}
	tighten()
	afterCollections(tighten)
})

// MostGarbage returns how much garbage may lie about, where KeepHeapTight was called, when so many bytes are in use.
func MostGarbage(inUse float64) float64 { return max(leastGarbage, garbageShare*inUse) }

// tighten sets the share of garbage that the next collection waits for.
func tighten() {
	of := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(of)
	inUse, scanned := float64(max(1, of[0].Value.Uint64())), float64(of[1].Value.Uint64())
	share := max(garbageShare, min(leastGarbage/inUse, mostShare), min(scannedShare*scanned/inUse, 1))
	debug.SetGCPercent(int(math.Ceil(100 * share)))
}

// afterCollections calls do after every collection: a finalizer runs then, and sets itself up again.
func afterCollections(do func()) {
	type sentinel struct{ _ [16]byte }
	var again func(*sentinel)
	again = func(*sentinel) {
		do()
		runtime.SetFinalizer(&sentinel{}, again)
	}
	runtime.SetFinalizer(&sentinel{}, again)
}

// GiveBack collects garbage and gives what is free back to the system, so that what follows
// does not come on top of it. It returns what the process has in memory then.
func GiveBack() int64 {
	debug.FreeOSMemory()
	if bytes, ok := readKilobytes(statusFile, "VmRSS:"); ok {
		return bytes
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
