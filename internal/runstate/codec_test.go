package runstate

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

type keptInner struct {
	Worst float64
	Names [2]string
}

// kept has a field of each kind.
type kept struct {
	keptInner
	count  int
	done   bool
	status string
	points [3]float64
	inner  *keptInner
	vector []float64
	lines  [][]float64
	pairs  [2][]float64
}

// TestCodec: every field comes back by its bits, and vectors are arrays with names.
func TestCodec(t *testing.T) {
	full := func() *kept {
		return &kept{
			keptInner{math.Inf(-1), [2]string{"a", `"b"`}}, math.MinInt, true, "converged",
			[3]float64{math.Copysign(0, -1), math.NaN(), 5e-324}, &keptInner{Worst: 1.0 / 3},
			[]float64{1, math.NaN()}, [][]float64{{2}, {3, 4}}, [2][]float64{{5}, {6}},
		}
	}
	v, arrays, err := Encode("kept", full())
	oracle.OK(t, err)
	names := ""
	for _, a := range arrays {
		names += a.Name + " "
	}
	oracle.Equal(t, names, "kept.vector kept.lines.0 kept.lines.1 kept.pairs.0 kept.pairs.1 ", "names")
	var text Values
	saved, err := json.Marshal(v)
	oracle.OK(t, errors.Join(err, json.Unmarshal(saved, &text)))
	into := &kept{inner: &keptInner{}}
	oracle.OK(t, text.Decode("kept", into))
	want := full()
	want.vector, want.lines, want.pairs = nil, nil, [2][]float64{}
	bits := func(k *kept) (b []uint64) {
		for _, x := range append(k.points[:], k.Worst, k.inner.Worst) {
			b = append(b, math.Float64bits(x))
		}
		return b
	}
	got := bits(into)
	if got[1] = bits(want)[1]; !math.IsNaN(into.points[1]) || !reflect.DeepEqual(got, bits(want)) {
		t.Errorf("%v, want %v", into.points, want.points)
	}
	if into.count != want.count || into.done != want.done || into.status != want.status || into.Names != want.Names {
		t.Errorf("%+v, want %+v", into, want)
	}

	for name, change := range map[string]func(Values){
		"no value":   func(v Values) { delete(v, "kept.count") },
		"more than":  func(v Values) { v["kept.other"] = v["kept.count"] },
		"want a int": func(v Values) { v["kept.count"] = json.RawMessage("1.5") },
		"value \"kept.points.0\" is \"1\", want a float64": func(v Values) { v["kept.points.0"] = json.RawMessage(`"1"`) },
		"is null":  func(v Values) { v["kept.Worst"] = json.RawMessage("null") },
		"is 1e999": func(v Values) { v["kept.Worst"] = json.RawMessage("1e999") },
	} {
		v, _, _ := Encode("kept", full())
		change(v)
		if err := v.Decode("kept", &kept{inner: &keptInner{}}); !errors.Is(err, Err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, state := range map[string]any{
		"want a pointer to a struct": kept{},
		"step.f, a func()":           &struct{ f func() }{},
	} {
		if _, _, err := Encode("step", state); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if v, arrays, err := Encode("step", nil); len(v)+len(arrays) > 0 || err != nil {
		t.Errorf("%v %v %v", v, arrays, err)
	}
}

type embedded struct{ Count int }

// TestFieldsOfOneName: they would overwrite each other.
func TestFieldsOfOneName(t *testing.T) {
	twice := struct {
		embedded
		Count int
	}{embedded{3}, 7}
	if _, _, err := Encode("step", &twice); err == nil || !strings.Contains(err.Error(), "two fields are saved as step.Count") {
		t.Errorf("the error is %v", err)
	}
}
