package job

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// A report calls weights an optimum only where the run converged.
func TestReportClaimsOnlyWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		status learn.Status
		claims bool
	}{{learn.StationaryPoint, true}, {learn.Converged, true}, {learn.PassLimit, false}, {learn.TimeLimit, false}, {learn.Interrupted, false}} {
		text := (&Summary{Ending: Ending{Status: c.status}}).verdict()
		oracle.Equal(t, strings.HasPrefix(text, "stationary point: "), c.claims, "%s: %q", c.status, text)
		if !strings.Contains(text, "not known to be convex") || strings.Contains(text, "this stationary point") != c.claims {
			t.Errorf("%s: %q; does it speak of a stationary point? want %v", c.status, text, c.claims)
		}
		if c.status == learn.StationaryPoint {
			continue // it is never of a convex objective
		}
		convex := (&Summary{Ending: Ending{Status: c.status, Convex: true}}).verdict()
		if !strings.HasPrefix(convex, string(c.status)+": ") || strings.Contains(convex, "stationary") {
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

// TestCommandLine: what a report gives to copy asks for what the user asked for, as a shell
// reads it, and for nothing of the program's own choice.
func TestCommandLine(t *testing.T) {
	c := Config{Data: []string{"/data/my pictures", "/b.npz"}, Options: map[string]Option{
		"counting": {Value: "trw", Source: "flag"}, "prior": {Value: 2.5, Source: "config"}, "no-edges": {Value: true, Source: "flag"}, "seed": {Value: 7, Source: SourceDefault},
		"method": {Value: "bbpl", Source: sourceAuto + "small"}, "eval": {Value: []string{"dev=it's.txt"}, Source: "flag"}, "out": {Value: "/run", Source: "flag"}, "tol": {Source: "flag"},
	}}
	const want = `blockbp train '/data/my pictures' /b.npz --counting trw --eval 'dev=it'\''s.txt' --no-edges=true --prior 2.5`
	oracle.Equal(t, c.commandLine(), want, "the command")
	oracle.Equal(t, (&Config{}).commandLine(), "", "command of data in memory")
}

// TestCurves: the objective is shown from its last value; zero, and what is not known, are left out.
func TestCurves(t *testing.T) {
	course := func(objectives ...float64) (metrics []runfolder.Metric) {
		for i, objective := range objectives {
			m := runfolder.NewMetric(i)
			m.Pass, m.Objective = float64(i), objective
			metrics = append(metrics, m)
		}
		return metrics
	}
	a, b := course(9, 5, 4), course(8, 7)
	a[0].Suboptimality, a[1].Suboptimality = 3, 2
	b[0].Eval = map[string]float64{"dev.set.accuracy": 0.25, "dev.set.log_loss": 2}
	b[1].Eval = map[string]float64{"dev.set.accuracy": 0.5, "dev.set.log_loss": 1, "dev.set.iou": 1}
	of := func(f namedFigure) report.Curves { return f.Figure.(report.Curves) }
	all := curves(a)
	if len(all) != 1 || all[0].File != "convergence-passes" || !of(all[0]).LogY || len(of(all[0]).Series) != 2 {
		t.Fatalf("the figures are %+v", all)
	}
	first, bound := of(all[0]).Series[0], of(all[0]).Series[1]
	if len(first.Y) != 2 || first.Y[0] != 5 || first.Y[1] != 1 || first.X[1] != 1 {
		t.Errorf("the curve is %+v", first)
	}
	if !bound.Dashed || len(bound.Y) != 2 || bound.Y[1] != 2 || !strings.Contains(all[0].Caption, "Dashed") {
		t.Errorf("the bound is %+v", bound)
	}
	if all = curves(b); len(all) != 2 || all[0].File != "accuracy-passes" ||
		of(all[0]).Series[0].Name != "dev.set" || of(all[0]).Series[0].Y[1] != 0.5 {
		t.Errorf("evaluations are %+v", all)
	}
	oracle.Equal(t, len(curves(course(8))), 0, "curves of a single point")
}

// TestSideBySide: colours are those of names of classes, of which models may have others, in another order.
func TestSideBySide(t *testing.T) {
	of := func(y int32, classes ...string) *Scored {
		return &Scored{Classes: classes, Pictures: []report.PanelRow{{W: 1, H: 1, Labels: []report.PixelLabels{
			{Name: "truth", Labels: []int32{0}}, {Name: "prediction", Labels: []int32{y}}}}}}
	}
	panel := sideBySide([]*Scored{of(1, "a", "b"), of(0, "b", "a"), of(2, "a", "b", "c")})
	oracle.Equal(t, strings.Join(panel.Names, ""), "abc", "classes")
	for j, want := range []int32{0, 1, 1, 2} {
		oracle.Equal(t, panel.Rows[0].Labels[j].Labels[0], want, "label %d", j)
	}
	oracle.Contains(t, panel.Element(), "<image")
}

// TestDraw: pictures of an evaluation are written while a training goes on, unless no plots are wanted.
func TestDraw(t *testing.T) {
	for _, folder := range []Folder{{}, {NoReport: true}, {NoPlots: true}} {
		files := oracle.Must(runfolder.Create(filepath.Join(t.TempDir(), "run")))(t)
		r := &run{files: files, folder: &folder}
		s := &Scored{Name: "dev", Classes: []string{"a", "b"}, Pictures: []report.PanelRow{{W: 2, H: 1,
			Labels: []report.PixelLabels{{Name: "truth", Labels: []int32{0, 1}}}}}}
		oracle.OK(t, errors.Join(r.draw(s), r.draw(&Scored{Name: "none"}), files.Close()))
		_, err := os.Stat(files.Path("plots/pictures-dev.svg"))
		oracle.Equal(t, err == nil, !folder.NoReport && !folder.NoPlots, "%+v: %v", folder, err)
	}
	if err := (&run{}).draw(&Scored{}); err != nil {
		t.Errorf("a run in memory: %v", err)
	}
}
