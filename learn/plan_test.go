package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPlansAreRight compares, for runs of many kinds, what Forecast says with what the heap has when everything was
// visited. What users are told may be off by 30 MiB more; these problems are small.
func TestPlansAreRight(t *testing.T) {
	oracle.Long(t)
	const share, more = 0.15, 0.3 * (1 << 20)
	grid := func(o problemOptions) Problem { return randomProblem(t, 1, o) }
	plain := grid(problemOptions{rows: 60, cols: 60, states: 12, nodeDim: 6, edgeDim: 4})
	heavy := grid(problemOptions{rows: 12, cols: 12, states: 16, nodeDim: 80, edgeDim: 80})
	single := grid(problemOptions{rows: 200, cols: 200, states: 2, nodeDim: 2, edgeDim: 2})
	binned := grid(problemOptions{rows: 60, cols: 60, states: 10, nodeDim: 6, edgeDim: 6, bins: true})
	hidden := grid(problemOptions{rows: 50, cols: 50, states: 12, nodeDim: 6, edgeDim: 4, missing: 0.4})
	several := grid(problemOptions{rows: 40, cols: 40, states: 8, nodeDim: 6, edgeDim: 4, instances: 5})
	features := grid(problemOptions{rows: 60, cols: 60, states: 2, nodeDim: 400, edgeDim: 1})
	wide := grid(problemOptions{rows: 40, cols: 40, states: 4, nodeDim: 40, edgeDim: 30})
	tiny := grid(problemOptions{rows: 20, cols: 20, states: 10, nodeDim: 2, edgeDim: 2, bins: true})
	states := grid(problemOptions{rows: 12, cols: 12, states: 30, nodeDim: 1, edgeDim: 2})
	untied := untiedShape(must(graph.Grid(40, 40, graph.GridOptions{})), 6).build(t, 2)
	scaleFree := shape{graph: must(gen.BarabasiAlbert(3000, 3, rand.New(rand.NewPCG(1, 1)))), schema: crf.Homogeneous(crf.NumberedStates(6), 4, 4)}.build(t, 3)
	chains := shape{graph: must(gen.Chain(1200)), instances: 3, schema: crf.Homogeneous(crf.NumberedStates(2), 1, 1)}.build(t, 4)
	narrow := grid(problemOptions{rows: 4, cols: 6, states: 4, nodeDim: 10, edgeDim: 20, samples: 3})
	sentences := manyChains(t, "sparse", 300)
	folder := t.TempDir()
	for name, c := range map[string]struct {
		p Problem
		s Settings
	}{
		"plain":                 {plain, Settings{}},
		"one thread":            {plain, Settings{Threads: 1, Step: must(ParseStep("fixed:0.1"))}},
		"three threads":         {plain, Settings{Threads: 3, Method: BBPL, Cut: Cut{Blocks: 50}, Together: 6}},
		"full":                  {plain, Settings{Method: Full, Step: must(ParseStep("adagrad:0.1"))}},
		"full, auto":            {plain, Settings{Method: Full}},
		"inner-dual":            {plain, Settings{Method: InnerDual, Step: must(ParseStep("fixed:0.1"))}},
		"many weights":          {heavy, Settings{Step: must(ParseStep("fixed:0.1"))}},
		"many weights, adagrad": {heavy, Settings{Method: Full, Step: must(ParseStep("adagrad:0.1"))}},
		"many weights, auto":    {heavy, Settings{}},
		"many features":         {features, Settings{Method: Full}},
		"dense Hessian":         {wide, Settings{Method: Full}},
		"no dense Hessian":      {wide, Settings{Method: Full, Step: must(ParseStep("fixed:0.1"))}},
		"two states":            {single, Settings{Step: must(ParseStep("fixed:0.1"))}},
		"two states, auto":      {single, Settings{Step: must(ParseStep("fixed:0.1"))}},
		"bins":                  {binned, Settings{Method: Full}},
		"hidden labels":         {hidden, Settings{Method: InnerDual}},
		"instances":             {several, Settings{Threads: 5, Cut: Cut{Blocks: 12}, Step: must(ParseStep("fixed:0.1"))}},
		"untied":                {untied, Settings{Cut: Cut{Blocks: 9}}},
		"untied, adagrad":       {untied, Settings{Method: Full, Step: must(ParseStep("adagrad:0.1"))}},
		"many states":           {states, Settings{Cut: Cut{Blocks: 12}}},
		"scale-free":            {scaleFree, Settings{Cut: Cut{Blocks: 100}, Step: must(ParseStep("fixed:0.1"))}},
		"many threads":          {tiny, Settings{Threads: 7, Cut: Cut{Blocks: 100}, Step: must(ParseStep("fixed:0.1"))}},
		"linear response":       {narrow, Settings{Method: Full, Cut: Cut{Blocks: 4}}},
		"linear response, long": {chains, Settings{Threads: 3, Method: InnerDual}},
		"pseudo":                {plain, Settings{Method: Pseudo}},
		"pseudo, instances":     {several, Settings{Method: Pseudo, Threads: 3}},
		"pseudo, many weights":  {heavy, Settings{Method: Pseudo}},
		"piecewise":             {plain, Settings{Method: Piecewise}},
		"piecewise, untied":     {untied, Settings{Method: Piecewise}},
		"truncated":             {several, Settings{Method: Truncated, Threads: 3}},
		"sentences":             {sentences, Settings{Method: Full}},
		"sentences, pseudo":     {sentences, Settings{Method: Pseudo}},
		"spilled":               {plain, Settings{Spill: folder}},
		"spilled, instances":    {several, Settings{Spill: folder, Cut: Cut{Blocks: 12}}},
	} {
		if c.s.Cut == (Cut{}) {
			c.s.Cut.Blocks = 20 // else the caches of the machine decide
		}
		forecast := must(Forecast(c.p, c.s))
		taken := taken(t, c.p, c.s)
		for _, item := range forecast.Items {
			if item.Name == "copies of messages" && !item.Spilled {
				forecast.AtMost -= item.Bytes // of longer runs
			}
		}
		off := float64(forecast.AtMost) - float64(taken)
		t.Logf("%-22s forecast %9d, taken %9d bytes, error %+5.2f %%", name, forecast.AtMost, taken, 100*off/float64(taken))
		if math.Abs(off) > share*float64(taken)+more {
			for _, item := range forecast.Items {
				t.Logf("%12d %s: %s", item.Bytes, item.Name, item.Reason)
			}
			t.Errorf("%s: forecast %d bytes, taken %d", name, forecast.AtMost, taken)
		}
	}
}

// TestForecastOfProcesses: several processes take what is forecast for each.
func TestForecastOfProcesses(t *testing.T) {
	oracle.Long(t)
	const size, share = 2, 0.15
	p := randomProblem(t, 1, problemOptions{rows: 60, cols: 60, states: 12, nodeDim: 6, edgeDim: 4})
	var forecast [size]*Memory
	before, taken := inUse(), int64(0)
	processes(t, size, func(g Group) {
		s := Settings{Group: g, Threads: 1, Method: BBPL, Cut: Cut{Blocks: 20}, Step: must(ParseStep("fixed:0.1")), MaxPasses: 20, Checkpoint: func(*State) error { return nil }}
		forecast[g.Rank()] = must(Forecast(p, s))
		if s.Recorder = func(Event) error { return nil }; g.Rank() == 0 {
			s.Recorder = func(Event) error { taken = max(taken, inUse()-before); return nil }
		}
		must(Fit(t.Context(), p, s))
	})
	if off := float64(forecast[0].AtMost+forecast[1].AtMost) - float64(taken); math.Abs(off) > share*float64(taken) {
		t.Errorf("forecast is off by %.0f bytes of %d: %+v", off, taken, forecast[0])
	}
}

// taken returns how much more is in use after a run has begun and has visited everything.
func taken(t *testing.T, p Problem, s Settings) int64 {
	t.Helper()
	s = must(s.resolve(&p))
	before := inUse()
	var run any
	if s.Method.Local() {
		l := must(newLocalLearner(&p, &s))
		o := &l.objective
		defer o.Close()
		used, gradient := []any{l}, make([]float64, l.model.Layout.Size)
		for range min(s.Threads, o.Together()) {
			worker := o.Worker()
			for _, in := range o.Data[:o.Together()] {
				worker.Add(t.Context(), gradient, l.model, in, o.Whole(in), 1)
			}
			used = append(used, worker)
		}
		run = used
	} else {
		l := must(newLearner(&p, &s))
		defer l.pool.Close()
		l.growWorkers()
		run = l
	}
	after := inUse()
	runtime.KeepAlive(fmt.Sprintf("%p", run))
	runtime.KeepAlive(&p)
	runtime.KeepAlive(&s)
	if a, ok := s.Step.(*auto); ok {
		a.forget()
	}
	return after - before
}

// inUse returns how many bytes are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what the first found to have a finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
