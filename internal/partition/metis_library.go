//go:build (linux || darwin) && (amd64 || arm64) && !nometis

package partition

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// metisNames are the files tried, in this order. Homebrew's folders are not on
// the loader's path.
var metisNames = map[string][]string{
	"linux":  {"libmetis.so.5", "libmetis.so"},
	"darwin": {"libmetis.dylib", "/opt/homebrew/lib/libmetis.dylib", "/usr/local/lib/libmetis.dylib"},
}

// metisOptions is METIS_NOPTIONS, the length of an array of options.
const metisOptions = 40

// metisOK is the status METIS_OK; the others are -2 (input), -3 (memory) and
// -4 (other error).
const metisOK = 1

// metisLibrary holds the loaded functions. METIS uses the C library's random
// numbers and signal handlers, which belong to the whole process, so calls take
// turns.
type metisLibrary struct {
	mutex       sync.Mutex
	wideIndices bool // idx_t has 64 bits instead of the usual 32

	setDefaultOptions func(options unsafe.Pointer) int32
	partGraphKway     func(nodes, constraints, start, adjacent, weight, size, edgeWeight, blocks,
		targets, imbalance, options, cut, part unsafe.Pointer) int32
	sigaction func(signal int32, set, old unsafe.Pointer) int32
}

// openMETIS loads the library and its functions.
func openMETIS() (*metisLibrary, error) {
	handle, err := openAny(metisNames[runtime.GOOS])
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNoMETIS, err)
	}
	l := &metisLibrary{}
	for _, function := range []struct {
		handle  uintptr
		name    string
		pointer any
	}{
		{handle, "METIS_SetDefaultOptions", &l.setDefaultOptions},
		{handle, "METIS_PartGraphKway", &l.partGraphKway},
		{purego.RTLD_DEFAULT, "sigaction", &l.sigaction},
	} {
		address, err := purego.Dlsym(function.handle, function.name)
		if err != nil {
			return nil, fmt.Errorf("%w (%v)", ErrNoMETIS, err)
		}
		purego.RegisterFunc(function.pointer, address)
	}
	// All options default to -1, so the length of what is written gives the
	// width of the integers.
	var probe [2 * metisOptions]int32
	l.setDefaultOptions(unsafe.Pointer(&probe))
	l.wideIndices = probe[2*metisOptions-1] == -1
	return l, nil
}

// openAny loads the first library that can be loaded and returns the error for
// the first name if there is none.
func openAny(names []string) (handle uintptr, err error) {
	for _, name := range names {
		h, e := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if e == nil {
			return h, nil
		}
		if err == nil {
			err = e
		}
	}
	return 0, err
}

// partition returns the block of every node.
func (l *metisLibrary) partition(c weightedCSR, blocks int) ([]int32, error) {
	if l.wideIndices {
		return callMETIS[int64](l, c, blocks)
	}
	return callMETIS[int32](l, c, blocks)
}

// callMETIS calls METIS_PartGraphKway with default options and integers of the
// library's width.
func callMETIS[I int32 | int64](l *metisLibrary, c weightedCSR, blocks int) ([]int32, error) {
	nodes, constraints, parts, cut := I(len(c.weight)), I(1), I(blocks), I(0)
	start, adjacent, weight := convert[I](c.start), convert[I](c.adjacent), convert[I](c.weight)
	part := make([]I, len(c.weight))

	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer l.keepHandlers()()
	status := l.partGraphKway(unsafe.Pointer(&nodes), unsafe.Pointer(&constraints),
		unsafe.Pointer(&start[0]), unsafe.Pointer(&adjacent[0]), unsafe.Pointer(&weight[0]), nil, nil,
		unsafe.Pointer(&parts), nil, nil, nil, unsafe.Pointer(&cut), unsafe.Pointer(&part[0]))
	if status != metisOK {
		return nil, fmt.Errorf("partition: METIS_PartGraphKway returned status %d for %d nodes and %d blocks, want %d",
			status, len(part), blocks, metisOK)
	}
	return convert[int32](part), nil
}

// convert returns the numbers as another type of integer.
func convert[To, From int32 | int64](numbers []From) []To {
	if same, ok := any(numbers).([]To); ok {
		return same
	}
	converted := make([]To, len(numbers))
	for i, x := range numbers {
		converted[i] = To(x)
	}
	return converted
}

// sigactionRoom is more than the size of a struct sigaction on any system (152
// bytes on Linux), in words.
const sigactionRoom = 64

// keepHandlers saves the handlers of the two signals that METIS traps during a
// call and returns the function that puts them back. METIS restores them with
// signal(), which loses the flag by which Go's handlers run on their own stack:
// without this, a later SIGTERM would crash the program instead of ending it in
// good order.
func (l *metisLibrary) keepHandlers() (restore func()) {
	signals := []syscall.Signal{syscall.SIGABRT, syscall.SIGTERM}
	saved := make([][sigactionRoom]uint64, len(signals))
	for i, s := range signals {
		l.sigaction(int32(s), nil, unsafe.Pointer(&saved[i]))
	}
	return func() {
		for i, s := range signals {
			l.sigaction(int32(s), unsafe.Pointer(&saved[i]), nil)
		}
	}
}
