package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// TestRunTiny runs every study at a size for tests: all files are there, claims name
// their numbers, and nothing would be measured again but a part that was damaged.
func TestRunTiny(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := Settings{Scale: Tiny, Threads: 2}
	folder := must(OpenFolder(dir))
	before := must(PlanOf(All(), s, folder))
	told := 0
	o := must(Run(context.Background(), All(), s, folder, func(p Progress) {
		if p.Total != before.Parts || p.Left < 0 {
			t.Errorf("progress %+v of %d parts", p, before.Parts)
		}
		told++
	}))
	if told != before.Parts+1 || before.Kept != 0 || !(before.Seconds > 0) {
		t.Errorf("told %d times of %d parts, %d kept, %v s", told, before.Parts, before.Kept, before.Seconds)
	}
	for _, c := range o.Claims {
		if c.Name == "" || c.Paper == "" || c.Measured == "" || c.Scale != Tiny {
			t.Errorf("claim %+v", c)
		}
	}
	for _, name := range []string{
		"study.html", "claims.json", "env.json", "fig1/grid-work.svg", "fig2/grid-6-distance-passes.png", "fig3/ba-40-common-seconds.csv",
		"fig4/fig4.json", "fig4/grid-best-passes.svg", "steps/means.csv", "steps/well-passes.svg", "theorem1/courses.csv", "theorem1/templated-bound.svg",
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var inUse *runfolder.InUseError
	if _, err := OpenFolder(dir); !errors.As(err, &inUse) {
		t.Errorf("the folder of a run that goes on: %v", err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	folder = must(OpenFolder(dir))
	defer folder.Close()
	if after := must(PlanOf(All(), s, folder)); after.Kept != before.Parts || after.Seconds != 0 {
		t.Errorf("plan of a second run: %+v", after)
	}
	damaged := must(filepath.Glob(filepath.Join(dir, partFolder, "theorem1-templated-*")))
	if len(damaged) != 1 {
		t.Fatalf("parts %q", damaged)
	}
	if err := os.WriteFile(damaged[0], []byte("{\"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after := must(PlanOf(All(), s, folder)); after.Kept != before.Parts-1 {
		t.Errorf("plan where a part was damaged: %+v", after)
	}
	again := must(Run(context.Background(), []*Study{theorem1()}, s, folder, nil))
	var first []Claim
	for _, c := range o.Claims {
		if strings.HasPrefix(c.Name, "theorem1") {
			first = append(first, c)
		}
	}
	if diff := cmp.Diff(first, again.Claims); diff != "" || len(first) == 0 {
		t.Errorf("claims measured again differ:\n%s", diff)
	}
}

// must returns v, and panics where there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestForeignFolder: a folder of other things is left alone.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("the error is %v", err)
	}
}

// TestInterrupted: what was measured is kept.
func TestInterrupted(t *testing.T) {
	folder, err := runfolder.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := Settings{Scale: Tiny}
	_, err = Run(ctx, []*Study{theorem1()}, s, folder, func(p Progress) {
		if p.Done == 1 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("an interrupted run was taken for a whole one")
	}
	plan, err := PlanOf([]*Study{theorem1()}, s, folder)
	if err != nil || plan.Kept != 1 || plan.Parts != 10 || !(plan.Seconds > 0) {
		t.Errorf("plan %+v, %v", plan, err)
	}
	// What there is is told of, and what is missing.
	o, err := Show([]*Study{theorem1()}, s, folder)
	if err != nil || len(o.Claims) != 4 || len(o.NotRun) != 1 || !strings.Contains(o.NotRun[0], "9 of 10 parts") {
		t.Errorf("outcome %+v, %v", o, err)
	}
}
