package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/mrf"
)

// errFrozen says that Gibbs sampling cannot move: hard zeros hold every variable in place while the others stay.
func errFrozen(chains int) error {
	return unsuitedError{fmt.Errorf("one variable at a time is changed by Gibbs sampling, and from the possible joint "+
		"states that were found (%d, at random) hard zeros let none change: it is not ergodic here, so it would repeat "+
		"its start for ever; exact inference can give marginals", chains)}
}

// chains are Markov chains of one network with starts of their own.
type chains struct {
	p    *mrf.Pairwise
	free []int32 // nodes that have several possible states
	all  []*chain
	// irreducible: it is proved that they can reach every possible joint state.
	irreducible bool
	concurrent  int // how many run at a time
}

// newChains starts so many chains from random joint states of positive probability. See Sample for the errors.
func newChains(ctx context.Context, p *mrf.Pairwise, count int, seed uint64, threads int) (*chains, error) {
	if err := checkPotentials(p); err != nil {
		return nil, err
	}
	d, err := domains(p)
	if err != nil {
		return nil, err
	}
	c := &chains{p: p, irreducible: d.Irreducible(), concurrent: min(count, threads)}
	most := 0
	for s, size := range d.Size {
		if size > 1 {
			c.free = append(c.free, int32(s))
		}
		most = max(most, int(p.Card[s]))
	}
	for k := range count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := searchState(d, stream(seed, uint64(k), 0))
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, &chain{p: p, free: c.free, x: x, rng: stream(seed, uint64(k), 1), score: make([]float64, most)})
	}
	if !c.irreducible && c.frozen() {
		return nil, errFrozen(count)
	}
	return c, nil
}

// frozen reports whether no chain can move, though some node has a choice.
func (c *chains) frozen() bool {
	for _, chain := range c.all {
		if !chain.frozen() {
			return false
		}
	}
	return len(c.free) > 0
}

// searchState draws a possible joint state.
func searchState(d *gibbs.Domains, rng *rand.Rand) ([]int32, error) {
	x, err := d.Search(rng)
	switch {
	case errors.Is(err, gibbs.ErrNone):
		return nil, zeroAt(err)
	case err != nil:
		return nil, unsuitedError{err}
	}
	return x, nil
}

// searchZero looks for a possible joint state and returns ErrZero where it has proved that there is none, on graphs
// with loops too; nil where it found one, or gave up. The seed decides what is tried first.
func searchZero(p *mrf.Pairwise, seed uint64) error {
	d, err := domains(p)
	if err != nil {
		return err
	}
	if _, err := searchState(d, stream(seed, 0, 0)); errors.Is(err, ErrZero) {
		return err
	}
	return nil
}

// domains returns the states that the hard zeros of a network leave possible.
func domains(p *mrf.Pairwise) (*gibbs.Domains, error) {
	d := gibbs.New(p)
	if !d.Propagate() {
		return nil, zeroAt(errContradiction)
	}
	return d, nil
}

// checkPotentials reports a factor without variables that is zero, and the first node
// at which potentials could not be added up.
func checkPotentials(p *mrf.Pairwise) error {
	if math.IsInf(p.Constant, -1) {
		return zeroAt(errConstant)
	}
	for s := range int32(len(p.Card)) {
		if math.IsInf(magnitudeAt(p, s), 0) {
			return &bp.NumericalError{Node: s, Edge: -1, Reason: "potentials are too large to be added up; subtract a " +
				"constant from each table"}
		}
	}
	return nil
}

// magnitudeAt is the largest magnitude that a sum of finite potentials at node s can have.
func magnitudeAt(p *mrf.Pairwise, s int32) float64 {
	sum := magnitude(p.Node[p.NodeAt[s]:p.NodeAt[s+1]])
	for _, in := range p.Graph.Incoming(s) {
		sum += magnitude(p.Edge[p.EdgeAt[in>>1]:p.EdgeAt[in>>1+1]])
	}
	return sum
}

// magnitude is the largest of finite potentials.
func magnitude(potentials []float64) float64 {
	largest := 0.0
	for _, x := range potentials {
		if !math.IsInf(x, -1) {
			largest = max(largest, math.Abs(x))
		}
	}
	return largest
}

// tally calls report with growing numbers of work done, from several goroutines, one at a time.
type tally struct {
	lock        sync.Mutex
	done, total int
	report      func(done, total int) // nil: nobody asks
}

func (t *tally) add(n int) {
	if t.report == nil {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	t.done += n
	t.report(t.done, t.total)
}
