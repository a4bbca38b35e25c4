package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
)

// Comparison is what two builds of the program take, measured in turns.
type Comparison struct {
	Against string          `json:"against"` // the other build
	Turns   int             `json:"turns"`
	Phases  []ComparedPhase `json:"phases"`
	// IterationFaster is the geometric mean of Faster over all whole iterations.
	IterationFaster float64 `json:"iteration_faster"`
}

// ComparedPhase is a phase by both builds, each in its best turn.
type ComparedPhase struct {
	Graph       string  `json:"graph" table:"graph"`
	States      int     `json:"states" table:"states"`
	Name        string  `json:"name" table:"phase"`
	NsPerEdge   float64 `json:"ns_per_edge" table:"ns;%.1f"`
	OtherNs     float64 `json:"against_ns_per_edge" table:"other ns;%.1f"`
	Faster      float64 `json:"faster" table:"times as fast;%.2f"` // the other's time over that of this one
	WorstFaster float64 `json:"worst_faster" table:"least;%.2f"`   // of a turn
	BestFaster  float64 `json:"best_faster" table:"most;%.2f"`
}

// Against has this build, a binary, and another measure the phases of an iteration, so many
// turns each, the two in changing order. say is told of each turn. Only what both measure is
// compared.
func Against(ctx context.Context, this, other string, turns int, say func(stage string)) (*Comparison, error) {
	c := &Comparison{Against: other, Turns: turns}
	var here, there [][]PhaseSpeed // [turn]
	for turn := range turns {
		pair := []struct {
			binary string
			to     *[][]PhaseSpeed
		}{{this, &here}, {other, &there}}
		if turn%2 == 1 {
			slices.Reverse(pair)
		}
		for _, p := range pair {
			say(fmt.Sprintf("turn %d of %d: %s", turn+1, turns, p.binary))
			phases, err := phasesBy(ctx, p.binary)
			if err != nil {
				return nil, err
			}
			*p.to = append(*p.to, phases)
		}
	}
	logs, iterations := 0.0, 0
	for _, p := range here[0] {
		next := ComparedPhase{Graph: p.Graph, States: p.States, Name: p.NameText(), NsPerEdge: math.Inf(1), OtherNs: math.Inf(1), WorstFaster: math.Inf(1)}
		for turn := range turns {
			ours, theirs := p.in(here[turn]), p.in(there[turn])
			next.NsPerEdge, next.OtherNs = min(next.NsPerEdge, ours), min(next.OtherNs, theirs)
			next.WorstFaster, next.BestFaster = min(next.WorstFaster, theirs/ours), max(next.BestFaster, theirs/ours)
		}
		if next.Faster = next.OtherNs / next.NsPerEdge; !(next.BestFaster < math.Inf(1)) {
			continue // the other build does not measure this
		}
		c.Phases = append(c.Phases, next)
		if p.Name == Iteration {
			logs, iterations = logs+math.Log(next.Faster), iterations+1
		}
	}
	if iterations == 0 {
		return nil, fmt.Errorf("bench: %s and this build measure no iteration alike; want another build of blockbp", other)
	}
	c.IterationFaster = math.Exp(logs / float64(iterations))
	return c, nil
}

// in returns the time of the same phase among others, +Inf if none of them is it: of the first,
// as a build that measures single precision too begins with double.
func (p PhaseSpeed) in(others []PhaseSpeed) float64 {
	for _, o := range others {
		if o.Graph == p.Graph && o.States == p.States && o.Name == p.Name && o.Sweeps == p.Sweeps && o.NsPerEdge > 0 {
			return o.NsPerEdge
		}
	}
	return math.Inf(1)
}

// phasesBy has a binary measure.
func phasesBy(ctx context.Context, binary string) ([]PhaseSpeed, error) {
	var said, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "bench", "--quick", "--json")
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("bench: %s bench --quick --json: %w: %s; want a build of blockbp", binary, err, lines[len(lines)-1])
	}
	var got struct {
		Phases []PhaseSpeed `json:"phases"`
	}
	if err := json.Unmarshal(said.Bytes(), &got); err != nil || len(got.Phases) == 0 {
		return nil, errors.Join(fmt.Errorf("bench: %s bench --quick --json does not print phases; want a build of blockbp", binary), err)
	}
	return got.Phases, nil
}

// Notes say what a reader of the numbers should know.
func (c *Comparison) Notes() []string {
	for _, p := range c.Phases {
		if p.BestFaster > (1+2*muchDisturbed)*p.WorstFaster {
			return []string{"turns differ by more than a fifth: something else uses this machine; the best turns are compared"}
		}
	}
	return nil
}

// Tables lays the comparison out for people.
func (c *Comparison) Tables() []TitledTable {
	return []TitledTable{{"This build beside " + c.Against + ": one thread; per pass over all blocks and edge of the network", report.TableOf(c.Phases, "table")}}
}

// Summary ends what people read, after so many seconds of measuring.
func (c *Comparison) Summary(seconds float64) string {
	return fmt.Sprintf("a whole iteration is %.2f times as fast as by %s; %.0f s in all", c.IterationFaster, c.Against, seconds)
}
