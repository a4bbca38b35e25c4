package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// scalePlan says what bench --scale measures; tests measure less.
var scalePlan = func(quick bool) bench.ScalePlan {
	if quick {
		return bench.QuickScalePlan()
	}
	return bench.FullScalePlan()
}

// scaleResult is what bench --scale prints with --json, and writes as scaleFile.
type scaleResult struct {
	Quick       bool           `json:"quick"`
	Environment map[string]any `json:"environment"`
	*bench.Scale
	Seconds float64 `json:"seconds"` // that all of it took
}

// Names of what bench --scale writes.
const (
	scaleFile   = "scale.json"
	scaleFigure = "iteration-by-size"
)

func (a *app) benchScale(f *benchFlags) error {
	var run *runfolder.Run
	if f.out != "" {
		var err error
		if run, err = createOutput(f.out); err != nil {
			return err
		}
	}
	started := time.Now()
	scale, err := bench.MeasureScale(a.ctx, scalePlan(f.quick), a.stages(started))
	if err != nil {
		return err
	}
	result := scaleResult{f.quick, runfolder.Environment(), scale, time.Since(started).Seconds()}
	a.noteDisturbance(scale.Disturbance)
	for _, what := range scale.Left {
		a.note("left out %s", what)
	}
	if len(scale.Networks) == 0 {
		return errors.New("bench: there is not enough memory for any of the networks; free some and try again")
	}
	if run != nil {
		if err := run.WriteJSON(scaleFile, result); err != nil {
			return err
		}
		if err := writeFigure(run, scaleFigure, scaleCurves(scale)); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(result)
	}
	return a.printScale(&result)
}

func (a *app) printScale(r *scaleResult) error {
	for _, t := range []titledTable{
		{"Building, partitioning and learning: seconds on one thread, and memory", scaleCostTable(r.Networks)},
		{"An iteration in blocks of one size, by size of the network", scaleIterationTable(r.Networks)},
	} {
		if _, err := fmt.Fprintf(a.stdout, "%s\n\n%s\n\n", t.title, t.table.Text()); err != nil {
			return err
		}
	}
	for _, g := range r.Growth {
		if _, err := fmt.Fprintf(a.stdout, "%s, %d to %d nodes: ns per edge largest/smallest %.2f, time per iteration largest/smallest %.2f\n",
			kindNames[g.Kind], g.FromNodes, g.ToNodes, g.NsRatio, g.IterationRatio); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%.0f s in all\nWhat the numbers mean: docs/explanation/performance.md\n", r.Seconds)
	return err
}

// kindNames are the kinds of graphs for people.
var kindNames = map[string]string{"grid": "grid", "ba": "Barabási–Albert"}

func scaleCostTable(networks []bench.NetworkScale) report.Table {
	t := report.Table{Headers: []string{"graph", "nodes", "edges", "graph built", "blocks cut", "set-up", "first pass", "peak memory", "bytes per node"}}
	for _, n := range networks {
		peak, perNode := "–", "–"
		if n.PeakBytes > 0 {
			peak, perNode = byteText(float64(n.PeakBytes)), fmt.Sprintf("%.0f", n.PeakBytesPerNode)
		}
		t.Rows = append(t.Rows, []string{
			n.Graph, strconv.Itoa(n.Nodes), strconv.Itoa(n.Edges), fmt.Sprintf("%.3f", n.BuildSeconds), fmt.Sprintf("%.3f", n.PartitionSeconds),
			fmt.Sprintf("%.3f", n.SetupSeconds), fmt.Sprintf("%.3f", n.PassSeconds), peak, perNode,
		})
	}
	return t
}

func scaleIterationTable(networks []bench.NetworkScale) report.Table {
	t := report.Table{Headers: []string{"graph", "nodes", "blocks", "cut", "groups a block", "ms per iteration", "best", "median", "over smallest", "ns per edge and pass", "over smallest"}}
	for _, n := range networks {
		t.Rows = append(t.Rows, []string{
			n.Graph, strconv.Itoa(n.Nodes), strconv.Itoa(n.Blocks), percent(n.Cut), fmt.Sprintf("%.1f", n.TouchedGroups),
			fmt.Sprintf("%.3f", n.MsPerIteration), fmt.Sprintf("%.3f", n.MsPerIterationBest), fmt.Sprintf("%.3f", n.MsPerIterationMedian), fmt.Sprintf("%.2f", n.IterationRatio),
			fmt.Sprintf("%.1f", n.NsPerEdge), fmt.Sprintf("%.2f", n.NsRatio),
		})
	}
	return t
}

// scaleCurves draws the time of an iteration against the size of the network. What
// else the machine did while one size was measured and not while another would show
// as growth: so a network's time is its ratio to the smallest, measured in turns,
// times the best of the smallest. The medians as the clock had them are dashed.
func scaleCurves(s *bench.Scale) figure.Curves {
	c := figure.Curves{
		Title:  "time per iteration in blocks of one size, by size of the network",
		XLabel: "nodes of the network", YLabel: "ms per iteration", LogX: true, FromZero: true,
	}
	for _, g := range s.Growth {
		time := figure.Series{Name: kindNames[g.Kind] + " (dashed: disturbances included)"}
		clock := figure.Series{Dashed: true}
		best := 0.0
		for _, n := range s.Networks {
			if n.Kind != g.Kind {
				continue
			}
			if n.Nodes == g.FromNodes {
				best = n.MsPerIterationBest
			}
			time.X, time.Y = append(time.X, float64(n.Nodes)), append(time.Y, best*n.IterationRatio)
			clock.X, clock.Y = append(clock.X, float64(n.Nodes)), append(clock.Y, n.MsPerIterationMedian)
		}
		c.Series = append(c.Series, time, clock)
	}
	return c
}
