package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// Iteration is the name of the whole iteration among the phases.
const Iteration = "iteration"

// The phases of learn.PhaseTimes, and their names.
const (
	phaseGround = iota
	phaseSweep
	phaseGradient
	numPhases
)

var phaseNames = [numPhases]string{"ground", "sweep", "gradient"}

// PhaseSpeed is one phase of an iteration, or the whole of it, over a pass: one
// visit of every block. "Per edge" is per edge of the network and pass; the phase
// sweep is one sweep, and an iteration has Sweeps of them.
type PhaseSpeed struct {
	Graph           string  `json:"graph"`
	States          int     `json:"states" table:"states"`
	Blocks          int     `json:"blocks" table:"blocks"`
	BlocksAtATime   int     `json:"blocks_at_a_time"`   // of an iteration, at most
	Name            string  `json:"name" table:"phase"` // ground, sweep, gradient, iteration
	Sweeps          int     `json:"sweeps,omitempty"`   // of a visit; iteration only
	NsPerEdge       float64 `json:"ns_per_edge" table:"ns;%.1f"`
	NsPerEdgeMedian float64 `json:"ns_per_edge_median" table:"median;%.1f"`
	// MessagesPerS is for sweep and iteration.
	MessagesPerS float64 `json:"messages_per_s,omitempty" table:"messages/µs;millions;"`
	// What the phase has to do at least, by the formulas of lab/README.md.
	BytesPerEdge float64 `json:"bytes_per_edge" table:"bytes;%.0f"`
	FlopsPerEdge float64 `json:"flops_per_edge" table:"flops;%.0f"`
	ExpsPerEdge  float64 `json:"exps_per_edge" table:"exp, log"`
	LogsPerEdge  float64 `json:"logs_per_edge"`
	// BlockBytes and NetworkBytes are the sizes of what a visit and a pass touch, and
	// Level where a block lives by the stated sizes of the caches.
	BlockBytes   float64 `json:"block_bytes"`
	NetworkBytes float64 `json:"network_bytes"`
	Level        string  `json:"level"`
	// Bound is what the roofline comes from: bytes or operations.
	Bound             string  `json:"bound" table:"bound by"`
	RooflineNsPerEdge float64 `json:"roofline_ns_per_edge" table:"roofline ns;%.1f"`
	RooflineFraction  float64 `json:"roofline_fraction" table:"of the roofline;percent"`
}

// phases measures the phases and the whole iteration on the plan's two networks.
func (r *speedRun) phases() error {
	specs := []synthetic.GraphSpec{gridSpec(r.plan.Grid), baSpec(r.plan.BA)}
	for _, spec := range specs {
		n, err := newSpeedNetwork(spec)
		if err != nil {
			return err
		}
		for _, states := range r.plan.States {
			r.say(fmt.Sprintf("phases: %s, %d states", n.name, states))
			if err := r.phasesOf(n, states); err != nil {
				return err
			}
		}
	}
	for _, p := range r.speed.Phases {
		if p.Name == phaseNames[phaseSweep] && p.Graph == nameOf(specs[0]) && p.States == r.plan.ReferenceStates {
			r.speed.MessagesPerS = p.MessagesPerS
		}
	}
	return nil
}

// phasesOf measures one network with one number of states. Passes of learning with
// laps and without take turns: reading the clock between the phases takes time, so
// that the whole iteration is measured without.
func (r *speedRun) phasesOf(n *speedNetwork, states int) error {
	p, err := n.problem(states)
	if err != nil {
		return err
	}
	if err := n.cut(p); err != nil {
		return err
	}
	settings := n.settings()
	count := newPhaseCount(n, states, settings.Resolved().InnerSweeps)
	if need := count.memory(); need > float64(r.plan.MostMemory) {
		r.leave(fmt.Sprintf("phases of %s with %d states: they need about %.0f MB", n.name, states, need/1e6))
		return nil
	}
	whole := newPasses(r.ctx, p, settings)
	settings.PhaseTimes = &learn.PhaseTimes{}
	timed := newPasses(r.ctx, p, settings)
	timings, err := r.inTurns(1, timed, whole)
	if err != nil {
		return err
	}
	reading := readingSeconds()
	for phase := range numPhases {
		t := phaseTiming(timed.done[1:], phase, reading) // the first was the warm-up
		if phase == phaseSweep {
			t.Minimum /= float64(count.sweeps)
			t.Median /= float64(count.sweeps)
		}
		r.speed.Phases = append(r.speed.Phases, count.speed(r.speed.Ceilings, phaseNames[phase], count.work[phase], t))
	}
	iteration := count.speed(r.speed.Ceilings, Iteration, count.iteration(), timings[1])
	iteration.Sweeps = count.sweeps
	r.speed.Phases = append(r.speed.Phases, iteration)
	return nil
}

// phaseTiming sums up what a phase took, without the readings of the clock that took so
// many seconds each.
func phaseTiming(passes []stretch, phase int, reading float64) machine.Timing {
	var seconds []float64
	for _, p := range passes {
		sum := 0.0
		for i := range p.each {
			sum += p.phase(i, phase, reading)
		}
		seconds = append(seconds, sum)
	}
	t := machine.Summarise(seconds)
	t.Minimum = undisturbed(passes, t.Minimum, func(s *stretch, i int) float64 { return s.phase(i, phase, reading) })
	return t
}

// readingSeconds measures what it takes to read the clock at the end of a phase.
func readingSeconds() float64 {
	const repeats, readings = 20, 1000
	best := math.Inf(1)
	for range repeats {
		began := time.Now()
		for range readings {
			_ = time.Since(began)
		}
		best = min(best, time.Since(began).Seconds()/readings)
	}
	return best
}

// phaseCount is the work of a pass over a network.
type phaseCount struct {
	network                *speedNetwork
	shape                  modelShape
	sweeps                 int
	edges                  float64
	messages               float64
	work                   [numPhases]Work // over all blocks; of sweep one of a visit
	blockBytes, totalBytes float64         // that a visit touches, and a pass
	cutEdges               float64         // edges kept one by one
	largest                float64         // bytes of tables of a block
}

func newPhaseCount(n *speedNetwork, states, sweeps int) *phaseCount {
	c := &phaseCount{network: n, shape: speedShape(states), sweeps: sweeps, edges: float64(n.graph.NumEdges())}
	blocks := c.shape.shapesOf(n.part)
	for _, b := range blocks {
		for phase, w := range [numPhases]Work{
			phaseGround:   groundWork(c.shape, b).plus(expWork(c.shape, b)),
			phaseSweep:    sweepsWork(c.shape, b, float64(sweeps)).times(1 / float64(sweeps)),
			phaseGradient: gradientWork(c.shape, b),
		} {
			c.work[phase] = c.work[phase].plus(w)
		}
		c.messages += b.messages
		c.cutEdges += b.cutEdges / 2 // they are in two blocks
		c.blockBytes += visitBytes(c.shape, b) / float64(len(blocks))
		c.largest = max(c.largest, c.shape.tableBytes(b.edges))
	}
	// The scratch of a block comes between two uses of a feature or a message too.
	c.totalBytes = networkBytes(c.shape, float64(n.graph.NumNodes()), c.edges) + numberBytes*c.shape.perKeptEdge()*c.cutEdges + c.largest
	return c
}

// memory is about how much memory the measurement of the phases takes: what two runs
// keep, their scratch, of which a check has one per block, and the memory of the step
// rule.
func (c *phaseCount) memory() float64 {
	const runs, stepVectors, mostShares = 2, 30, 256
	m, blocks := c.shape, float64(len(c.network.part.Blocks))
	kept := m.contribution()*blocks + m.perKeptEdge()*c.cutEdges + stepVectors*m.weights()
	shares := min(mostShares, blocks) * m.contribution() * 2
	return runs * (networkBytes(m, float64(c.network.graph.NumNodes()), c.edges) + c.largest + numberBytes*(kept+shares))
}

// iteration is the work of all phases of a pass. What the step of the weights takes
// is not in it: it does not grow with the block.
func (c *phaseCount) iteration() Work {
	return c.work[phaseGround].plus(c.work[phaseSweep].times(float64(c.sweeps))).plus(c.work[phaseGradient])
}

// speed holds the time of a phase of a pass against its work.
func (c *phaseCount) speed(ceilings *Ceilings, name string, w Work, t machine.Timing) PhaseSpeed {
	roof, bound := roofline(ceilings, w, c.blockBytes, c.totalBytes)
	p := PhaseSpeed{
		Name: name, Graph: c.network.name, States: int(c.shape.states),
		Blocks: len(c.network.part.Blocks), BlocksAtATime: max(1, c.network.together),
		NsPerEdge: giga * t.Minimum / c.edges, NsPerEdgeMedian: giga * t.Median / c.edges,
		BytesPerEdge: w.bytes() / c.edges, FlopsPerEdge: w.Flops / c.edges, ExpsPerEdge: w.Exps / c.edges, LogsPerEdge: w.Logs / c.edges,
		BlockBytes: c.blockBytes, NetworkBytes: c.totalBytes, Level: ceilings.Level(c.blockBytes),
		Bound: bound, RooflineNsPerEdge: giga * roof / c.edges, RooflineFraction: roof / t.Minimum,
	}
	switch name {
	case phaseNames[phaseSweep]:
		p.MessagesPerS = c.messages / t.Minimum
	case Iteration:
		p.MessagesPerS = float64(c.sweeps) * c.messages / t.Minimum
	}
	return p
}
