//go:build (linux || darwin) && (amd64 || arm64) && !static

package distributed

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Join makes this process, which a launcher started, a rank of its job, which ends where it waits for others for longer
// than stall, what these compute or write meanwhile included; 0: never. A process joins once.
func Join(launch Launch, stall time.Duration) (*Group, error) {
	e := &mpi{left: make(chan chan error)}
	joined := make(chan error)
	go e.mainThread(launch, joined)
	if err := <-joined; err != nil {
		return nil, err
	}
	return newGroup(e, e.rank, e.size, stall), nil
}

// function is one of the MPI library.
type function int

const (
	initThread function = iota
	finalize
	abort
	commRank
	commSize
	setErrorHandler
	errorString
	libraryVersion
	isend
	irecv
	testAll
	functions
)

var functionNames = [functions]string{
	"MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_set_errhandler",
	"MPI_Error_string", "MPI_Get_library_version", "MPI_Isend", "MPI_Irecv", "MPI_Testall",
}

// handles are what differs between libraries: values of constants, in C's headers. Those of
// Open MPI are addresses of its variables.
type handles struct {
	world, bytes, errorsReturn, ignoreStatuses uintptr
	serialized                                 int32 // MPI_THREAD_SERIALIZED
	requestSize                                int
}

var (
	standardHandles = handles{world: 0x101, bytes: 0x247, errorsReturn: 0x143, ignoreStatuses: 0, serialized: 2048,
		requestSize: 8}
	mpichHandles = handles{world: 0x44000000, bytes: 0x4c00010d, errorsReturn: 0x54000001, ignoreStatuses: 1,
		serialized: 2, requestSize: 4}
)

// compatible are the libraries whose handles are those of MPICH, as they name themselves.
var compatible = []string{"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"}

// mpi is the engine of a process. Its functions are called on any thread, but one at a
// time, as MPI_THREAD_SERIALIZED allows; only MPI_Init and MPI_Finalize must share one.
type mpi struct {
	path, version string
	handles
	functions         [functions]uintptr
	sched, doze, exit uintptr // sched_yield, usleep and exit
	rank, size        int
	hangs             bool // in MPI_Finalize, at times

	requests []uint64 // room for all, each of requestSize bytes
	posted   []message
	flag     int32 // what MPI_Testall writes
	room     [textRoom]byte
	length   int32 // of the text in room

	arguments [7]uintptr // of the call of a moment: passed one by one, they would take new memory
	left      chan chan error
	aborting  sync.Once
}

// mainThread enters the job, waits, and leaves it on the same thread.
func (e *mpi) mainThread(launch Launch, joined chan<- error) {
	runtime.LockOSThread()
	err := e.enter(launch)
	joined <- err
	if err != nil {
		return
	}
	answer := <-e.left
	answer <- e.check(finalize, e.call(finalize))
}

// enter loads the library and initialises it.
func (e *mpi) enter(launch Launch) error {
	restore, err := keepHandlers() // of signals, which libraries of networks replace even when they are loaded
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrNoLibrary, err)
	}
	defer restore()
	if err := e.load(candidates(launch)); err != nil {
		return err
	}
	var got, rank, size int32
	status := e.call(initThread, 0, 0, uintptr(e.serialized), uintptr(unsafe.Pointer(&got)))
	if err := e.check(initThread, status); err != nil {
		return err
	}
	if got < e.serialized {
		return fmt.Errorf("the MPI library %s allows calls from one thread only; use one with MPI_THREAD_SERIALIZED",
			e.name())
	}
	for _, step := range []struct {
		function
		status uintptr
	}{
		{setErrorHandler, e.call(setErrorHandler, e.world, e.errorsReturn)},
		{commRank, e.call(commRank, e.world, uintptr(unsafe.Pointer(&rank)))},
		{commSize, e.call(commSize, e.world, uintptr(unsafe.Pointer(&size)))},
	} {
		if err := e.check(step.function, step.status); err != nil {
			return err
		}
	}
	e.rank, e.size = int(rank), int(size)
	return disagree(launch, e.name(), e.size)
}

// load finds a library and its functions.
func (e *mpi) load(names []string) error {
	handle, err := e.open(names)
	if err != nil {
		return err
	}
	for f, name := range functionNames {
		if e.functions[f], err = purego.Dlsym(handle, name); err != nil {
			return fmt.Errorf("%w (%s has no %s)", ErrNoLibrary, e.path, name)
		}
	}
	for name, place := range map[string]*uintptr{"sched_yield": &e.sched, "usleep": &e.doze, "exit": &e.exit} {
		if *place, err = purego.Dlsym(purego.RTLD_DEFAULT, name); err != nil {
			return err
		}
	}
	version := e.text(libraryVersion)
	e.version, e.hangs = firstLine(version), mayHang(version)
	return e.findHandles(handle)
}

// open loads the first library that can be loaded. Global: the plug-ins of Open MPI look for their symbols there.
func (e *mpi) open(names []string) (handle uintptr, err error) {
	var problems []string
	for _, name := range names {
		if handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			e.path = name
			return handle, nil
		}
		problems = append(problems, err.Error())
	}
	return 0, fmt.Errorf("%w; tried: %s", ErrNoLibrary, strings.Join(problems, "; "))
}

// findHandles tells libraries apart. One that has the standard interface of MPI 5 says so;
// MPICH has the function that is asked in its own interface too, and denies it there.
func (e *mpi) findHandles(handle uintptr) error {
	if ask, err := purego.Dlsym(handle, "MPI_Abi_get_version"); err == nil {
		var major, minor int32
		purego.SyscallN(ask, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
		if major > 0 {
			e.handles = standardHandles
			return nil
		}
	}
	symbol := func(name string) uintptr {
		address, _ := purego.Dlsym(handle, name) // 0 if there is none
		return address
	}
	if world := symbol("ompi_mpi_comm_world"); world != 0 {
		e.handles = handles{world: world, bytes: symbol("ompi_mpi_byte"), errorsReturn: symbol("ompi_mpi_errors_return"),
			serialized: 2, requestSize: 8}
		if e.bytes != 0 && e.errorsReturn != 0 {
			return nil
		}
	}
	for _, name := range compatible {
		if strings.Contains(e.version, name) {
			e.handles = mpichHandles
			return nil
		}
	}
	return fmt.Errorf("the MPI library %s is neither Open MPI, nor compatible to MPICH, nor does it have the standard "+
		"interface of MPI 5", e.name())
}

func (e *mpi) name() string { return fmt.Sprintf("%s (%s)", e.path, e.version) }

// call calls a function. Addresses of Go's memory are made of pointers in the call, which keeps them.
//
//go:uintptrescapes
func (e *mpi) call(f function, arguments ...uintptr) (status uintptr) {
	status, _, _ = purego.SyscallN(e.functions[f], arguments...)
	return status
}

// textRoom is more than MPI_MAX_LIBRARY_VERSION_STRING and MPI_MAX_ERROR_STRING of all
// libraries, which are 8192 at most.
const textRoom = 1 << 14

// text calls a function that writes a text.
func (e *mpi) text(f function, before ...uintptr) string {
	// e is on the heap, and stays.
	e.call(f, append(before, uintptr(unsafe.Pointer(&e.room)), uintptr(unsafe.Pointer(&e.length)))...)
	return strings.TrimRight(string(e.room[:min(max(e.length, 0), textRoom)]), "\x00")
}

// firstLine is that of a text, with single spaces.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Join(strings.Fields(line), " ")
}

// check makes an error of a status.
func (e *mpi) check(f function, status uintptr) error {
	if int32(status) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", functionNames[f], firstLine(e.text(errorString, uintptr(int32(status)))))
}

// start posts receives before sends, so that what comes finds its place at once.
func (e *mpi) start(kind operation, messages []message) error {
	e.posted = messages
	if words := len(messages); len(e.requests) < words {
		e.requests = make([]uint64, words)
	}
	for _, send := range []bool{false, true} {
		f := irecv
		if send {
			f = isend
		}
		for i := range messages {
			m := &messages[i]
			if m.send != send {
				continue
			}
			// The memory stays where it is: messages hold it, and Go does not move what is on the heap.
			e.arguments = [...]uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(m.data))), uintptr(len(m.data)), e.bytes,
				uintptr(m.peer), uintptr(kind), e.world, e.request(i)}
			status, _, _ := purego.SyscallN(e.functions[f], e.arguments[:]...)
			if err := e.check(f, status); err != nil {
				return err
			}
		}
	}
	return nil
}

// request is the address of that of message i.
func (e *mpi) request(i int) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(e.requests))) + uintptr(i*e.requestSize)
}

func (e *mpi) poll() (bool, error) {
	if len(e.posted) == 0 {
		return true, nil
	}
	return e.test(0, len(e.posted))
}

func (e *mpi) arrived(i int) bool {
	done, err := e.test(i, 1)
	return done && err == nil
}

// test moves messages on, and reports whether some of them, from the first on, are done.
func (e *mpi) test(first, count int) (bool, error) {
	flag := uintptr(unsafe.Pointer(&e.flag))
	e.arguments = [...]uintptr{uintptr(count), e.request(first), flag, e.ignoreStatuses, 0, 0, 0}
	status, _, _ := purego.SyscallN(e.functions[testAll], e.arguments[:4]...)
	return e.flag != 0, e.check(testAll, status)
}

// yield lets another process, or another goroutine, have this processor.
func (e *mpi) yield() {
	purego.SyscallN(e.sched)
	runtime.Gosched()
}

// pause sleeps by the C library: a short time.Sleep takes a millisecond.
func (e *mpi) pause(d time.Duration) {
	e.arguments[0] = uintptr(d.Microseconds())
	purego.SyscallN(e.doze, e.arguments[:1]...)
}

// lastWords is the time for the launcher to pass the message on: that of MPICH reads
// nothing more once it is told to end the job.
const lastWords = 200 * time.Millisecond

// abortPatience is how long the library may take to tell the others.
const abortPatience = 500 * time.Millisecond

func (e *mpi) abort(message string, code int) {
	e.aborting.Do(func() {
		fmt.Fprintln(os.Stderr, "blockbp:", message)
		time.Sleep(lastWords)
		time.AfterFunc(abortPatience, func() { os.Exit(code) }) // the launcher then sees it
		e.call(abort, e.world, uintptr(code))
		os.Exit(code)
	})
	select {} // another goroutine ends the process
}

// leavePatience is far longer than MPI_Finalize needs when all ranks call it together.
var leavePatience = 10 * time.Second

func (e *mpi) close() error {
	if e.hangs {
		if done, err := e.farewell(); done || err != nil {
			return err
		}
	}
	answer := make(chan error, 1)
	e.left <- answer
	select {
	case err := <-answer:
		if err == nil {
			leaving.Store(e.exit)
		}
		return err
	case <-time.After(leavePatience):
		return fmt.Errorf("MPI_Finalize of %s does not return after %v: all is done, but the launcher may report a "+
			"failure; use another version of MPI", e.name(), leavePatience)
	}
}

// mayHang reports whether MPI_Finalize of a library may wait for ever: in MPICH before 4.2 over
// UCX, a rank whose connections are closed waits for a barrier of the launcher, and no longer
// answers another that closes its own (https://github.com/pmodels/mpich/pull/6596).
func mayHang(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "MPICH Version: %d.%d", &major, &minor)
	return err == nil && strings.Contains(version, "ch4:ucx") && (major < 4 || major == 4 && minor < 2)
}

// lingering is for others to take the last messages, of which the end of a process may lose some.
const lingering = 50 * time.Millisecond

// farewell tells the launcher of MPICH, by its protocol PMI, that this rank is done: the end of
// MPI_Finalize, without the rest. It reports whether this launcher speaks that.
func (e *mpi) farewell() (done bool, err error) {
	launcher, err := strconv.Atoi(os.Getenv("PMI_FD"))
	if err != nil || os.Getenv("MPI_LOCALRANKID") == "" { // Slurm has the first alone, and another protocol
		return false, nil
	}
	// The library works on what it still has to send while it is asked for what never comes.
	if err := e.start(opLeave, []message{{peer: (e.rank + 1) % e.size, data: make([]byte, 1)}}); err != nil {
		return false, err
	}
	for begin := time.Now(); time.Since(begin) < lingering; e.pause(shortestSleep) {
		if _, err := e.poll(); err != nil {
			return false, err
		}
	}
	answer := make(chan error, 1)
	go func() { answer <- tell(launcher) }()
	select {
	case err = <-answer:
	case <-time.After(leavePatience):
		err = fmt.Errorf("nothing comes after %v", leavePatience)
	}
	if err != nil {
		return false, fmt.Errorf("the launcher does not answer that this rank is done, and may report a failure, though "+
			"all is done: %w", err)
	}
	return true, nil
}

// tell says by PMI that a rank is done, and waits for the answer.
func tell(launcher int) error {
	if _, err := syscall.Write(launcher, []byte("cmd=finalize\n")); err != nil {
		return err
	}
	var said []byte
	for !bytes.HasSuffix(said, []byte("\n")) {
		var piece [256]byte
		n, err := syscall.Read(launcher, piece[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		said = append(said, piece[:n]...)
	}
	if !bytes.HasPrefix(said, []byte("cmd=finalize_ack")) {
		return fmt.Errorf("it says %q", said)
	}
	return nil
}

// leaving is C's exit, once the job was left in good order.
var leaving atomic.Uintptr

// Exit ends the process as os.Exit does. A process that was a rank ends by C's exit, where MPI_Finalize returned: MPICH
// tells the launcher that a rank is done when that runs, and the launcher kills all ranks where one ends without.
func Exit(code int) {
	if exit := leaving.Load(); exit != 0 {
		time.AfterFunc(abortPatience, func() { os.Exit(code) })
		purego.SyscallN(exit, uintptr(code))
	}
	os.Exit(code)
}

// signalActionRoom is more than the size of a struct sigaction on any system (152 bytes on Linux), in words.
const signalActionRoom = 64

// signals are those that have handlers, from 1.
const signals = 31

// keepHandlers saves the handlers of all signals, and returns the function that puts them back: with the handlers of
// a library, a nil pointer would end the process before Go says where, and a signal on a stack of Go would crash it.
func keepHandlers() (restore func(), err error) {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "sigaction")
	if err != nil {
		return nil, err
	}
	saved := new([signals + 1][signalActionRoom]uint64)
	for s := 1; s <= signals; s++ {
		purego.SyscallN(address, uintptr(s), 0, uintptr(unsafe.Pointer(&saved[s])))
	}
	return func() {
		for s := 1; s <= signals; s++ {
			purego.SyscallN(address, uintptr(s), uintptr(unsafe.Pointer(&saved[s])), 0)
		}
	}, nil
}
