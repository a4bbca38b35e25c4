package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// TestRunTiny runs every study at a size for tests: all files are there, claims name
// their numbers, and nothing would be measured again but a part that was damaged.
func TestRunTiny(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := Settings{Scale: Tiny, Threads: 2}
	folder := must(OpenFolder(dir))
	parts := len(distinct(All(), s))
	var told []string
	say := func(text string) { told = append(told, text) }
	o := must(Run(t.Context(), All(), s, folder, say))
	if len(told) != parts+1 || told[0] != fmt.Sprintf("%d parts, 0 of them kept from before", parts) {
		t.Errorf("told %q of %d parts", told, parts)
	}
	for _, c := range o.Claims {
		if c.Name == "" || c.Paper == "" || c.Measured == "" {
			t.Errorf("claim %+v", c)
		}
	}
	for _, name := range []string{
		"study.html", "claims.json", "env.json", "fig1/grid-work.svg", "fig2/grid-6-distance-passes.svg",
		"fig3/ba-40-common-seconds.csv",
		"fig4/fig4.json", "fig4/grid-best-passes.svg", "steps/means.csv", "steps/well-passes.svg", "theorem1/courses.csv",
		"theorem1/templated-bound.svg",
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var inUse *runfolder.InUseError
	if _, err := OpenFolder(dir); !errors.As(err, &inUse) {
		t.Errorf("the folder of a run that goes on: %v", err)
	}
	oracle.OK(t, folder.Close())
	folder = must(OpenFolder(dir))
	defer folder.Close()
	told = nil
	if again := must(Run(t.Context(), All(), s, folder, say)); len(told) != 1 || cmp.Diff(o.Claims, again.Claims) != "" {
		t.Errorf("a second run is told %q, and claims\n%s", told, cmp.Diff(o.Claims, again.Claims))
	}
	damaged := must(filepath.Glob(filepath.Join(dir, partFolder, "theorem1-templated-*")))
	if len(damaged) != 1 {
		t.Fatalf("parts %q", damaged)
	}
	oracle.OK(t, os.WriteFile(damaged[0], []byte("{\"half"), 0o600))
	told = nil
	again := must(Run(t.Context(), []*Study{theorem1()}, s, folder, say))
	if len(told) != 2 {
		t.Errorf("where a part was damaged it is told %q", told)
	}
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

// silent is told of progress.
func silent(string) {}

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
	oracle.OK(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600))
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("the error is %v", err)
	}
}

// TestInterrupted: what was measured is kept, and told of with what is missing.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	folder := must(OpenFolder(dir))
	defer folder.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Run(ctx, []*Study{theorem1()}, Settings{Scale: Tiny}, folder, func(text string) {
		if strings.HasPrefix(text, "[2/2]") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted run was taken for a whole one: %v", err)
	}
	var o Outcome
	oracle.OK(t, json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "claims.json"))), &o))
	if len(o.Claims) != 4 || len(o.NotRun) != 1 || !strings.Contains(o.NotRun[0], "1 of 2 parts") {
		t.Errorf("outcome %+v", o)
	}
}
