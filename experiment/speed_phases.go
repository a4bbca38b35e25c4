package experiment

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/machine"
)

// Iteration is the name of the whole iteration among the phases.
const Iteration = "iteration"

// PhaseSpeed is one phase of an iteration, or the whole of it, over a pass: one
// visit of every block. "Per edge" is per edge of the network and pass; the phase
// sweep is one sweep, and an iteration has Sweeps of them.
type PhaseSpeed struct {
	Name            string  `json:"name"` // ground, exp, sweep, gradient, iteration
	Graph           string  `json:"graph"`
	States          int     `json:"states"`
	Precision       string  `json:"precision"`
	Sweeps          int     `json:"sweeps,omitempty"` // of a visit; iteration only
	NsPerEdge       float64 `json:"ns_per_edge"`
	NsPerEdgeMedian float64 `json:"ns_per_edge_median"`
	// MessagesPerS is for sweep and iteration.
	MessagesPerS float64 `json:"messages_per_s,omitempty"`
	// What the phase has to do at least, by the formulas of docs/performance.md.
	BytesPerEdge float64 `json:"bytes_per_edge"`
	FlopsPerEdge float64 `json:"flops_per_edge"`
	ExpsPerEdge  float64 `json:"exps_per_edge"`
	LogsPerEdge  float64 `json:"logs_per_edge"`
	// BlockBytes and NetworkBytes are the sizes of what a visit and a pass touch, and
	// Level where a block lives by the stated sizes of the caches.
	BlockBytes   float64 `json:"block_bytes"`
	NetworkBytes float64 `json:"network_bytes"`
	Level        string  `json:"level"`
	// Bound is what the roofline comes from: bytes or operations.
	Bound             string  `json:"bound"`
	RooflineNsPerEdge float64 `json:"roofline_ns_per_edge"`
	RooflineFraction  float64 `json:"roofline_fraction"`
}

// phases measures the phases and the whole iteration on the plan's two networks.
func (r *speedRun) phases() error {
	grid, err := gridNetwork(r.plan.Grid, r.plan.TileRows, r.plan.TileCols)
	if err != nil {
		return err
	}
	ba, err := baNetwork(r.plan.BA, r.plan.TileRows*r.plan.TileCols)
	if err != nil {
		return err
	}
	for _, n := range []*speedNetwork{grid, ba} {
		for _, states := range r.plan.States {
			r.say(fmt.Sprintf("phases: %s, %d states", n.name, states))
			if err := r.phasesOf(n, states); err != nil {
				return err
			}
		}
	}
	for _, p := range r.speed.Phases {
		if p.Name == phaseNames[phaseSweep] && p.Graph == grid.name && p.States == r.plan.ReferenceStates {
			r.speed.MessagesPerS = p.MessagesPerS
		}
	}
	return nil
}

// phasesOf measures one network with one number of states. Visits block by block
// and passes of learning take turns.
func (r *speedRun) phasesOf(n *speedNetwork, states int) error {
	need := n.phaseBytes(states)
	if need > float64(r.plan.MostMemory) {
		r.leave(fmt.Sprintf("phases of %s with %d states: they need about %.0f MB", n.name, states, need/1e6))
		return nil
	}
	settings := n.settings()
	count := newPhaseCount(n, states, settings.Resolved().InnerSweeps)
	visits, err := newVisitor(n, states, count.sweeps)
	if err != nil {
		return err
	}
	p, err := n.problem(states)
	if err != nil {
		return err
	}
	learning := newPasses(r.ctx, p, settings, len(n.part.Blocks))
	defer learning.stop()
	timings, err := r.interleave(visits, learning)
	if err != nil {
		return err
	}
	for phase, name := range phaseNames {
		t := machine.Summarise(visits.seconds[phase][1:]) // the first was the warm-up
		if phase == phaseSweep {
			t.Minimum /= float64(count.sweeps)
			t.Median /= float64(count.sweeps)
		}
		r.speed.Phases = append(r.speed.Phases, count.speed(r.speed.Ceilings, name, count.work[phase], t))
	}
	whole := count.speed(r.speed.Ceilings, Iteration, count.iteration(), timings[1])
	whole.Sweeps = count.sweeps
	r.speed.Phases = append(r.speed.Phases, whole)
	return nil
}

// leave notes what is not measured.
func (r *speedRun) leave(what string) { r.speed.Left = append(r.speed.Left, what) }

// phaseBytes is about how much memory the measurement of the phases takes: twice
// the tables of a block, messages, and the memory of the step rule.
func (n *speedNetwork) phaseBytes(states int) float64 {
	m := n.shape(states)
	tables, contributions := 0.0, 0.0
	for _, b := range shapesOf(n.part) {
		tables = max(tables, m.states*m.states*b.edges)
		contributions += m.contribution() * b.groups
	}
	const stepVectors = 30
	state := networkBytes(m, float64(n.graph.NumNodes()), float64(n.graph.NumEdges()))
	return 2*state + m.numberBytes*(2*tables+contributions+stepVectors*m.weights())
}

// phaseCount is the work of a pass over a network.
type phaseCount struct {
	network  *speedNetwork
	shape    modelShape
	sweeps   int
	edges    float64
	messages float64
	// work of each phase over all blocks; sweep is one of the sweeps of a visit.
	work                   [numPhases]Work
	blockBytes, totalBytes float64
}

func newPhaseCount(n *speedNetwork, states, sweeps int) *phaseCount {
	c := &phaseCount{network: n, shape: n.shape(states), sweeps: sweeps, edges: float64(n.graph.NumEdges())}
	blocks := shapesOf(n.part)
	largest := 0.0
	for _, b := range blocks {
		for phase, w := range [numPhases]Work{
			phaseGround:   groundWork(c.shape, b),
			phaseExp:      expWork(c.shape, b),
			phaseSweep:    sweepsWork(c.shape, b, float64(sweeps)).times(1 / float64(sweeps)),
			phaseGradient: gradientWork(c.shape, b),
		} {
			c.work[phase] = c.work[phase].plus(w)
		}
		c.messages += b.messages
		c.blockBytes += visitBytes(c.shape, b) / float64(len(blocks))
		largest = max(largest, c.shape.numberBytes*c.shape.states*c.shape.states*b.edges)
	}
	// The scratch of a block comes between two uses of a feature or a message too.
	c.totalBytes = networkBytes(c.shape, float64(n.graph.NumNodes()), c.edges) + largest
	return c
}

// iteration is the work of all phases of a pass. What the step of the weights takes
// is not in it: it does not grow with the block.
func (c *phaseCount) iteration() Work {
	return c.work[phaseGround].plus(c.work[phaseExp]).plus(c.work[phaseSweep].times(float64(c.sweeps))).plus(c.work[phaseGradient])
}

// speed holds the time of a phase of a pass against its work.
func (c *phaseCount) speed(ceilings *Ceilings, name string, w Work, t machine.Timing) PhaseSpeed {
	const nano = 1e9
	roof := roofline(ceilings, Double, w, c.blockBytes, c.totalBytes)
	p := PhaseSpeed{
		Name: name, Graph: c.network.name, States: int(c.shape.states), Precision: Double,
		NsPerEdge: nano * t.Minimum / c.edges, NsPerEdgeMedian: nano * t.Median / c.edges,
		BytesPerEdge: w.bytes() / c.edges, FlopsPerEdge: w.Flops / c.edges, ExpsPerEdge: w.Exps / c.edges, LogsPerEdge: w.Logs / c.edges,
		BlockBytes: c.blockBytes, NetworkBytes: c.totalBytes, Level: ceilings.Level(c.blockBytes),
		Bound: roof.Bound, RooflineNsPerEdge: nano * roof.Seconds / c.edges, RooflineFraction: roof.Seconds / t.Minimum,
	}
	switch name {
	case phaseNames[phaseSweep]:
		p.MessagesPerS = c.messages / t.Minimum
	case Iteration:
		p.MessagesPerS = float64(c.sweeps) * c.messages / t.Minimum
	}
	return p
}
