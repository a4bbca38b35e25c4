package bench

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/internal/report"
)

// TitledTable is a table with what stands above it.
type TitledTable struct {
	Title string
	report.Table
}

// Tables lays the measurement out for people; empty tables are left out.
func (s *Speed) Tables() (tables []TitledTable) {
	add := func(title string, table report.Table) {
		if len(table.Rows) > 0 {
			tables = append(tables, TitledTable{title, table})
		}
	}
	add("Ceilings of one core", ceilingsTable(s.Ceilings))
	for first := 0; first < len(s.Phases); {
		last := first + 1
		for last < len(s.Phases) && s.Phases[last].Graph == s.Phases[first].Graph {
			last++
		}
		title := fmt.Sprintf("Phases of an iteration on %s: one thread; per pass over all blocks and edge of the network", s.Phases[first].Graph)
		add(title, report.TableOf(s.Phases[first:last], "table"))
		first = last
	}
	add("A whole iteration by kernels", report.TableOf(s.Kernels, "table"))
	return tables
}

func ceilingsTable(c *Ceilings) report.Table {
	t := report.Table{Headers: []string{"what", "best", "median", "unit", "measured with"}}
	row := func(what, format string, best, median float64, unit, with string) {
		t.Rows = append(t.Rows, []string{what, fmt.Sprintf(format, best), fmt.Sprintf(format, median), unit, with})
	}
	k := &c.Compute
	row("multiply-add", "%.1f", k.FMA, k.FMAMedian, "GFLOP/s", c.Kernels)
	row("exp", "%.3f", k.Exp, k.ExpMedian, "ns", "an array in L1")
	row("log", "%.3f", k.Log, k.LogMedian, "ns", "an array in L1")
	for _, m := range c.Memory {
		with := report.Bytes(float64(m.Bytes))
		if m.CacheBytes > 0 {
			with += " of " + report.Bytes(float64(m.CacheBytes))
		}
		row("reading from "+m.Level, "%.1f", m.Rate, m.RateMedian, "GB/s", with)
		if m.AllCores > 0 {
			t.Rows = append(t.Rows, []string{"… by all cores", fmt.Sprintf("%.1f", m.AllCores), "", "GB/s", with})
		}
	}
	return t
}

// BlocksText is a number of blocks, and how many of them an iteration visits.
func (p PhaseSpeed) BlocksText() string {
	if p.BlocksAtATime == 1 {
		return strconv.Itoa(p.Blocks)
	}
	return fmt.Sprintf("%d by %d", p.Blocks, p.BlocksAtATime)
}

// NameText is the phase and, of a whole iteration, the number of sweeps.
func (p PhaseSpeed) NameText() string {
	if p.Sweeps == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s, %d sweeps", p.Name, p.Sweeps)
}

// ExpsPerEdgeText counts exponentials and logarithms together.
func (p PhaseSpeed) ExpsPerEdgeText() string { return fmt.Sprintf("%.1f", p.ExpsPerEdge+p.LogsPerEdge) }

// BoundText names what bounds the time: arithmetic, or the level of memory that is read.
func (p PhaseSpeed) BoundText() string {
	if p.Bound == BoundOperations {
		return "arithmetic"
	}
	return p.Level
}
