package distributed

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Local runs a function for each rank of a group of goroutines, and returns their errors.
// When one aborts, all of them end.
func Local(size int, stall time.Duration, each func(g *Group) error) error {
	w := &world{boxes: make(map[way][][]byte)}
	errs := make([]error, size)
	var done sync.WaitGroup
	for rank := range size {
		done.Go(func() {
			defer func() {
				if problem := recover(); problem != nil {
					errs[rank] = fmt.Errorf("rank %d: %v", rank, problem)
					w.end(errs[rank].Error())
				}
			}()
			g := newGroup(&local{world: w, rank: rank}, rank, size, stall)
			if err := each(g); err != nil {
				errs[rank] = err
				w.end(fmt.Sprintf("rank %d: %v", rank, err))
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// world is where messages of a local group lie until they are taken.
type world struct {
	mutex sync.Mutex
	boxes map[way][][]byte
	ended string // by whom and why
}

type way struct {
	from, to int
	kind     operation
}

// end makes all ranks fail that still wait.
func (w *world) end(why string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended == "" {
		w.ended = why
	}
}

// local is the engine of one goroutine.
type local struct {
	*world
	rank int
	kind operation
	list []message
	done []bool
}

func (e *local) name() string { return "goroutines" }

func (e *local) start(kind operation, messages []message) error {
	e.kind, e.list = kind, messages
	e.done = append(e.done[:0], make([]bool, len(messages))...)
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for i, m := range messages {
		if m.send {
			w := way{e.rank, m.peer, kind}
			e.boxes[w] = append(e.boxes[w], append([]byte(nil), m.data...))
			e.done[i] = true
		}
	}
	return nil
}

func (e *local) poll() (bool, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	all := true
	for i, m := range e.list {
		if e.done[i] {
			continue
		}
		w := way{m.peer, e.rank, e.kind}
		if len(e.boxes[w]) == 0 {
			all = false
			continue
		}
		data := e.boxes[w][0]
		e.boxes[w] = e.boxes[w][1:]
		if len(data) != len(m.data) {
			return false, fmt.Errorf("%d bytes came from rank %d, want %d", len(data), m.peer, len(m.data))
		}
		copy(m.data, data)
		e.done[i] = true
	}
	if !all && e.ended != "" {
		return false, errors.New(e.ended)
	}
	return all, nil
}

func (e *local) arrived(i int) bool          { return e.done[i] }
func (e *local) yield()                      { runtime.Gosched() }
func (e *local) pause(d time.Duration)       { time.Sleep(d) }
func (e *local) abort(message string, _ int) { panic(message) }
func (e *local) close() error                { return nil }
