package runfolder

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/oracle"
)

// equalMetrics compares records; NaN equals NaN.
func equalMetrics(a, b Metric) bool {
	return cmp.Equal(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

// fullMetric is a record in which everything is known.
func fullMetric(iter int) Metric {
	v := float64(iter) + 0.1
	return Metric{
		Iter: iter, Pass: v, WallS: 2 * v, Block: iter % 7, Objective: -v, GradNorm: 1 / (v + 1), ThetaDist: 1e-9 * v,
		Step: 0.5, BPSweeps: 10, BPResidual: 5e-324,
		Eval: map[string]float64{"test.accuracy": 0.75, "dev set.mean iou": v},
	}
}

// writeMetrics writes records to a new file.
func writeMetrics(t *testing.T, metrics ...Metric) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), MetricsFile)
	w := appending(t, path, math.MaxInt)
	for _, m := range metrics {
		oracle.OK(t, w.Write(m))
	}
	oracle.OK(t, w.Close())
	return path
}

// appending opens the metrics file at path behind the record of an iteration.
func appending(t *testing.T, path string, last int) *MetricsWriter {
	t.Helper()
	run := oracle.Must(Open(filepath.Dir(path)))(t)
	defer run.Close()
	return oracle.Must(run.Metrics(last))(t)
}

// checkMetrics fails unless the file at path holds these records.
func checkMetrics(t *testing.T, path string, want ...Metric) {
	t.Helper()
	got := oracle.Must(ReadMetrics(path))(t)
	oracle.MustEqual(t, len(got), len(want), "records")
	for i := range want {
		if !equalMetrics(got[i], want[i]) {
			t.Errorf("record %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// appendText appends text to the file at path.
func appendText(t *testing.T, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	oracle.OK(t, os.WriteFile(path, append(old, text...), 0o666))
}

func TestMetricsRoundTrip(t *testing.T) {
	sparse := NewMetric(3)
	sparse.Objective = math.MaxFloat64
	sparse.Eval = map[string]float64{"quoted \"set\"\n.ünï": 1, "<x>.y": 2}
	checkMetrics(t, writeMetrics(t, fullMetric(0), NewMetric(1), sparse, fullMetric(4)), fullMetric(0), NewMetric(1), sparse, fullMetric(4))
}

func TestMetricsText(t *testing.T) {
	m := NewMetric(12)
	m.Pass, m.WallS, m.Objective, m.GradNorm = 0.5, math.Inf(1), math.NaN(), 1e-7
	m.Block = 0
	m.Eval = map[string]float64{"test.iou": 0.5, "test.bad": math.NaN()}
	got, err := json.Marshal(m)
	const want = `{"block":0,"eval.test.iou":0.5,"grad_norm":1e-7,"iter":12,"pass":0.5}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	var back Metric
	if err := json.Unmarshal(got, &back); err != nil || back.Pass != 0.5 || !math.IsNaN(back.WallS) || back.Eval["test.iou"] != 0.5 {
		t.Errorf("read back %+v, %v", back, err)
	}
	full := oracle.Must(json.Marshal(fullMetric(1)))(t)
	for _, name := range []string{"iter", "pass", "wall_s", "block", "objective", "grad_norm", "theta_dist", "step", "bp_sweeps", "bp_residual", "eval.test.accuracy"} {
		oracle.Contains(t, string(full), `"`+name+`":`)
	}
}

func TestReadMetricsForgives(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	appendText(t, path, " { \"iter\" : 1 , \"step\":null,\"note\":\"a } b\",\"flag\":true,\"eval.a.b\":null}\r\n\n  \n{\"\\u0069ter\":2}\n{\"iter\":3,\"pa")
	checkMetrics(t, path, NewMetric(1), NewMetric(2))
}

func TestReadLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	long := strings.Repeat("long", readBuffer)
	appendText(t, path, "{\"note\":\""+long+"\",\"iter\":1}\n{\"iter\":2,\"note\":\""+long+"\"}\n{\"iter\":3}")
	checkMetrics(t, path, NewMetric(1), NewMetric(2), NewMetric(3))
}

func TestReadMetricsErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"iter":1,"pa`, "unexpected end"},
		{`{}`, "no iter"},
		{`{"pass":1}`, "no iter"},
		{`{"iter":-1}`, "no iter"},
		{`{"iter":1.5}`, "iter is"},
		{`{"iter":null}`, "no iter"},
		{`{"iter":1,"step":"fast"}`, "step is"},
		{`{"iter":1,"step":NaN}`, "'N'"},
		{`{"iter":1,"step":1e999}`, "step is"},
		{`{"iter":1,"eval.test.iou":true}`, "eval.test.iou is"},
		{`{"iter":1,"step":[1]}`, "step is"},
		{`{"iter":1} {"iter":2}`, "after top-level value"},
		{`{"iter":,}`, "beginning of value"},
		{`[1]`, "JSON object"},
		{`iter,pass`, "JSON object"},
	} {
		path := filepath.Join(t.TempDir(), MetricsFile)
		appendText(t, path, "{\"iter\":0}\n\n"+c.line+"\n{\"iter\":9}\n")
		got, err := ReadMetrics(path)
		var bad *LineError
		if !errors.As(err, &bad) || bad.Line != 3 || !strings.HasPrefix(err.Error(), path+":3: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want line 3 and %q", c.line, err, c.want)
		}
		oracle.Equal(t, len(got), 1, "%s: records before the error", c.line)
	}
	if _, err := ReadMetrics(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestAppendAfterTornLine(t *testing.T) {
	for _, torn := range []string{"", "{\"iter\":9,\"pass\":1.", "{\"iter\":9", "\x00\x00\x00", strings.Repeat("x", 3*readBuffer)} {
		path := writeMetrics(t, fullMetric(0))
		appendText(t, path, torn)
		w := appending(t, path, math.MaxInt)
		oracle.OK(t, errors.Join(w.Write(fullMetric(1)), w.Close()))
		checkMetrics(t, path, fullMetric(0), fullMetric(1))
	}
	whole := filepath.Join(t.TempDir(), MetricsFile) // whole but without its line end
	appendText(t, whole, `{"iter":5}`)
	w := appending(t, whole, math.MaxInt)
	oracle.OK(t, errors.Join(w.Write(NewMetric(6)), w.Close()))
	checkMetrics(t, whole, NewMetric(5), NewMetric(6))
}

func TestTruncateAfter(t *testing.T) {
	path := writeMetrics(t, fullMetric(0), fullMetric(5))
	appendText(t, path, "{\"iter\":7,\"from the future\":\"kept\"}\n{\"iter\":8}\n{\"iter\":9,")
	w := appending(t, path, 7)
	oracle.OK(t, errors.Join(w.Write(fullMetric(8)), w.Close()))
	checkMetrics(t, path, fullMetric(0), fullMetric(5), NewMetric(7), fullMetric(8))
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "from the future") {
		t.Errorf("an unknown field was lost: %s, %v", text, err)
	}
	onlyFile(t, filepath.Dir(path), MetricsFile)
}

// TestTruncateAfterBadLine: a line that is no record keeps nobody from going on.
func TestTruncateAfterBadLine(t *testing.T) {
	path := writeMetrics(t, fullMetric(0))
	appendText(t, path, "nonsense\n{\"iter\":1}\n{\"iter\":1}\n{\"iter\":4}\n")
	oracle.OK(t, appending(t, path, 7).Close())
	checkMetrics(t, path, fullMetric(0), NewMetric(1), NewMetric(4))
}

func TestMetricsWriterRefuses(t *testing.T) {
	run := newRun(t)
	w := oracle.Must(run.Metrics(-1))(t)
	oracle.WantError(t, w.Write(Metric{Iter: -1}), "the record has no iter, want a whole number, at least 0")
	oracle.OK(t, errors.Join(w.Write(NewMetric(0)), w.Close(), w.Close()))
	if err := w.Write(NewMetric(1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Flush after Close: %v", err)
	}
	checkMetrics(t, run.Path(MetricsFile), NewMetric(0))
}

// FuzzReadMetrics checks that no input makes the reader panic, and that whatever
// it accepts is written and read back unchanged.
func FuzzReadMetrics(f *testing.F) {
	for _, text := range []string{
		"{\"iter\":1,\"pass\":0.5}\n{\"iter\":2,\"eval.test.iou\":1e-3}\n",
		"{\"iter\":1,\"step\":null,\"note\":\"x\\n\"}\r\n\n{\"iter\":3,",
		"{\"\\u0069ter\":0,\"eval.\xff\":1,\"block\":4}",
		"{\"iter\":1,\"step\":1e308}\n\x00\x00",
		"[]\n", "{}\n", "{\"iter\":1}{", "",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, MetricsFile)
		oracle.OK(t, os.WriteFile(path, text, 0o666))
		got, err := ReadMetrics(path)
		if err != nil {
			var bad *LineError
			if !errors.As(err, &bad) || bad.Line < 1 {
				t.Fatalf("an error without a line: %v", err)
			}
			return
		}
		var again []byte
		for _, m := range got {
			again = append(append(again, oracle.Must(m.MarshalJSON())(t)...), '\n')
		}
		oracle.OK(t, os.WriteFile(path, again, 0o666))
		checkMetrics(t, path, got...)
	})
}

// followed is what one call of Next hands over: iterations, −1 for "anew".
func followed(t *testing.T, f *Follower) (iterations []int, wrong error) {
	t.Helper()
	wrong = f.Next(func() { iterations = append(iterations, -1) }, func(m *Metric) { iterations = append(iterations, m.Iter) })
	return iterations, wrong
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	f := Follow(path)
	// A step does something to the file, and Next then hands over what is wanted.
	write := func(text string) func() error {
		return func() error { return os.WriteFile(path, []byte(text), 0o666) }
	}
	more := func(text string) func() error {
		return func() error { appendText(t, path, text); return nil }
	}
	first := `{"iter":0,"wall_s":0.25}` + "\n"
	for i, step := range []struct {
		do    func() error
		want  []int
		wrong string
	}{
		{do: func() error { return nil }}, // no file yet
		{do: write("")},
		{do: write(`{"iter":0,"wall`)}, // torn
		{do: write(first), want: []int{0}},
		{do: func() error { return nil }},
		{do: more(`{"iter":1}` + "\n\n" + `{"iter":2}`), want: []int{1}},
		{do: more("\n"), want: []int{2}},
		{do: more(`{"iter":}` + "\n" + `{"iter":3}` + "\n"), want: []int{3}, wrong: ":5: "},
		{do: write(first + `{"iter":1}` + "\n"), want: []int{-1, 0, 1}}, // shorter
		{do: func() error { // as Metrics does: the same beginning, another file
			other := path + "x"
			return errors.Join(os.WriteFile(other, []byte(`{"iter":0,"wall_s":0.5}`+"\n"+`{"iter":2}`+"\n"+`{"iter":4}`+"\n"), 0o666), os.Rename(other, path))
		}, want: []int{-1, 0, 2, 4}},
		{do: more(`{"iter":5,"wall_s":1.25}` + "\n"), want: []int{5}},
		{do: func() error { return os.Remove(path) }, want: []int{-1}},
		{do: write(first), want: []int{0}},
	} {
		oracle.OK(t, step.do())
		got, wrong := followed(t, f)
		oracle.Equal(t, got, step.want, "step %d", i)
		if (wrong == nil) != (step.wrong == "") || wrong != nil && !strings.Contains(wrong.Error(), path+step.wrong) {
			t.Errorf("step %d: the error is %v, want %q", i, wrong, step.wrong)
		}
	}
}

// TestMetricsReachTheFile: a slow run's records can be followed before its next checkpoint.
func TestMetricsReachTheFile(t *testing.T) {
	path := writeMetrics(t)
	w := appending(t, path, math.MaxInt)
	defer w.Close()
	f := Follow(path)
	for i, want := range [][]int{{0}, nil, {1, 2}} {
		w.flushed = time.Now().Add(time.Hour) // so that no machine is too slow
		if want != nil {
			w.flushed = time.Now().Add(-flushEvery) // in the place of waiting
		}
		oracle.OK(t, w.Write(NewMetric(i)))
		if got, err := followed(t, f); err != nil || !slices.Equal(got, want) {
			t.Errorf("after record %d: %v, %v, want %v", i, got, err, want)
		}
	}
}

// TestLongLine: a line without an end is refused, and is not kept.
func TestLongLine(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{longestLine - 100: false, longestLine + 1: true} {
		path := filepath.Join(t.TempDir(), MetricsFile)
		line := `{"iter":1}` + strings.Repeat(" ", size-10) + "\n"
		oracle.OK(t, fileio.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, line+line); return err }))
		_, err := ReadMetrics(path)
		var wrong *LineError
		oracle.Equal(t, errors.As(err, &wrong) && wrong.Line == 1 && errors.Is(err, errLongLine), want,
			"%d bytes: %v is a refusal", size, err)
	}
}
