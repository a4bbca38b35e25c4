package learn

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// manyStates is a chain of few nodes with very many states, without weights.
func manyStates(t *testing.T, states int) Problem {
	t.Helper()
	g := oracle.Must(graph.FromEdges(3, []int32{0, 1}, []int32{1, 2}))(t)
	schema := crf.Homogeneous(make([]string, states), 1, 1)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{
		Name: "chain", Graph: g, NodeFeat: []crf.Features{crf.Constant(3, 1)}, EdgeFeat: []crf.Features{crf.Constant(2, 1)}, Labels: [][]int32{{0, int32(states - 1), 0}},
	}))(t)
	return Problem{Data: []*crf.Instance{in}}
}

// TestForecastTakesNothing: asking what a model of 10,001 × 10,001 joint states would take
// neither takes it nor takes long, and no number overflows for models larger still.
func TestForecastTakesNothing(t *testing.T) {
	for _, states := range []int{10001, 1 << 22} {
		for _, method := range Methods {
			p := manyStates(t, states)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			started := time.Now()
			m, err := Forecast(p, Settings{Method: method})
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("%s, %d states: the forecast allocates %d bytes", method, states, took)
			}
			if s := time.Since(started); s > time.Second {
				t.Errorf("%s, %d states: the forecast takes %v", method, states, s)
			}
			var tooMuch *MemoryError
			needed := int64(0)
			if err == nil {
				needed = m.AtMost
			} else if errors.As(err, &tooMuch) {
				needed = tooMuch.Needed
			} else {
				t.Fatal(err)
			}
			if least := 8 * math.Pow(float64(states), 2); float64(needed) < least {
				t.Errorf("%s, %d states: %d bytes, the weights alone are %.0f", method, states, needed, least)
			}
		}
	}
}

// TestMemoryIsBounded: Fit and Measure refuse what is too large before it is made, name
// the largest part, and do it where they are allowed to.
func TestMemoryIsBounded(t *testing.T) {
	p := manyStates(t, 500)
	p.Model = &crf.Model{Schema: *p.Data[0].Schema(), Layout: p.Data[0].Schema().Layout()}
	p.Model.Weights = make([]float64, p.Model.Layout.Size)
	for _, method := range Methods {
		forecast := oracle.Must(Forecast(p, Settings{Method: method, MaxIterations: 1}))(t)
		s := Settings{Method: method, Memory: forecast.AtMost - 1, MaxIterations: 1}
		_, fitErr := Fit(context.Background(), p, s)
		_, measureErr := Measure(p, s)
		for _, err := range []error{fitErr, measureErr} {
			var tooMuch *MemoryError
			if !errors.As(err, &tooMuch) || tooMuch.Needed != forecast.AtMost || tooMuch.Allowed != s.Memory || len(tooMuch.Items) == 0 {
				t.Fatalf("%s: %v", method, err)
			}
			oracle.WantError(t, err, tooMuch.Items[0].Name, "Settings.Memory") // what is large, and what to do
		}
		s.Memory++
		oracle.Must(Measure(p, s))(t)
		s.Memory = -1
		oracle.Must(Measure(p, s))(t)
	}
}

// TestVectorsOfVisits: where F is a bound automatic steps have vectors for visits, and else none; the forecast knows.
func TestVectorsOfVisits(t *testing.T) {
	for counting, bounded := range map[string]bool{"convex": true, "bethe": false} {
		p := problems(t)["plain"].with(counting)
		s := Settings{Method: BBPL, Assign: blocksOf(3)}.Resolved()
		l := must(newLearner(&p, &s))
		e, items := l.auto.incremental, l.memory().Items
		oracle.Equal(t, len(e.mean) > 0, bounded, "%s: whether there are vectors for visits", counting)
		at := slices.IndexFunc(items, func(i MemoryItem) bool { return i.Name == "vectors of automatic steps" })
		want := 8 * (9*p.Model.Layout.Size + len(e.mean) + len(e.gradient) + len(e.weightsAt))
		oracle.Equal(t, items[at].Bytes, int64(want), "%s: bytes of vectors", counting)
		l.close()
	}
}
