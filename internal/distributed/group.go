package distributed

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Group is the ranks of a job, as one of them sees them. Its methods are called by one
// goroutine at a time, on any thread.
type Group struct {
	rank, size int
	stall      time.Duration // for which it waits for others before it ends the job; 0: for ever
	engine     engine
	peers      []string // [rank] host and process, once they are known

	messages []message // of the call that is on its way
	calls    int       // so far
	begun    time.Time

	tree     Tree
	subtrees []node      // of all ranks, in ascending order
	firstOf  []int       // [rank + 1] its first subtree
	bounds   []int       // of which these are
	partial  []float64   // [subtree][element] their sums
	views    [][]float64 // [subtree] rows of partial
	lengths  []int       // [rank]
	one      [1]float64
	flags    []float64 // [rank]
	patient  bool      // in Close: no wait is too long
}

// engine carries messages.
type engine interface {
	// name says which library it is.
	name() string
	// start posts messages, which stay as they are until poll says that all are done.
	// Messages between two ranks of one kind arrive in the order of their posting.
	start(kind operation, messages []message) error
	// poll moves messages on, and reports whether all are done.
	poll() (bool, error)
	// arrived reports whether message i is done, where poll said that not all are.
	arrived(i int) bool
	// yield lets other processes run, and pause sleeps.
	yield()
	pause(time.Duration)
	// abort ends the job with a message and an exit code; it does not return.
	abort(message string, code int)
	close() error
}

// message is to or from a peer.
type message struct {
	peer int
	send bool
	data []byte
}

// operation is what a call is for. Messages of different operations do not meet, so that
// ranks in different calls wait and say so, and read nothing wrong.
type operation int32

const (
	opJoin operation = iota
	opGather
	opSum
	opAgree
	opExchange
	opBytes
	opLeave
)

func (o operation) String() string {
	return [...]string{"join", "gather", "sum", "agree", "exchange", "bytes", "leave"}[o]
}

// largestMessage is the most bytes that are sent as one: MPI counts in 32 bits with sign.
var largestMessage = 1 << 30

// newGroup makes a group and tells all ranks of each other.
func newGroup(e engine, rank, size int, stall time.Duration) *Group {
	g := &Group{rank: rank, size: size, stall: stall, engine: e, lengths: make([]int, size), flags: make([]float64, size)}
	host, _ := os.Hostname() // without a name, the process still tells
	for _, peer := range g.bytes(opJoin, fmt.Appendf(nil, "process %d on %s", os.Getpid(), host)) {
		g.peers = append(g.peers, string(peer))
	}
	return g
}

// Rank is the number of this process, from 0.
func (g *Group) Rank() int { return g.rank }

// Size is the number of ranks.
func (g *Group) Size() int { return g.size }

// Gather sets dst to the vectors of all ranks one after the other. That of rank r has
// lengths[r] numbers; own may be its place in dst.
func (g *Group) Gather(dst, own []float64, lengths []int) { g.gather(opGather, dst, own, lengths) }

// gather fills dst, where own may lie already.
func (g *Group) gather(kind operation, dst, own []float64, lengths []int) {
	start := 0
	for r, n := range lengths {
		part := dst[start : start+n]
		if r == g.rank {
			copy(part, own)
		} else {
			g.receive(r, part)
			g.send(r, own)
		}
		start += n
	}
	g.run(kind)
}

// Sum sets dst to the sum over all parts of vectors of its length, in the order of a Tree. Rank r has the vectors of
// parts [bounds[r], bounds[r+1]), and own is those of this rank. dst may be one of them.
func (g *Group) Sum(dst []float64, own [][]float64, bounds []int) {
	if g.size == 1 {
		g.tree.Sum(dst, own)
		return
	}
	g.plan(bounds)
	n := len(dst)
	g.partial = slices.Grow(g.partial[:0], n*len(g.subtrees))[:n*len(g.subtrees)]
	g.views = g.views[:0]
	for i := range g.subtrees {
		g.views = append(g.views, g.partial[i*n:(i+1)*n])
	}
	parts, first := bounds[g.size], bounds[g.rank]
	for i := g.firstOf[g.rank]; i < g.firstOf[g.rank+1]; i++ {
		from := g.subtrees[i].first
		to := min(from+g.subtrees[i].size, parts)
		g.tree.add(g.views[i], g.tree.leavesOf(from, to), own[from-first:to-first])
	}
	for r := range g.size {
		g.lengths[r] = n * (g.firstOf[r+1] - g.firstOf[r])
	}
	mine := g.partial[n*g.firstOf[g.rank] : n*g.firstOf[g.rank+1]]
	g.gather(opSum, g.partial, mine, g.lengths)
	g.tree.add(dst, g.subtrees, g.views)
}

// plan finds the subtrees that each rank adds up alone.
func (g *Group) plan(bounds []int) {
	if slices.Equal(bounds, g.bounds) {
		return
	}
	g.bounds = append(g.bounds[:0], bounds...)
	g.subtrees, g.firstOf = g.subtrees[:0], append(g.firstOf[:0], 0)
	for r := range g.size {
		g.subtrees = appendSubtrees(g.subtrees, bounds[r], bounds[r+1], bounds[g.size])
		g.firstOf = append(g.firstOf, len(g.subtrees))
	}
}

// Agree sets x to what rank 0 has.
func (g *Group) Agree(x []float64) {
	for r := 1; r < g.size && g.rank == 0; r++ {
		g.send(r, x)
	}
	if g.rank > 0 {
		g.receive(0, x)
	}
	g.run(opAgree)
}

// Any reports whether a flag is set on any rank.
func (g *Group) Any(flag bool) bool { return g.any(opAgree, flag) }

// any is Any, of a kind.
func (g *Group) any(kind operation, flag bool) bool {
	g.one[0] = float64(numeric.OneIf(flag))
	numeric.Fill(g.lengths, 1)
	g.gather(kind, g.flags, g.one[:], g.lengths)
	return slices.Contains(g.flags, 1)
}

// Exchange sends send[r] to rank r and receives recv[r] from it; empty is nothing. The two
// ends of a way have the same length.
func (g *Group) Exchange(send, recv [][]float64) {
	for r := range recv {
		g.receive(r, recv[r])
	}
	for r := range send {
		g.send(r, send[r])
	}
	g.run(opExchange)
}

// Bytes returns the texts of all ranks.
func (g *Group) Bytes(own []byte) [][]byte { return g.bytes(opBytes, own) }

func (g *Group) bytes(kind operation, own []byte) [][]byte {
	size := []float64{float64(len(own))}
	sizes := make([]float64, g.size)
	g.gather(kind, sizes, size, slices.Repeat([]int{1}, g.size))
	all := make([][]byte, g.size)
	for r, n := range sizes {
		if all[r] = make([]byte, int(n)); r == g.rank {
			copy(all[r], own)
			continue
		}
		g.receiveBytes(r, all[r])
		g.sendBytes(r, own)
	}
	g.run(kind)
	return all
}

// Abort ends the job with a message and an exit code that is not 0. It does not return, and any goroutine may call it.
func (g *Group) Abort(message string, code int) {
	g.engine.abort(fmt.Sprintf("%s ends the job: %s", g.peer(g.rank), message), code)
}

// Close leaves the job in good order; all ranks do it, and none leaves before all have come,
// however long one of them works alone before. The group is of no use afterwards, and Exit
// ends the process. An error says what the library does not do; results are complete.
func (g *Group) Close() error {
	g.patient = true // for good: the engine bounds what is left
	g.any(opLeave, false)
	return g.engine.close()
}

func (g *Group) send(peer int, x []float64)    { g.sendBytes(peer, bytesOf(x)) }
func (g *Group) receive(peer int, x []float64) { g.receiveBytes(peer, bytesOf(x)) }

func (g *Group) sendBytes(peer int, data []byte)    { g.add(peer, true, data) }
func (g *Group) receiveBytes(peer int, data []byte) { g.add(peer, false, data) }

// add notes a message, in pieces that MPI can count.
func (g *Group) add(peer int, send bool, data []byte) {
	for len(data) > 0 {
		n := min(len(data), largestMessage)
		g.messages = append(g.messages, message{peer, send, data[:n]})
		data = data[n:]
	}
}

// bytesOf is the memory of numbers.
func bytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
}

// peer names a rank for people.
func (g *Group) peer(r int) string {
	if len(g.peers) == 0 {
		return fmt.Sprintf("rank %d", r)
	}
	return fmt.Sprintf("rank %d (%s)", r, g.peers[r])
}

// stallCode is the exit code where ranks cannot reach each other: that of errors of input and output.
const stallCode = 1

// run carries the messages that were noted.
func (g *Group) run(kind operation) {
	g.begun = time.Now()
	g.calls++
	err := g.engine.start(kind, g.messages)
	if err == nil {
		err = g.wait()
	}
	if err != nil {
		g.Abort(fmt.Sprintf("%s, call %d: %v", kind, g.calls, err), stallCode)
	}
	clear(g.messages)
	g.messages = g.messages[:0]
}

// Waiting begins with spinning, since most messages come within microseconds; then it lets others run between looks;
// then it sleeps for a part of the time that it has waited, so that ranks which wait for long use no processor, and a
// wait is longer by that part at most. Messages move only in looks: the larger they are, the later it sleeps.
const (
	spinning      = 20 * time.Microsecond
	yielding      = 200 * time.Microsecond
	bytesPerNano  = 0.5 // of a slow network
	sleepPart     = 8
	shortestSleep = 50 * time.Microsecond // the slack of Linux' timers
	longestSleep  = time.Millisecond
)

// wait returns when all messages are done.
func (g *Group) wait() error {
	bytes := 0
	for i := range g.messages {
		bytes += len(g.messages[i].data)
	}
	patience := yielding + time.Duration(float64(bytes)/bytesPerNano)
	for {
		if done, err := g.engine.poll(); done || err != nil {
			return err
		}
		switch waited := time.Since(g.begun); {
		case waited < spinning:
		case waited < patience:
			g.engine.yield()
		default:
			if g.stall > 0 && waited > g.stall && !g.patient {
				return errors.New(g.missing(waited))
			}
			g.engine.pause(min(max(waited/sleepPart, shortestSleep), longestSleep))
		}
	}
}

// missing says for whom this rank waits.
func (g *Group) missing(waited time.Duration) string {
	var from, to []string
	for i, m := range g.messages {
		if g.engine.arrived(i) {
			continue
		}
		list := &from
		if m.send {
			list = &to
		}
		if name := g.peer(m.peer); !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	var says []string
	if len(from) > 0 {
		says = append(says, "nothing came from "+strings.Join(from, ", "))
	}
	if len(to) > 0 {
		says = append(says, "nothing was taken by "+strings.Join(to, ", "))
	}
	if says == nil {
		says = []string{"all messages had come, and just too late"}
	}
	return fmt.Sprintf("after %.3g s %s; it hangs, cannot be reached, or needs longer than it may",
		waited.Seconds(), strings.Join(says, ", "))
}
