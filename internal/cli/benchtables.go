package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/report"
)

// titledTable is a table with what stands above it.
type titledTable struct {
	title string
	table report.Table
}

const million = 1e6

// benchTables lays out a measurement for people; empty tables are left out.
func benchTables(s *bench.Speed) (tables []titledTable) {
	all := []titledTable{{"Ceilings of one core", ceilingsTable(s.Ceilings)}}
	for first := 0; first < len(s.Phases); {
		last := first + 1
		for last < len(s.Phases) && s.Phases[last].Graph == s.Phases[first].Graph {
			last++
		}
		title := fmt.Sprintf("Phases of an iteration on %s: one thread; per pass over all blocks and edge of the network", s.Phases[first].Graph)
		all = append(all, titledTable{title, phasesTable(s.Phases[first:last])})
		first = last
	}
	all = append(all,
		titledTable{"Sweeps again and again over one block, by where its tables live", sweepsTable(s.Sweeps)},
		titledTable{"A whole iteration by kernels", kernelsTable(s.Kernels)},
		titledTable{"A whole iteration by threads: several instances, or several blocks of one at a time", threadsTable(s.Threads)},
		titledTable{"A whole iteration by size of the network, in blocks of one size", sizesTable(s.Sizes)},
		titledTable{"The three methods, from zero weights to the optimum: seconds", methodsTable(s.Methods)})
	for _, t := range all {
		if len(t.table.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

func ceilingsTable(c *bench.Ceilings) report.Table {
	t := report.Table{Headers: []string{"what", "best", "median", "unit", "measured with"}}
	row := func(what, format string, best, median float64, unit, with string) {
		t.Rows = append(t.Rows, []string{what, fmt.Sprintf(format, best), fmt.Sprintf(format, median), unit, with})
	}
	for _, k := range c.Compute {
		row("multiply-add, "+k.Precision, "%.1f", k.FMA, k.FMAMedian, "GFLOP/s", c.Kernels)
		row("exp, "+k.Precision, "%.3f", k.Exp, k.ExpMedian, "ns", "an array in L1")
		row("log, "+k.Precision, "%.3f", k.Log, k.LogMedian, "ns", "an array in L1")
	}
	for _, m := range c.Memory {
		with := byteText(float64(m.Bytes))
		if m.CacheBytes > 0 {
			with += " of " + byteText(float64(m.CacheBytes))
		}
		row("reading from "+m.Level, "%.1f", m.Rate, m.RateMedian, "GB/s", with)
		if m.AllCores > 0 {
			t.Rows = append(t.Rows, []string{"… by all cores", fmt.Sprintf("%.1f", m.AllCores), "", "GB/s", with})
		}
	}
	return t
}

func phasesTable(phases []bench.PhaseSpeed) report.Table {
	t := report.Table{Headers: []string{"states", "precision", "blocks", "phase", "ns", "median", "messages/µs", "bytes", "flops", "exp, log", "bound by", "roofline ns", "of the roofline"}}
	for _, p := range phases {
		name, messages := p.Name, ""
		if p.Sweeps > 0 {
			name = fmt.Sprintf("%s, %d sweeps", p.Name, p.Sweeps)
		}
		if p.MessagesPerS > 0 {
			messages = fmt.Sprintf("%.2f", p.MessagesPerS/million)
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(p.States), p.Precision, blocksText(p.Blocks, p.BlocksAtATime), name, fmt.Sprintf("%.1f", p.NsPerEdge), fmt.Sprintf("%.1f", p.NsPerEdgeMedian), messages,
			fmt.Sprintf("%.0f", p.BytesPerEdge), fmt.Sprintf("%.0f", p.FlopsPerEdge), fmt.Sprintf("%.1f", p.ExpsPerEdge+p.LogsPerEdge),
			boundText(p.Bound, p.Level), fmt.Sprintf("%.1f", p.RooflineNsPerEdge), percent(p.RooflineFraction),
		})
	}
	return t
}

func sweepsTable(sweeps []bench.SweepSpeed) report.Table {
	t := report.Table{Headers: []string{"tables in", "memory", "states", "precision", "ns per edge", "median", "messages/µs", "GB/s", "of reading", "bound by", "of the roofline"}}
	for _, s := range sweeps {
		t.Rows = append(t.Rows, []string{
			s.Level, byteText(s.WorkingSet), strconv.Itoa(s.States), s.Precision, fmt.Sprintf("%.1f", s.NsPerEdge), fmt.Sprintf("%.1f", s.NsPerEdgeMedian),
			fmt.Sprintf("%.2f", s.MessagesPerS/million), fmt.Sprintf("%.1f", s.GBPerS), percent(s.BandwidthFraction),
			boundText(s.Bound, s.Level), percent(s.RooflineFraction),
		})
	}
	return t
}

func kernelsTable(kernels []bench.KernelSpeed) report.Table {
	t := report.Table{Headers: []string{"kernels", "precision", "ns per edge", "median", "times plain Go"}}
	for _, k := range kernels {
		t.Rows = append(t.Rows, []string{k.Name, k.Precision, fmt.Sprintf("%.1f", k.NsPerEdge), fmt.Sprintf("%.1f", k.NsPerEdgeMedian), fmt.Sprintf("%.2f", k.Speedup)})
	}
	return t
}

func threadsTable(threads []bench.ThreadSpeed) report.Table {
	t := report.Table{Headers: []string{"graph", "instances", "blocks at a time", "threads", "ms per iteration", "median", "ns per edge", "times one thread"}}
	for _, s := range threads {
		t.Rows = append(t.Rows, []string{
			s.Graph, strconv.Itoa(s.Instances), strconv.Itoa(s.BlocksAtATime), strconv.Itoa(s.Threads), fmt.Sprintf("%.3f", s.MsPerIteration), fmt.Sprintf("%.3f", s.MsPerIterationMedian),
			fmt.Sprintf("%.1f", s.NsPerEdge), fmt.Sprintf("%.2f", s.Speedup),
		})
	}
	return t
}

func sizesTable(sizes []bench.SizeSpeed) report.Table {
	t := report.Table{Headers: []string{"nodes", "edges", "blocks", "nodes per block", "ms per iteration", "median", "ns per edge and pass"}}
	for _, s := range sizes {
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(s.Nodes), strconv.Itoa(s.Edges), strconv.Itoa(s.Blocks), strconv.Itoa(s.BlockNodes),
			fmt.Sprintf("%.3f", s.MsPerIteration), fmt.Sprintf("%.3f", s.MsPerIterationMedian), fmt.Sprintf("%.1f", s.NsPerEdge),
		})
	}
	return t
}

func methodsTable(methods []bench.MethodSpeed) report.Table {
	t := report.Table{Headers: []string{"graph", "method", "to the tolerance", "median", "of checks", "to 1e-3 of θ*", "iterations", "passes", "of checks", "status"}}
	for _, m := range methods {
		t.Rows = append(t.Rows, []string{
			m.Graph, methodNames[m.Method], fmt.Sprintf("%.3f", m.Seconds), fmt.Sprintf("%.3f", m.SecondsMedian), fmt.Sprintf("%.3f", m.CheckSeconds),
			secondsText(float64(m.SecondsToNear)), strconv.Itoa(m.Iterations), fmt.Sprintf("%.1f", m.Passes), fmt.Sprintf("%.1f", m.CheckPasses), string(m.Status),
		})
	}
	return t
}

// blocksText is a number of blocks, and how many of them an iteration visits.
func blocksText(blocks, atATime int) string {
	if atATime == 1 {
		return strconv.Itoa(blocks)
	}
	return fmt.Sprintf("%d by %d", blocks, atATime)
}

// boundText names what bounds a time: arithmetic, or the level of memory that is
// read.
func boundText(bound, level string) string {
	if bound == bench.BoundOperations {
		return "arithmetic"
	}
	return level
}

// secondsText is a time, or a dash for one that never came.
func secondsText(seconds float64) string {
	if math.IsNaN(seconds) {
		return "–"
	}
	return fmt.Sprintf("%.3f", seconds)
}

// byteText is a number of bytes in the unit that people use for it.
func byteText(bytes float64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.0f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.0f B", bytes)
}
