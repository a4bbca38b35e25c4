package learn

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
)

// Sizes says what a run needs, before it is started.
type Sizes struct {
	Instances   int     `json:"instances"`
	Nodes       int     `json:"nodes"`
	Edges       int     `json:"edges"`
	Weights     int     `json:"weights"`
	Blocks      int     `json:"blocks"`
	CutFraction float64 `json:"cut_fraction"` // of the first instance
	StateBytes  int64   `json:"state_bytes"`
	// SecondsPerPass extrapolates from a few visits that are timed. 0: even those would take too much memory.
	SecondsPerPass float64 `json:"seconds_per_pass"`
}

const (
	// mostForTiming bounds the memory of what is timed, in bytes: of tables, of a gradient, and of a local objective.
	mostForTiming = 4 << 20
	// sweepsToSettle is about how many sweeps a visit makes that is not told how many.
	sweepsToSettle = 6
	// mostBlocksTimed are visited in turn: what one needs is not near for the next.
	mostBlocksTimed = 4
	// longEnough is how long something is timed, and leastRounds how often at least.
	longEnough, leastRounds = 20 * time.Millisecond, 2
)

// Measure reports the size of a run as Fit would set it up. It times a small part of the
// work and takes none of the memory of the run: see Forecast.
func Measure(p Problem, settings Settings) (*Sizes, error) {
	l, err := plan(&p, settings)
	if err != nil {
		return nil, err
	}
	if err := l.memory().Within(settings.Memory); err != nil {
		return nil, err
	}
	return l.measure()
}

func (l *learner) measure() (sizes *Sizes, err error) {
	sizes = l.sizes(l.blocks, l.stateBytes())
	sizes.CutFraction = l.units[0].partition.Quality().CutFraction
	sizes.SecondsPerPass, err = l.secondsPerPass()
	return sizes, err
}

func (l *localLearner) measure() (sizes *Sizes, err error) {
	sizes = l.sizes(1, l.stateBytes())
	sizes.SecondsPerPass, err = l.secondsPerPass()
	return sizes, err
}

// secondsPerPass times visits of blocks of the first network: of their first nodes, where they are large. A pass takes
// as long as one sweep over everything: all blocks are taken to be as fast, threads not to hinder each other, and steps
// of the weights to be nothing beside.
func (l *learner) secondsPerPass() (float64, error) {
	u, limits := *l.units[0], l.innerLimits()
	if limits.MaxSweeps = min(limits.MaxSweeps, sweepsToSettle); l.auto != nil {
		limits = l.wholeLimits()
	}
	limits.Tolerance = -1 // none is left out
	u.partition = l.firstNodes(&u)
	var blocks []int
	for at := range u.partition.Blocks {
		if len(u.partition.Blocks[at].Nodes) > 0 && len(blocks) < mostBlocksTimed {
			blocks = append(blocks, at)
		}
	}
	if doubleBytes*float64(l.stride+l.mostBeliefs()) > mostForTiming || len(blocks) == 0 {
		return 0, nil
	}
	u.state = &bp.State{LogMessage: make([]float64, u.net.Messages()), LogBelief: make([]float64, u.net.Beliefs())}
	v := &visit{kind: consistentVisit} // as in whole passes
	w := &worker{space: &bp.Workspace{}, adjoint: &ground.Adjoint{}, belief: make([]float64, l.mostBeliefs())}
	w.visit, w.scale = v, 1
	s, round := &jobResult{inside: make([]float64, l.stride)}, 0
	perWork, err := timed(func() (float64, error) {
		block := &u.partition.Blocks[blocks[round%len(blocks)]]
		round++
		if err := w.space.Ground(l.model, u.in, u.net, u.state, block); err != nil {
			return 0, err
		}
		if _, err := w.space.Iterate(context.Background(), u.net, u.state, block, limits); err != nil {
			return 0, err
		}
		s.begin(v)
		for lo, hi := 0, 0; lo < len(block.Nodes); lo = hi {
			hi = ground.NodeRun(u.in, block.Nodes, lo, min(lo+ground.RowsPerBatch, len(block.Nodes)))
			l.contributeNodes(w, s, &u, block, lo, hi)
		}
		for lo, hi := 0, 0; lo < len(block.Edges); lo = hi {
			hi = ground.EdgeRun(u.in, block.Edges, lo, min(lo+l.edgesTogether, len(block.Edges)))
			if err := l.contributeEdges(w, s, &u, block, lo, hi, false); err != nil {
				return 0, err
			}
		}
		return float64(block.Work()*limits.MaxSweeps + block.Elements()), nil
	})
	jobs := 0 // at a time
	for _, blocks := range l.schedule {
		jobs += l.jobsOf(blocks)
	}
	threads := max(1, min(l.settings.Threads, jobs/len(l.schedule)))
	return perWork * (l.sweepWork + l.gradientWork/float64(limits.MaxSweeps)) / float64(threads), err
}

// firstNodes returns the partition of a unit with no more than the first nodes of each block, where it is large.
func (l *learner) firstNodes(u *unit) *partition.Partition {
	keep, most := make([]bool, u.in.Graph.NumNodes()), 0.0
	for x := range u.partition.Blocks {
		tables := 0.0
		for _, s := range u.partition.Blocks[x].Nodes {
			for _, d := range u.in.Graph.Incoming(s) {
				tables += doubleBytes * float64(l.model.Layout.Edge[u.in.EdgeType(d>>1)].States)
			}
			keep[s] = tables <= mostForTiming
		}
		most = max(most, tables)
	}
	if most <= mostForTiming {
		return u.partition
	}
	return u.partition.Restrict(keep)
}

// secondsPerPass times the network that takes the least.
func (l *localLearner) secondsPerPass() (float64, error) {
	o, all := &l.objective, 0.0
	work := func(in *crf.Instance) float64 {
		if l.settings.Method == Exact {
			return o.Operations(in)
		}
		return float64(in.Graph.NumNodes() + in.Graph.NumEdges())
	}
	for _, in := range o.Data {
		all += work(in)
	}
	least := slices.MinFunc(o.Data, func(a, b *crf.Instance) int { return cmp.Compare(work(a), work(b)) })
	size := l.model.Layout.Size
	if o.Bytes(least)+doubleBytes*float64(size) > mostForTiming {
		return 0, nil
	}
	sum, worker, whole := make([]float64, size), o.Worker(), partition.Whole(least.Graph)
	perWork, err := timed(func() (float64, error) {
		worker.Add(context.Background(), sum, l.model, least, &whole.Blocks[0], 1)
		return work(least), nil
	})
	return perWork * all / float64(min(l.settings.Threads, o.Together())), err
}

// timed returns how many seconds a unit of work takes of what is done. The first round does not count.
func timed(do func() (work float64, err error)) (seconds float64, err error) {
	began, sum := time.Now(), 0.0
	for round := 0; round <= leastRounds || time.Since(began) < longEnough; round++ {
		work, err := do()
		if err != nil {
			return 0, err
		}
		if sum += work; round == 0 {
			began, sum = time.Now(), 0
		}
	}
	return time.Since(began).Seconds() / sum, nil
}
