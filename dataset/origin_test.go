package dataset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/oracle"
)

// path4 are four nodes in a row, without labels.
func path4() *Arrays {
	return &Arrays{Name: "x", Edges: [][2]int32{{0, 1}, {1, 2}, {2, 3}}, NodeFeatures: &Matrix{1, []float64{1, 2, 3, 4}}}
}

// TestCause: what makes a model large is named with its place, and with a doubt where it
// is far above all others.
func TestCause(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *Arrays, m *Manifest, o *Options)
		want   string
	}{
		"label":    {func(a *Arrays, _ *Manifest, _ *Options) { a.Labels = [][]int32{{0, 2, 1, 500}} }, "states: 501, because label 500 at x:labels[3]; the next largest label is 2: is 500 a mistake? -1 means unobserved"},
		"many":     {func(a *Arrays, _ *Manifest, _ *Options) { a.Labels = [][]int32{{0, 300, 499, 500}} }, "states: 501, because label 500 at x:labels[3]"},
		"few":      {func(a *Arrays, _ *Manifest, _ *Options) { a.Labels = [][]int32{{0, 0, 0, 9}} }, ""},
		"one":      {func(a *Arrays, _ *Manifest, _ *Options) { a.Labels = [][]int32{{99, 99, -1, 99}} }, "states: 100, because label 99 at x:labels[0]; is 99 a mistake? -1 means unobserved"},
		"array":    {func(a *Arrays, _ *Manifest, _ *Options) { a.States = []int32{300} }, "states: 300, because x:states says so"},
		"manifest": {func(_ *Arrays, m *Manifest, _ *Options) { m.States = crf.NumberedStates(70) }, "states: 70, because dataset.json says so"},
		"option":   {func(_ *Arrays, _ *Manifest, o *Options) { o.States = []string{"a", "b"} }, ""},
		"bins": {func(a *Arrays, _ *Manifest, o *Options) {
			a.EdgeBins, o.States = []int32{0, 3, 400}, []string{"a", "b"}
		}, "bins: 401, because bin 400 at x:edge_bins[2]; the next largest bin is 3: is 400 a mistake?"},
		"told bins": {func(a *Arrays, m *Manifest, o *Options) {
			a.EdgeBins, m.EdgeBins, o.States = []int32{0, 3, 4}, 400, []string{"a", "b"}
		}, "bins: 400, because dataset.json:edge_bins says so"},
		"untied": {func(a *Arrays, _ *Manifest, o *Options) { a.States, o.Untied = []int32{2, 3, 4, 90}, true }, "states: 90, because x:states[3] says so"},
	} {
		t.Run(name, func(t *testing.T) {
			a, m, o := path4(), Manifest{}, Options{}
			c.change(a, &m, &o)
			set := oracle.Must(FromArrays(m, o, a))(t)
			if _, got := set.Allowed(0); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			// The same is said where it is too much.
			o.Memory = 7
			var large *memory.Error
			if _, err := FromArrays(m, o, a); !errors.As(err, &large) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("with 7 bytes allowed: %v", err)
			}
		})
	}
}

// TestAllowed: what follows from a doubtful number may take little unless somebody says
// so; what does not is as without it.
func TestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		labels   []int32
		states   int32
		doubtful bool
	}{
		"far":            {[]int32{0, 2, 1, 500}, 0, true},
		"near":           {[]int32{0, 300, 499, 500}, 0, false},
		"few":            {[]int32{0, 1, 2, 20}, 0, false},
		"said otherwise": {[]int32{0, 2, 1, 500}, 501, false},
	} {
		a := path4()
		a.Labels = [][]int32{c.labels}
		if c.states > 0 {
			a.States = []int32{c.states}
		}
		set := oracle.Must(FromArrays(Manifest{}, Options{}, a))(t)
		if got, _ := set.Allowed(0); (got != 0) != c.doubtful || got > memory.Doubtful {
			t.Errorf("%s: %d bytes, doubtful: %v", name, got, c.doubtful)
		}
		if got, _ := set.Allowed(4 << 30); got != 4<<30 {
			t.Errorf("%s: %d bytes of what was asked for", name, got)
		}
	}
	// Weights alone can be too many, and in doubt what learns them: nobody waits for a mistake.
	began := time.Now()
	_, err := Open(t.Context(), []string{writeFiles(t, tables("a\t0\t\t0 10000000\nb\t1\t\t1\n", "a\tb\n"))}, Options{})
	if wantError(t, err, "is 10000000 a mistake?"); time.Since(began) > time.Second {
		t.Errorf("an index of 10⁷ took %v", time.Since(began))
	}
	a := path4()
	a.Labels = [][]int32{{0, 2, 1, 12_000}}
	if _, err := FromArrays(Manifest{}, Options{}, a); err == nil || !strings.Contains(err.Error(), "is 12000 a mistake?") {
		t.Errorf("weights of 12001² pairs of states: %v", err)
	}
}

// TestFarNumbersAreDoubted: also where there is memory enough.
func TestFarNumbersAreDoubted(t *testing.T) {
	a := path4()
	a.Labels, a.EdgeBins = [][]int32{{0, 2, 1, 500}}, []int32{0, 1, 70}
	set := oracle.Must(FromArrays(Manifest{}, Options{}, a))(t)
	for _, want := range []string{"is 500 a mistake?", "is 70 a mistake?"} {
		if !strings.Contains(strings.Join(set.Warnings, "\n"), want) {
			t.Errorf("no warning says %q: %q", want, set.Warnings)
		}
	}
}

// TestSharedNames: names of numbers are the same for all who ask, and right beyond what
// is shared.
func TestSharedNames(t *testing.T) {
	for _, n := range []int{0, 1, 12, 3, 1<<16 + 2} {
		names := crf.NumberedStates(n)
		if len(names) != n || n > 0 && (names[0] != "0" || !unnamed(names)) {
			t.Errorf("%d: %d names", n, len(names))
		}
		if grown := append(names, "more"); unnamed(grown) || !unnamed(crf.NumberedStates(n+1)) {
			t.Errorf("%d: appending to them changes those of others", n)
		}
	}
}
