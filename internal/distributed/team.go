package distributed

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Link is how the processes of a run reach each other: see learn.Group, of which Group is one.
type Link interface {
	Rank() int
	Size() int
	Agree(x []float64)
	Any(flag bool) bool
	Gather(dst, own []float64, lengths []int)
	Sum(dst []float64, own [][]float64, bounds []int)
	Exchange(send, recv [][]float64)
	Bytes(own []byte) [][]byte
}

// Alone is the Link of one process.
type Alone struct{ tree Tree }

// Rank is that of the one process, and Size one; the other methods give back what they are given.
func (*Alone) Rank() int                                     { return 0 }
func (*Alone) Size() int                                     { return 1 }
func (*Alone) Agree([]float64)                               {}
func (*Alone) Any(flag bool) bool                            { return flag }
func (*Alone) Gather(dst, own []float64, _ []int)            { copy(dst, own) }
func (a *Alone) Sum(dst []float64, own [][]float64, _ []int) { a.tree.Sum(dst, own) }
func (*Alone) Exchange(_, _ [][]float64)                     {}
func (*Alone) Bytes(own []byte) [][]byte                     { return [][]byte{own} }

// Team is a Link with what is usually made of it. Its methods are collective, as those of a Link are. Slices that
// processes tell each other lie at the same place in each: all of them go through the same list of slices in the same
// order, so that nothing has to say what comes.
type Team struct {
	Link
	me, size      int
	heads, buffer []float64
	counts, at    []int // [processes]
	send, receive [][]float64
	one           [1]float64
}

// NewTeam returns the Team of a link; nil: of this process alone.
func NewTeam(l Link) *Team {
	if l == nil {
		l = &Alone{}
	}
	n := l.Size()
	return &Team{Link: l, me: l.Rank(), size: n, counts: make([]int, n), at: make([]int, n),
		send: make([][]float64, n), receive: make([][]float64, n)}
}

// Number returns the number of process 0 in all.
func (t *Team) Number(x float64) float64 {
	t.one[0] = x
	t.Agree(t.one[:])
	return t.one[0]
}

// Tell gives all processes what the owner of each slice has in it. each goes through the same slices in all.
func (t *Team) Tell(each func(do func(owner int, x []float64))) {
	if t.size == 1 {
		return
	}
	clear(t.counts)
	each(func(owner int, x []float64) { t.counts[owner] += len(x) })
	total := 0
	for p, n := range t.counts {
		t.at[p] = total
		total += n
	}
	if total == 0 {
		return
	}
	t.buffer = numeric.Resize(t.buffer, total)
	own := t.buffer[t.at[t.me]:][:t.counts[t.me]]
	left := own
	each(func(owner int, x []float64) {
		if owner == t.me {
			left = left[copy(left, x):]
		}
	})
	t.Gather(t.buffer, own, t.counts)
	each(func(owner int, x []float64) {
		if owner != t.me {
			t.at[owner] += copy(x, t.buffer[t.at[owner]:])
		}
	})
}

// Swap brings slices from their owners to peers. each goes, in the same order in both, through the slices that this
// process owns or is the peer of.
func (t *Team) Swap(each func(do func(owner, peer int, x []float64))) {
	if t.size == 1 {
		return
	}
	for p := range t.send {
		t.send[p], t.receive[p] = t.send[p][:0], t.receive[p][:0]
	}
	each(func(owner, peer int, x []float64) {
		if owner == t.me {
			t.send[peer] = append(t.send[peer], x...)
		} else {
			t.receive[owner] = numeric.Resize(t.receive[owner], len(t.receive[owner])+len(x))
		}
	})
	t.Exchange(t.send, t.receive)
	clear(t.at)
	each(func(owner, peer int, x []float64) {
		if owner != t.me {
			t.at[owner] += copy(x, t.receive[owner][t.at[owner]:])
		}
	})
}

// GatherEach sets dst to numbers of all processes, as many of each, one after another.
func (t *Team) GatherEach(dst, own []float64) []float64 {
	numeric.Fill(t.counts, len(own))
	dst = numeric.Resize(dst, t.size*len(own))
	t.Gather(dst, own, t.counts)
	return dst
}

// Share returns the numbers of all processes, one after another, in dst or as they are. own, which may be its place
// in dst, are those of this one. So what each makes of its own parts is in the order of the parts.
func (t *Team) Share(dst, own []float64) []float64 {
	if t.size == 1 {
		return own
	}
	length, total := [1]float64{float64(len(own))}, 0
	t.heads = t.GatherEach(t.heads, length[:])
	for i, n := range t.heads {
		t.counts[i] = int(n)
		total += int(n)
	}
	dst = numeric.Resize(dst, total)
	if total > 0 {
		t.Gather(dst, own, t.counts)
	}
	return dst
}

// Common returns in all processes the error of the first that has one. known is a kind of errors that is told apart.
func (t *Team) Common(err, known error) error {
	if t.size == 1 {
		return err
	}
	var own []byte
	if err != nil {
		own = fmt.Appendf(nil, "%d%v", numeric.OneIf(errors.Is(err, known)), err)
	}
	for r, text := range t.Bytes(own) {
		if len(text) == 0 {
			continue
		}
		if r != t.me {
			err = [2]error{nil, known}[text[0]-'0']
		}
		return &commonError{r, string(text[1:]), err}
	}
	return nil
}

// commonError is an error that all processes return.
type commonError struct {
	process int
	text    string
	is      error // the error itself in the process that has met it, the known kind in others, or none that is known there
}

func (e *commonError) Error() string { return e.text }
func (e *commonError) Unwrap() error { return e.is }

// Process returns which process has met it.
func (e *commonError) Process() int { return e.process }
