package main

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/lab/bench"
)

// measureLittle makes bench measure next to nothing, and returns what its plans
// were asked for.
func measureLittle(t *testing.T) (quick *[]bool) {
	t.Helper()
	before := benchPlan
	t.Cleanup(func() { benchPlan = before })
	quick = new([]bool)
	benchPlan = func(q bool) bench.SpeedPlan {
		*quick = append(*quick, q)
		p := before(q)
		p.Grid, p.BA = 6, 40
		p.States, p.ReferenceStates = []int{2, 8}, 8
		p.Ceilings, p.Rounds = machine.Rounds{Least: 1}, machine.Rounds{Least: 1}
		p.MostMemory = 4 << 20
		return p
	}
	return quick
}

// benchJSON is the part of the result that is promised by name.
type benchJSON struct {
	Quick    bool `json:"quick"`
	Ceilings struct {
		Kernels string `json:"kernels"`
		Compute struct {
			FMA float64 `json:"fma_gflops"`
			Exp float64 `json:"exp_ns"`
			Log float64 `json:"log_ns"`
		} `json:"compute"`
		Memory []struct {
			Level string  `json:"level"`
			Bytes int     `json:"buffer_bytes"`
			Rate  float64 `json:"gb_per_s"`
		} `json:"memory"`
	} `json:"ceilings"`
	Phases []struct {
		Name     string  `json:"name"`
		States   int     `json:"states"`
		Ns       float64 `json:"ns_per_edge"`
		Fraction float64 `json:"roofline_fraction"`
	} `json:"phases"`
	Messages float64 `json:"messages_per_s"`
	Speedup  float64 `json:"speedup_vs_plain_go"`
	Seconds  float64 `json:"seconds"`
}

// TestBenchJSON: the promised keys are there, with numbers that can be. It does not
// run beside other tests: it replaces what bench measures, and the kernels.
func TestBenchJSON(t *testing.T) {
	asked := measureLittle(t)
	o := mustRun(t, "bench", "--json", "--quick")
	var r benchJSON
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Quick || !slices.Equal(*asked, []bool{true}) {
		t.Errorf("quick is %t, the plans asked for are quick: %v", r.Quick, *asked)
	}
	positive := func(what string, numbers ...float64) {
		t.Helper()
		for _, x := range numbers {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%s is %v", what, x)
			}
		}
	}
	k := &r.Ceilings.Compute
	positive("a rate of arithmetic", k.FMA, k.Exp, k.Log)
	var levels []string
	for _, m := range r.Ceilings.Memory {
		levels = append(levels, m.Level)
		positive("a rate of reading", m.Rate, float64(m.Bytes))
	}
	if len(levels) < 2 || levels[0] != "L1" || levels[len(levels)-1] != "DRAM" {
		t.Errorf("ceilings %+v", r.Ceilings)
	}
	var names []string
	for _, p := range r.Phases[:4] {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"ground", "sweep", "gradient", "iteration"}) || len(r.Phases) != 2*2*4 {
		t.Errorf("%d phases, the first are %q", len(r.Phases), names)
	}
	for i, p := range r.Phases {
		positive("a phase", p.Ns, p.Fraction)
		if p.States != []int{2, 8}[i/4%2] {
			t.Errorf("phase %+v", p)
		}
	}
	positive("messages per second, speed-up or seconds", r.Messages, r.Speedup, r.Seconds)
	for _, stage := range []string{"ceilings:", "phases: grid 6×6, 2 states", "phases: grid 6×6, 8 states", "kernels:"} {
		if !strings.Contains(o.stderr, stage) {
			t.Errorf("stderr does not say %q:\n%s", stage, o.stderr)
		}
	}
}

// TestBenchTables: people see every table, and no number that is none.
func TestBenchTables(t *testing.T) {
	asked := measureLittle(t)
	o := mustRun(t, "bench")
	if !slices.Equal(*asked, []bool{false}) {
		t.Errorf("the plans asked for are quick: %v", *asked)
	}
	for _, part := range []string{
		"Ceilings of one core", "multiply-add", "exp", "reading from L1", "reading from DRAM",
		"Phases of an iteration on grid 6×6", "Phases of an iteration on BA 40", "iteration, 2 sweeps", "of the roofline",
		"by kernels", "plain", "million messages per second", "lab/README.md",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("the output does not contain %q:\n%s", part, o.stdout)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(o.stdout, bad) {
			t.Errorf("the output contains %q:\n%s", bad, o.stdout)
		}
	}
}

// TestBenchRefusals: mistakes and interruptions end as everywhere.
func TestBenchRefusals(t *testing.T) {
	measureLittle(t)
	runLab(t.Context(), "bench", "all").wantFailure(t, 1, "all")
	runLab(t.Context(), "bench", "--quik").wantFailure(t, 2, "--quik", "--help")
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	runLab(ctx, "bench", "--json").wantFailure(t, 130, "interrupted")
}
