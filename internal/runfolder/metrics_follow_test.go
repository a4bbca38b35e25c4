package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

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
		{do: write(first + `{"iter":1}` + "\n"), want: []int{-1, 0, 1}},                                              // shorter
		{do: write(`{"iter":0,"wall_s":0.5}` + "\n" + `{"iter":2}` + "\n{\n"), want: []int{-1, 0, 2}, wrong: ":3: "}, // longer, and another
		{do: func() error { // as TruncateAfter does: the same beginning, another file
			other := path + "x"
			return errors.Join(os.WriteFile(other, []byte(`{"iter":0,"wall_s":0.5}`+"\n"+`{"iter":2}`+"\n"+`{"iter":4}`+"\n"), 0o666), os.Rename(other, path))
		}, want: []int{-1, 0, 2, 4}},
		{do: more(`{"iter":5,"wall_s":1.25}` + "\n"), want: []int{5}},
		// A resumed run has cut the same file short, and has written more than was there since:
		{do: write(`{"iter":0,"wall_s":0.5}` + "\n" + `{"iter":2}` + "\n" + `{"iter":4}` + "\n" + `{"iter":5,"wall_s":1.50}` + "\n" + `{"iter":6}` + "\n"), want: []int{-1, 0, 2, 4, 5, 6}},
		{do: func() error { return os.Remove(path) }, want: []int{-1}},
		{do: write(first), want: []int{0}},
	} {
		oracle.OK(t, step.do())
		got, wrong := followed(t, f)
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d: got %v, want %v", i, got, step.want)
		}
		if (wrong == nil) != (step.wrong == "") || wrong != nil && !strings.Contains(wrong.Error(), path+step.wrong) {
			t.Errorf("step %d: the error is %v, want %q", i, wrong, step.wrong)
		}
	}
}

// TestFollowLongLine: what is no metrics file takes no more memory than a line may.
func TestFollowLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	oracle.OK(t, os.WriteFile(path, make([]byte, 2*longestLine), 0o666))
	if _, err := followed(t, Follow(path)); !errors.Is(err, errLongLine) {
		t.Errorf("the error is %v", err)
	}
}

// TestMetricsReachTheFile: a slow run's records can be followed before its next
// checkpoint.
func TestMetricsReachTheFile(t *testing.T) {
	path := writeMetrics(t)
	w := oracle.Must(OpenMetrics(path))(t)
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
