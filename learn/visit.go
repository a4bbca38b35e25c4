package learn

import (
	"context"

	"github.com/blockbp/blockbp/internal/bp"
)

// jobResult is what a job finds: what its units contribute to the gradient, and how their inference went.
type jobResult struct {
	inside []float64 // [stride] contribution of the block: units count relatively to the weight of the job
	cut    []float64 // [stride] by how much its cut edges change the totals; empty where there are none
	// freeEnergy is Σ c H(τ), and ⟨θ,τ⟩ of all but consistent edges until takeEntropy.
	freeEnergy float64
	untied     []float64 // untied beliefs of one unit after the other, in the order of the block's nodes and edges
	outcome    bp.Outcome
	split      float64 // what the split of counting numbers adds to F
	// infeasible: no consistent beliefs were found.
	infeasible bool
	err        error
	failed     int // the number of the unit that err is of
}

// visitKind is what a visit does.
type visitKind int

// Visits of the first three kinds sweep over blocks, and then replace what these contribute to the gradient. The order
// of the kinds matters to the functions below.
const (
	stepVisit       visitKind = iota // of Algorithm 2: contributes the beliefs that belong to the messages
	forestVisit                      // contributes the same and terms of F: on forests such beliefs are consistent
	consistentVisit                  // contributes consistent beliefs, which are feasible in (2), and terms of F
	sumVisit                         // makes no sweep: adds up contributions and the beliefs of cut edges anew
	splitVisit                       // makes no sweep: finds what splits of counting numbers add to F
)

// contributes reports whether a visit of this kind makes new contributions.
func (k visitKind) contributes() bool { return k <= consistentVisit }

// sums reports whether a visit of this kind changes the totals.
func (k visitKind) sums() bool { return k <= sumVisit }

// bounds reports whether contributions of this kind have terms of F.
func (k visitKind) bounds() bool { return k == forestVisit || k == consistentVisit }

// visit is one visit of some blocks, of which no two share an edge, in all units.
type visit struct {
	kind   visitKind
	blocks []int
	limits bp.Limits
	// remainder is the share of an edge's mass that consistent beliefs may leave to spread.
	remainder float64
	// until ends the visit between two sweeps, before the jobs at work contribute; nil: all sweeps are made.
	until context.Context
}

// jobRound is what threads work on at a time: those jobs of a visit whose results are kept together, or another task.
type jobRound struct {
	visit
	jobs     []int32             // of the visit that are done in this process
	from     int                 // where in jobs those of this round begin
	firstJob int                 // first job of this round in any process: its result is inference.results[0]
	task     func(worker, i int) // what is done in the place of a visit, for inference.each
}

// ended reports that the visit has to end, or has ended, before its sweeps were made.
func (v *visit) ended() bool { return v.until != nil && v.until.Err() != nil }

// visitReport is how a visit went.
type visitReport struct {
	tally
	elements int // nodes and edges that contributed
}

// tally is how some jobs of a visit went, in numbers that do not depend on their order.
type tally struct {
	sweeps                  int     // largest number over the units
	work                    int     // of all sweeps: see Block.Work
	residual, firstResidual float64 // largest of the last sweeps, and of the first ones
	converged               bool    // in every unit
	infeasible              bool    // in one
	failed                  int     // number of the first job that did, −1: none
	ended                   bool    // by visit.until, between two sweeps
}

var nothingYet = tally{converged: true, failed: -1}

func (t *tally) add(i int, s *jobResult) {
	o := &s.outcome
	job := tally{o.Sweeps, o.Work, o.Residual, o.FirstResidual, o.Converged, s.infeasible, -1, false}
	if s.err != nil {
		job.failed = i
	}
	t.merge(&job)
}

// merge adds other jobs.
func (t *tally) merge(o *tally) {
	t.sweeps, t.work = max(t.sweeps, o.sweeps), t.work+o.work
	t.residual, t.firstResidual = max(t.residual, o.residual), max(t.firstResidual, o.firstResidual)
	t.converged, t.infeasible, t.ended = t.converged && o.converged, t.infeasible || o.infeasible, t.ended || o.ended
	if o.failed >= 0 && (t.failed < 0 || o.failed < t.failed) {
		t.failed = o.failed
	}
}

// begin empties a result.
func (s *jobResult) begin(v *visit) {
	*s = jobResult{inside: s.inside, cut: s.cut, untied: s.untied[:0], outcome: bp.Outcome{Converged: true}}
	if v.kind.sums() {
		clear(s.inside)
		clear(s.cut)
	}
}
