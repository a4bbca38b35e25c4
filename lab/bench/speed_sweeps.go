package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/partition"
)

// SweepSpeed is a sweep that is made again and again over a network as one block
// whose tables live in one level of memory.
type SweepSpeed struct {
	Level           string  `json:"level" table:"tables in"`
	WorkingSet      float64 `json:"working_set_bytes" table:"memory;bytes"` // tables, messages and beliefs
	States          int     `json:"states" table:"states"`
	Edges           int     `json:"edges"`
	NsPerEdge       float64 `json:"ns_per_edge" table:"ns per edge;%.1f"`
	NsPerEdgeMedian float64 `json:"ns_per_edge_median" table:"median;%.1f"`
	MessagesPerS    float64 `json:"messages_per_s" table:"messages/µs;millions"`
	GBPerS          float64 `json:"gb_per_s" table:"GB/s;%.1f"` // what has to be moved, over the time
	// CeilingGBPerS is the measured rate of reading as much memory, and
	// BandwidthFraction the share of it that GBPerS is.
	CeilingGBPerS     float64 `json:"ceiling_gb_per_s"`
	BandwidthFraction float64 `json:"bandwidth_fraction" table:"of reading;percent"`
	Bound             string  `json:"bound" table:"bound by"`
	RooflineFraction  float64 `json:"roofline_fraction" table:"of the roofline;percent"`
}

// sweeps measures sweeps with the working set in each level of memory but the
// first, which holds next to no network.
func (r *speedRun) sweeps() error {
	for _, m := range r.speed.Ceilings.Memory[1:] {
		// A sweep needs features besides, of which grounding makes the tables.
		bytes := min(float64(m.Bytes), float64(r.plan.MostMemory)/4)
		r.say(fmt.Sprintf("sweeps: tables in %s, %.3g MB", m.Level, bytes/1e6))
		if err := r.sweepsIn(m.Level, bytes); err != nil {
			return err
		}
	}
	return nil
}

// sweepsIn measures sweeps over a grid that takes about so many bytes.
func (r *speedRun) sweepsIn(level string, bytes float64) error {
	m := speedShape(r.plan.ReferenceStates)
	n, err := tiledNetwork(gridSide(m, bytes), 1, 1)
	if err != nil {
		return err
	}
	s, err := newSweeper(n, r.plan.ReferenceStates)
	if err != nil {
		return err
	}
	timings, err := r.interleave(1, s)
	if err != nil {
		return err
	}
	r.speed.Sweeps = append(r.speed.Sweeps, sweepSpeed(r.speed.Ceilings, level, n, m, timings[0]))
	return nil
}

// gridSide returns the side of the grid whose sweeps touch about so many bytes: it
// has nearly two edges per node.
func gridSide(m modelShape, bytes float64) int {
	return max(2, int(math.Sqrt(bytes/sweepBytes(m, blockShape{nodes: 1, edges: 2}))))
}

func sweepSpeed(c *Ceilings, level string, n *speedNetwork, m modelShape, t machine.Timing) SweepSpeed {
	b := m.shapesOf(n.part)[0]
	set := sweepBytes(m, b)
	// In the long run every sweep finds things as the one before left them.
	w := sweepsWork(m, b, 2).plus(sweepsWork(m, b, 1).times(-1))
	roof, bound := roofline(c, w, set, set)
	s := SweepSpeed{
		Level: level, States: int(m.states), Edges: n.graph.NumEdges(), WorkingSet: set,
		NsPerEdge: giga * t.Minimum / b.edges, NsPerEdgeMedian: giga * t.Median / b.edges, MessagesPerS: b.messages / t.Minimum,
		GBPerS: w.bytes() / t.Minimum / giga, CeilingGBPerS: c.RateAt(set), Bound: bound, RooflineFraction: roof / t.Minimum,
	}
	s.BandwidthFraction = s.GBPerS / s.CeilingGBPerS
	return s
}

// sweeper makes sweeps over a network that is one block.
type sweeper struct {
	net    *bp.Net
	state  *bp.State
	block  *partition.Block
	space  bp.Workspace
	repeat int // sweeps per measurement
}

// sweepTime is about how long a measurement of sweeps over little is made to take.
const sweepTime = 2 * time.Millisecond

func newSweeper(n *speedNetwork, states int) (*sweeper, error) {
	model, in, err := n.instance(states)
	if err != nil {
		return nil, err
	}
	net, err := bp.NewNet(n.graph, in.Cards(), counting.Convex(n.graph), nil)
	if err != nil {
		return nil, err
	}
	s := &sweeper{net: net, state: bp.NewState(net), block: &n.part.Blocks[0], repeat: 1}
	if err := s.space.Ground(model, in, net, s.block); err != nil {
		return nil, err
	}
	for {
		seconds, err := s.Run()
		if err != nil || seconds*float64(s.repeat) >= sweepTime.Seconds() {
			return s, err
		}
		s.repeat *= 2
	}
}

// Run implements machine.Task: the time of one sweep.
func (s *sweeper) Run() (seconds float64, err error) {
	started := time.Now()
	for range s.repeat {
		if _, err := s.space.Sweep(s.net, s.state, s.block, 0); err != nil {
			return 0, err
		}
	}
	return time.Since(started).Seconds() / float64(s.repeat), nil
}
