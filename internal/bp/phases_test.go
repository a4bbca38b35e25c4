package bp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
)

// groundCase is an instance with dense features, and blocks of it.
type groundCase struct {
	model *crf.Model
	in    *crf.Instance
	net   *Net
	part  *partition.Partition
}

func newGroundCase(t *testing.T, states int, scale float64, binned bool) groundCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(states)))
	g := sure(graph.Grid(6, 7, graph.GridOptions{}))
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: stateNames(states), Features: 3}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 4}},
	}
	model := sure(crf.NewModel(schema))
	for i := range model.Weights {
		model.Weights[i] = scale * rng.NormFloat64()
	}
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	edges := sure(crf.Dense(draw(4*g.NumEdges()), 4))
	if binned {
		bins := make([]int32, g.NumEdges())
		for e := range bins {
			bins[e] = rng.Int32N(4)
		}
		edges = sure(crf.Bins(bins, 4))
	}
	in := sure(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{sure(crf.Dense(draw(3*g.NumNodes()), 3))}, EdgeFeat: []crf.Features{edges}}))
	of := sure(partition.BreadthFirst(g, 3))
	return groundCase{model, in, sure(NewNet(g, in.Cards(), counting.Convex(g), nil)), sure(partition.FromAssignment(g, of, 3))}
}

// TestPhaseTimes: grounding a block ends a lap per batch of edges for each of its two
// phases, and one for the nodes; what they take is no more than there was.
func TestPhaseTimes(t *testing.T) {
	for _, binned := range []bool{false, true} {
		c := newGroundCase(t, 3, 0.3, binned)
		times := &PhaseTimes{}
		w, silent := Workspace{Times: times}, Workspace{}
		want := 0
		started := time.Now()
		for i := range c.part.Blocks {
			block := &c.part.Blocks[i]
			if err := w.Ground(c.model, c.in, c.net, block); err != nil {
				t.Fatal(err)
			}
			want++
			if !binned {
				want += (len(block.Edges) + 23) / 24
			}
		}
		took := time.Since(started)
		if times.Spent[PhaseGround] < 0 || times.Spent[PhaseExp] < 0 || times.Spent[PhaseGround]+times.Spent[PhaseExp] > took {
			t.Errorf("binned %t: times of %v in %v", binned, times.Spent, took)
		}
		if got := [NumPhases]int{want, want}; times.Count != got {
			t.Errorf("binned %t: %v phases, want %v", binned, times.Count, got)
		}
		last := &c.part.Blocks[len(c.part.Blocks)-1]
		if err := silent.Ground(c.model, c.in, c.net, last); err != nil {
			t.Fatal(err)
		}
		for q, e := range last.Edges {
			n := c.net.pairStates(e)
			if a, b := fmt.Sprint(w.values(int32(q), n)), fmt.Sprint(silent.values(int32(q), n)); a != b {
				t.Fatalf("binned %t: with times the table of edge %d is %s, without %s", binned, e, a, b)
			}
		}
	}
}

// TestPhaseTimesBetween: time between End and Begin is of no phase.
func TestPhaseTimesBetween(t *testing.T) {
	var none *PhaseTimes
	none.Begin()
	none.End(PhaseSweep) // adds nothing, to nothing
	l := &PhaseTimes{}
	l.Begin()
	l.End(PhaseSweep)
	time.Sleep(2 * time.Millisecond)
	gap := time.Since(l.origin) - l.began
	l.Begin()
	l.End(PhaseGradient)
	if total := l.Spent[PhaseSweep] + l.Spent[PhaseGradient]; total+gap > time.Since(l.origin) || l.Count != [NumPhases]int{0, 0, 1, 1} {
		t.Errorf("times %v, %v, beside a gap of %v", l.Spent, l.Count, gap)
	}
	names := ""
	for p := range Phase(NumPhases) {
		names += p.String() + " "
	}
	if names != "ground exp sweep gradient " {
		t.Errorf("phases are named %s", names)
	}
}
