package bench

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/synthetic"
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
	add("Sweeps again and again over one block, by where its tables live", report.TableOf(s.Sweeps, "table"))
	add("A whole iteration by kernels", report.TableOf(s.Kernels, "table"))
	add("A whole iteration by threads: several instances, or several blocks of one at a time", report.TableOf(s.Threads, "table"))
	add("A whole iteration by size of the network, in blocks of one size", report.TableOf(s.Sizes, "table"))
	add("The three methods, from zero weights to the optimum: seconds", report.TableOf(s.Methods, "table"))
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
func (p PhaseSpeed) BoundText() string { return boundText(p.Bound, p.Level) }

// BoundText is the same for a sweep.
func (s SweepSpeed) BoundText() string { return boundText(s.Bound, s.Level) }

func boundText(bound, level string) string {
	if bound == BoundOperations {
		return "arithmetic"
	}
	return level
}

// MethodText is how people call the method.
func (m MethodSpeed) MethodText() string { return synthetic.MethodNames[m.Method] }

// Tables lays the measurement out for people.
func (s *Scale) Tables() []TitledTable {
	return []TitledTable{
		{"Building, partitioning and learning: seconds on one thread, and memory", report.TableOf(s.Networks, "cost")},
		{"An iteration in blocks of one size, by size of the network", report.TableOf(s.Networks, "iteration")},
	}
}

// KindText is how people call the kind of graphs.
func (g Growth) KindText() string {
	return map[string]string{kindGrid: "grid", kindBA: "Barabási–Albert"}[g.Kind]
}

// Curves draws the time of an iteration against the size of the network. What else the
// machine did while one size was measured and not while another would show as growth: so
// a network's time is its ratio to the smallest, measured in turns, times the best of the
// smallest. The medians as the clock had them are dashed.
func (s *Scale) Curves() figure.Curves {
	c := figure.Curves{
		Title:  "time per iteration in blocks of one size, by size of the network",
		XLabel: "nodes of the network", YLabel: "ms per iteration", LogX: true, FromZero: true,
	}
	for _, g := range s.Growth {
		time := figure.Series{Name: g.KindText() + " (dashed: disturbances included)"}
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
