package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
)

// exactHessian writes that of L, with the regulariser's, into dst.
func exactHessian(l *learner, r *linear.Response, dst []float64) error {
	clear(dst)
	for i := range l.model.Layout.Size {
		dst[i*(l.model.Layout.Size+1)] = l.problem.L2
	}
	return r.Measure(dst, nil, 0)
}

// TestResponseIsTheHessian: with what nodes answer to each other the Hessian is that of L, found by finite differences
// of its gradient, for counting numbers of any sign and with hidden labels.
func TestResponseIsTheHessian(t *testing.T) {
	for kind, p := range problems(t) {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := p.with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			m := e.l.newResponse()
			if m == nil {
				t.Fatalf("%s, %s: no linear response", kind, counting)
			}
			at, direction := p.randomWeights(8, 0.4), p.randomWeights(7, 1)
			want, dst := hessianTimes(t, e, at, direction), make([]float64, len(at)*len(at))
			oracle.OK(t, exactHessian(e.l, m, dst))
			sameProducts(t, kind+", "+counting, p.Model, lowerTimes(dst, direction), want)
		}
	}
}

// TestLean: Newton's steps settle messages at a rate that is quadratic, and tangents are
// how messages change with the weights.
func TestLean(t *testing.T) {
	for kind, p := range problems(t) {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := p.with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			m := e.l.newResponse()
			m.Allocate(e.l.model, func(i int) *bp.State { return e.l.units[i].state })
			at, direction := p.randomWeights(8, 0.4), p.randomWeights(7, 1)
			state := func() (all []float64) {
				for _, u := range e.l.units {
					all = append(append(all, u.state.LogMessage...), u.state.LogBelief...)
				}
				return all
			}
			settled(t, e, at)
			rng := source(3)
			for _, u := range e.l.units {
				for i := range u.state.LogMessage {
					u.state.LogMessage[i] += 1e-2 * rng.NormFloat64()
				}
			}
			var left []float64
			for range 3 {
				for _, s := range e.l.schedule.wholePass { // one sweep, for beliefs of these messages
					v := visit{blocks: s, limits: bp.Limits{MaxSweeps: 1, NoProx: true}}
					oracle.Must(e.l.visitBlocks(v))(t)
				}
				if !m.Tangents(nil, 0) {
					t.Fatalf("%s, %s: not settled", kind, counting)
				}
				left = append(left, m.Unsettled)
			}
			if !(left[1] <= 10*left[0]*left[0]+1e-12 && left[2] <= 1e-8) {
				t.Errorf("%s, %s: sums lack %.3g of beliefs", kind, counting, left)
			}

			const h, allowed = 1e-4, 1e-5
			settled(t, e, at)
			if !m.Tangents(direction, 0) {
				t.Fatalf("%s, %s: no tangents", kind, counting)
			}
			var tangents []float64
			for i := range e.l.units {
				tangents = append(append(tangents, m.Lines()[4*i]...), m.Lines()[4*i+1]...)
			}
			moved := func(scale float64) []float64 {
				w := slices.Clone(at)
				for i, d := range direction {
					w[i] += scale * d
				}
				settled(t, e, w)
				return state()
			}
			ahead, behind := moved(h), moved(-h)
			n := 0
			for i, u := range e.l.units {
				check := func(first, states int, what string) { // constants are free
					mean := 0.0
					for x := range states {
						i := first + x
						mean += ((ahead[i]-behind[i])/(2*h) - tangents[i]) / float64(states)
					}
					for x := range states {
						i := first + x
						if d := (ahead[i]-behind[i])/(2*h) - tangents[i] - mean; !(math.Abs(d) <= allowed*(1+math.Abs(tangents[i]))) {
							t.Fatalf("%s, %s: tangent of a %s is off by %v", kind, counting, what, d)
						}
					}
				}
				hidden := m.Block(i).Nodes
				for _, e := range m.Block(i).Edges {
					for d := 2 * e; d < 2*e+2; d++ {
						if to := u.in.Graph.Target(d); slices.Contains(hidden, to) {
							check(n+u.net.MessageAt(d), u.in.States(to), "message")
						}
					}
				}
				n += u.net.Messages()
				for _, s := range hidden {
					check(n+u.net.BeliefAt(s), u.in.States(s), "belief")
				}
				n += u.net.Beliefs()
			}
		}
	}
}
