package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// RanksPlan says what is learned together.
type RanksPlan struct {
	Grid   int // side
	States int
	Passes int // that are measured, after one that is not
}

// FullRanksPlan is a network with work for several processes, and QuickRanksPlan a smaller one.
func FullRanksPlan() RanksPlan  { return RanksPlan{Grid: 1000, States: 8, Passes: 6} }
func QuickRanksPlan() RanksPlan { return RanksPlan{Grid: 300, States: 8, Passes: 6} }

// Ranks is what each process of a job spends a pass on.
type Ranks struct {
	Graph  string       `json:"graph"`
	States int          `json:"states"`
	Passes float64      `json:"passes"`
	Each   []RankShares `json:"ranks"`
}

// RankShares are those of one process, of a pass. What it waits for others counts with what it waits in.
type RankShares struct {
	Rank      int     `json:"rank" table:"rank"`
	Seconds   float64 `json:"seconds" table:"s a pass;%.4f"`
	Compute   float64 `json:"compute_seconds" table:"compute;%.4f"`
	Halo      float64 `json:"halo_seconds" table:"halo;%.4f"`
	Sums      float64 `json:"sum_seconds" table:"sums;%.4f"`
	Agreement float64 `json:"agreement_seconds" table:"agreement;%.4f"`
	// What it sends in these, and how often it has to agree.
	HaloBytes float64 `json:"halo_bytes" table:"halo bytes;%.0f"`
	SumBytes  float64 `json:"sum_bytes" table:"sum bytes;%.0f"`
	Calls     float64 `json:"agreement_calls" table:"agreements;%.0f"`
}

// spent is what a process has spent in calls of one kind.
type spent struct {
	time  time.Duration
	bytes int
	calls int
}

// countedGroup tells what is spent in calls.
type countedGroup struct {
	learn.Group
	halo, sums, agreement spent
}

func (s *spent) since(began time.Time, numbers int) {
	s.time += time.Since(began)
	s.bytes += numbers * float64Bytes
	s.calls++
}

const float64Bytes = 8

func (g *countedGroup) Agree(x []float64) {
	defer g.agreement.since(time.Now(), len(x))
	g.Group.Agree(x)
}

func (g *countedGroup) Any(flag bool) bool {
	defer g.agreement.since(time.Now(), 1)
	return g.Group.Any(flag)
}

func (g *countedGroup) Gather(dst, own []float64, lengths []int) {
	defer g.agreement.since(time.Now(), len(own))
	g.Group.Gather(dst, own, lengths)
}

func (g *countedGroup) Sum(dst []float64, own [][]float64, bounds []int) {
	sent := len(dst) * (g.Size() - 1) // where the parts of a process are one subtree
	if len(own) == 0 {
		sent = 0
	}
	defer g.sums.since(time.Now(), sent)
	g.Group.Sum(dst, own, bounds)
}

func (g *countedGroup) Exchange(send, recv [][]float64) {
	n := 0
	for _, x := range send {
		n += len(x)
	}
	defer g.halo.since(time.Now(), n)
	g.Group.Exchange(send, recv)
}

// mark is where a process is in a run.
type mark struct {
	at                    time.Time
	passes                float64
	halo, sums, agreement spent
}

// MeasureRanks learns on a grid together, and returns what each process spends on it. All processes of
// the group call it.
func MeasureRanks(ctx context.Context, plan RanksPlan, group learn.Group, say func(string)) (*Ranks, error) {
	n, p, err := cutNetwork(gridSpec(plan.Grid), plan.States)
	if err != nil {
		return nil, err
	}
	say(fmt.Sprintf("%d passes on %s, %d processes", plan.Passes, n.name, group.Size()))
	counted := &countedGroup{Group: group}
	var first, last mark
	settings := n.settings()
	settings.Group, settings.Threads = counted, 1
	settings.MaxPasses = float64(visitSweeps * (plan.Passes + 1))
	settings.Recorder = func(e learn.Event) error {
		if e.Check {
			return nil
		}
		last = mark{time.Now(), e.Pass, counted.halo, counted.sums, counted.agreement}
		if first.at.IsZero() && e.Pass >= visitSweeps { // the first pass is not like others
			first = last
		}
		return nil
	}
	if r, err := learn.Fit(ctx, p, settings); err != nil {
		return nil, err
	} else if r.Status == learn.Interrupted {
		return nil, context.Canceled
	}
	passes := (last.passes - first.passes) / visitSweeps
	if !(passes > 0) {
		return nil, fmt.Errorf("bench: the run on %s made no pass", n.name)
	}
	a := func(x, y spent) float64 { return (y.time - x.time).Seconds() / passes }
	own := RankShares{
		Rank: group.Rank(), Seconds: last.at.Sub(first.at).Seconds() / passes,
		Halo: a(first.halo, last.halo), Sums: a(first.sums, last.sums), Agreement: a(first.agreement, last.agreement),
		HaloBytes: float64(last.halo.bytes-first.halo.bytes) / passes, SumBytes: float64(last.sums.bytes-first.sums.bytes) / passes,
		Calls: float64(last.agreement.calls-first.agreement.calls) / passes,
	}
	own.Compute = own.Seconds - own.Halo - own.Sums - own.Agreement
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	result := &Ranks{Graph: n.name, States: plan.States, Passes: passes}
	for _, text := range group.Bytes(text) {
		var one RankShares
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, err
		}
		result.Each = append(result.Each, one)
	}
	return result, nil
}

// Notes are none.
func (r *Ranks) Notes() []string { return nil }

// Tables lays the measurement out for people.
func (r *Ranks) Tables() []TitledTable {
	return []TitledTable{{fmt.Sprintf("A pass on %s, %d states, in each process: seconds, with the wait for others, and what it sends", r.Graph, r.States), report.TableOf(r.Each, "table")}}
}

// Summary says what part is not compute, in the slowest.
func (r *Ranks) Summary(seconds float64) string {
	most, compute := 0.0, 0.0
	for _, x := range r.Each {
		if x.Seconds > most {
			most, compute = x.Seconds, x.Compute
		}
	}
	return fmt.Sprintf("%d processes compute for %.0f %% of a pass. All took %.0f s.", len(r.Each), 100*compute/most, seconds)
}
