package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// nodeCase is a node with its messages, laid out as the caller may: in any order,
// with gaps.
type nodeCase struct {
	belief, sum, beliefs, messages, tables []float64
	in                                     []Incoming
	normalise                              bool
	check                                  func(what string)
}

// newNodeCase makes a node of k states with a source for each number of states.
func newNodeCase(t testing.TB, r *rand.Rand, k int, sources []int) nodeCase {
	c := nodeCase{normalise: true}
	beliefs, messages, tables := 3, 2, 1
	for _, ks := range sources {
		m := Incoming{Belief: beliefs, Reverse: messages, Message: messages + ks + 1, Table: tables, States: ks, Rho: 0.2 + r.Float64(), Backward: r.IntN(2) == 0}
		beliefs, messages, tables = beliefs+ks, messages+ks+1+k, tables+ks*k
		c.in = append(c.in, m)
	}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{{&c.belief, k}, {&c.sum, k}, {&c.beliefs, beliefs}, {&c.messages, messages}, {&c.tables, tables}} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	fillUniform(c.tables, r)
	c.check = func(what string) {
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

// copied returns the case with slices of its own.
func (c nodeCase) copied() nodeCase {
	for _, x := range []*[]float64{&c.belief, &c.sum, &c.beliefs, &c.messages, &c.tables} {
		*x = append([]float64(nil), *x...)
	}
	return c
}

func (c nodeCase) update(with implementation, damping float64) (residual float64, done int, possible bool) {
	return with.nodeUpdate(c.belief, c.sum, c.beliefs, c.messages, c.tables, c.in, 0.8, damping, c.normalise)
}

// spoil makes the case special in the way of the trial.
func (c nodeCase) spoil(r *rand.Rand, trial int) {
	if len(c.in) == 0 {
		return
	}
	inf := math.Inf(-1)
	m := c.in[r.IntN(len(c.in))]
	k := len(c.belief)
	switch trial {
	case 1:
		c.beliefs[m.Belief+r.IntN(m.States)] = inf
	case 2:
		c.messages[m.Reverse+r.IntN(m.States)] = inf
	case 3: // an old message that forbids
		c.messages[m.Message+r.IntN(k)] = inf
	case 4: // unsafe
		c.beliefs[m.Belief+r.IntN(m.States)] = math.NaN()
	case 5:
		for i := range m.States * k {
			c.tables[m.Table+i] = 0
		}
	case 6:
		c.tables[m.Table+r.IntN(m.States*k)] = -inf
	case 7: // the message is as it was
		for i := range k {
			c.messages[m.Message+i] = 0
		}
		for i := range m.States * k {
			c.tables[m.Table+i] = 1
		}
	case 8:
		c.sum[r.IntN(k)] = inf
	case 9:
		c.sum[r.IntN(k)] = math.NaN()
	case 10:
		for i := range c.sum {
			c.sum[i] = inf
		}
	case 11:
		c.messages[m.Message+r.IntN(k)] = math.NaN()
	case 12:
		c.sum[r.IntN(k)] = -inf
	case 13, 14: // only with a shift
		by := map[int]float64{13: -1e5, 14: 1e3}[trial]
		for i := range m.States {
			c.beliefs[m.Belief+i] += by
		}
	case 15: // one weight whose exponent would come round to that of a small number
		c.beliefs[m.Belief+r.IntN(m.States)] += 2300
	}
}

const nodeTrials = 16

func TestNodeUpdate(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(41, 42))
		for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 21, 64, 65} {
			for _, sources := range [][]int{{}, {k}, {k, k, k, k}, {8, 8, 8}, {1, 2, 3, 5, 7, 8}, {3, 9, 4, 70}} {
				for trial := range nodeTrials {
					for _, damping := range []float64{0, 0.4} {
						what := fmt.Sprintf("%d states from %v, trial %d, damping %v", k, sources, trial, damping)
						c := newNodeCase(t, r, k, sources)
						c.spoil(r, trial)
						c.normalise = r.IntN(3) > 0
						compareNode(t, what, with, c, damping)
					}
				}
			}
		}
	})
}

// compareNode holds a kernel against single messages, one after the other.
func compareNode(t *testing.T, what string, with implementation, c nodeCase, damping float64) {
	t.Helper()
	want := c.copied()
	wantResidual, wantDone, wantPossible := longhandNode(want, damping)
	residual, done, possible := c.update(with, damping)
	c.check(what)
	if done != wantDone || possible != wantPossible || !same(residual, wantResidual, 1e-12, 1e-12) {
		t.Fatalf("%s: residual %v, %d messages done, possible %v; want %v, %d, %v", what, residual, done, possible, wantResidual, wantDone, wantPossible)
	}
	compare(t, what+" messages", c.messages, want.messages, 1e-13, 1e-13)
	compare(t, what+" sum", c.sum, want.sum, 1e-12, 1e-12)
	compare(t, what+" beliefs", c.beliefs, want.beliefs, 0, 0)
	if possible {
		compare(t, what+" belief", c.belief, want.belief, 1e-12, 1e-12)
	}
}

// longhandNode is NodeUpdate from the plain kernels and loops written out.
func longhandNode(c nodeCase, damping float64) (residual float64, done int, possible bool) {
	k := len(c.belief)
	out := make([]float64, k)
	for i, m := range c.in {
		kernel := plainMessageForward
		if m.Backward {
			kernel = plainMessageBackward
		}
		if !kernel(out, c.beliefs[m.Belief:][:m.States], c.messages[m.Reverse:][:m.States], c.tables[m.Table:][:m.States*k]) {
			return residual, i, false
		}
		for x, y := range out {
			old := &c.messages[m.Message+x]
			if damping > 0 && y != *old {
				y = (1-damping)*y + damping**old
			}
			if change := math.Abs(y - *old); y != *old && (change > residual || change != change) {
				residual = change
			}
			*old = y
			c.sum[x] += m.Rho * y
		}
	}
	possible = plainNormaliseLog(c.belief, c.sum, 0.8)
	if largest := plainMax(c.sum); possible && !c.normalise {
		for x, y := range c.sum {
			c.belief[x] = (y - largest) / 0.8
		}
	}
	return residual, len(c.in), possible
}

// TestNodeUpdateResumes: after an unsafe message the caller goes on with the rest.
func TestNodeUpdateResumes(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(43, 44))
		for _, k := range []int{3, 8, 21} {
			c := newNodeCase(t, r, k, []int{k, k, k, k, k})
			without := c.copied()
			without.in = append(append([]Incoming(nil), c.in[:2]...), c.in[3:]...)
			c.tables[c.in[2].Table] = math.NaN()
			if _, done, possible := c.update(with, 0); done != 2 || possible {
				t.Fatalf("k=%d: done %d, possible %v", k, done, possible)
			}
			c.in = c.in[3:]
			if _, done, possible := c.update(with, 0); done != 2 || !possible {
				t.Fatalf("k=%d: then done %d, possible %v", k, done, possible)
			}
			without.update(with, 0)
			compare(t, fmt.Sprintf("k=%d", k), c.belief, without.belief, 0, 0)
		}
	})
}

// TestNodeUpdateOutside: an offset outside of its slice panics.
func TestNodeUpdateOutside(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(45, 46))
		for _, k := range []int{2, 8, 16} {
			for field := range 4 {
				for _, beyond := range []int{-1, 1, math.MaxInt / 2, math.MinInt} {
					c := newNodeCase(t, r, k, []int{k, k})
					m := &c.in[1]
					offset := []*int{&m.Belief, &m.Reverse, &m.Message, &m.Table}[field]
					limit := []int{len(c.beliefs) - k, len(c.messages) - k, len(c.messages) - k, len(c.tables) - k*k}[field]
					if *offset = beyond; beyond == 1 {
						*offset = limit + 1
					}
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("k=%d: field %d may be %d", k, field, *offset)
							}
						}()
						c.update(with, 0)
					}()
				}
			}
		}
	})
}

// TestNodeUpdateAllocates nothing, whatever the number of states.
func TestNodeUpdateAllocates(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, k := range []int{3, 8, 21, 64} {
			c := newNodeCase(t, rand.New(rand.NewPCG(1, 1)), k, []int{k, k, k, k})
			if n := testing.AllocsPerRun(10, func() { c.update(with, 0) }); n != 0 {
				t.Errorf("k=%d: %v allocations", k, n)
			}
		}
	})
}
