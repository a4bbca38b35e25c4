package job

import (
	"math"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/learn"
)

// A report calls its values exact only where the inference settled, and its
// weights an optimum only where the run converged.
func TestReportClaimsOnlyWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		name           string
		result         learn.Result
		values, absent string
	}{
		{"settled", learn.Result{Checked: true, InferenceConverged: true, Residual: 1e-9}, "are exact", "approximate"},
		{"not settled", learn.Result{Checked: true, Residual: 0.125}, "had not settled when it ended (the largest change of a message in its last pass was 0.125)", "exact"},
		{"not checked", learn.Result{Residual: math.NaN()}, "running estimates", "exact"},
	} {
		if text := sourceOfValues(&c.result); !strings.Contains(text, c.values) || strings.Contains(text, c.absent) {
			t.Errorf("%s: %q; want %q in it and not %q", c.name, text, c.values, c.absent)
		}
	}
	for _, settled := range []bool{false, true} {
		text := verdictText(&learn.Result{Status: learn.PassLimit, Checked: true, InferenceConverged: settled}, false)
		if strings.Contains(text, "had not settled") == settled {
			t.Errorf("the inference settled: %v, and the verdict is %q", settled, text)
		}
	}
	for _, c := range []struct {
		status learn.Status
		claims bool
	}{{learn.StationaryPoint, true}, {learn.Converged, true}, {learn.PassLimit, false}, {learn.TimeLimit, false}, {learn.Interrupted, false}} {
		text := verdictText(&learn.Result{Status: c.status}, false)
		if strings.HasPrefix(text, "stationary point: ") != c.claims {
			t.Errorf("%s: %q", c.status, text)
		}
		if !strings.Contains(text, "not known to be convex") || strings.Contains(text, "this stationary point") != c.claims {
			t.Errorf("%s: %q; does it speak of a stationary point? want %v", c.status, text, c.claims)
		}
		if c.status == learn.StationaryPoint {
			continue // it is never of a convex objective
		}
		if convex := verdictText(&learn.Result{Status: c.status, Convex: true}, false); !strings.HasPrefix(convex, string(c.status)+": ") || strings.Contains(convex, "stationary") {
			t.Errorf("%s: %q, of a convex objective", c.status, convex)
		}
	}
}

// Only a negative gap that rounding of its two sides explains is shown as zero.
func TestGap(t *testing.T) {
	for _, c := range []struct{ gap, objective, want float64 }{
		{-7e-13, 12979, 0}, {-7e-13, -12979, 0}, {7e-13, 12979, 7e-13}, {-1e-6, 12979, -1e-6}, {-7e-13, 0.1, -7e-13}, {0.5, 1, 0.5},
	} {
		if got := numeric.Gap(c.gap, c.objective); got != c.want || math.Signbit(got) != (c.want < 0) {
			t.Errorf("gap %v of objective %v is shown as %v, want %v", c.gap, c.objective, got, c.want)
		}
	}
	if got := numeric.Gap(math.NaN(), math.NaN()); !math.IsNaN(got) {
		t.Errorf("a gap that is not known is shown as %v", got)
	}
}
