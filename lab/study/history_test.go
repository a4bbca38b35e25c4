package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// claimsFile reads claims.json.
func claimsFile(t *testing.T, dir string) (o Outcome) {
	t.Helper()
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "claims.json"))), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestPageOfAllRuns: a run in a folder that has others' studies keeps them on the page,
// seeds that were not measured take nothing away from those that were, and what cannot
// be shown leaves the page alone.
func TestPageOfAllRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	folder, ctx := must(OpenFolder(dir)), context.Background()
	one := Settings{Scale: Tiny, Seeds: 1}
	first := must(Run(ctx, []*Study{fig3()}, one, folder, nil))
	second := must(Run(ctx, []*Study{theorem1()}, one, folder, nil))
	if !slices.Equal(second.Studies, []string{"theorem1"}) {
		t.Errorf("the second run tells of %q", second.Studies)
	}
	all := claimsFile(t, dir)
	if len(all.Claims) != len(first.Claims)+len(second.Claims) || !slices.Equal(all.Studies, []string{"fig3", "theorem1"}) || !slices.Equal(all.Asked, []string{"theorem1"}) {
		t.Errorf("claims.json has %d claims of %q, asked for %q", len(all.Claims), all.Studies, all.Asked)
	}
	for _, c := range all.Claims {
		if !strings.HasPrefix(c.Name, c.Study+":") {
			t.Errorf("%q is said to be of %s", c.Name, c.Study)
		}
	}
	page := string(must(os.ReadFile(filepath.Join(dir, pageFile))))
	if !strings.Contains(page, "asked for theorem1") || !strings.Contains(page, "fig3: ") {
		t.Error("the page does not tell of both")
	}
	more := must(Show([]*Study{fig3()}, Settings{Scale: Tiny, Seeds: 2}, folder))
	if len(more.Claims) != len(first.Claims) || len(more.NotRun) != 1 || !strings.Contains(more.NotRun[0], "2 of 4 parts") {
		t.Errorf("with a seed more: %d claims, %q", len(more.Claims), more.NotRun)
	}
	before := must(os.ReadFile(filepath.Join(dir, "claims.json")))
	nothing := must(Show([]*Study{fig2()}, one, folder))
	if len(nothing.Studies) != 0 || !bytes.Equal(before, must(os.ReadFile(filepath.Join(dir, "claims.json")))) {
		t.Errorf("nothing was measured, but told of: %q", nothing.Studies)
	}
	testResume(t, dir)
}

// testResume: what is not asked for is as in the folder, which has one scale.
func testResume(t *testing.T, dir string) {
	t.Helper()
	if s := must(Resume(dir, Settings{})); s.Scale != Tiny || s.Seeds != 1 {
		t.Errorf("resumed with %+v", s)
	}
	if s := must(Resume(dir, Settings{Scale: Tiny, Seeds: 3})); s.Seeds != 3 {
		t.Errorf("resumed with %+v", s)
	}
	var other *ScaleError
	if _, err := Resume(dir, Settings{Scale: Paper}); !errors.As(err, &other) || other.Has != Tiny {
		t.Errorf("another scale: %v", err)
	}
	if s := must(Resume(t.TempDir(), Settings{})); s.Scale != Small {
		t.Errorf("in a new folder: %+v", s)
	}
}

// TestWhereMeasured: the page names the machines of the parts, not the one that draws it.
func TestWhereMeasured(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	folder, s := must(OpenFolder(dir)), Settings{Scale: Tiny}
	must(Run(context.Background(), []*Study{theorem1()}, s, folder, nil))
	text := func() string {
		must(Show([]*Study{theorem1()}, s, folder))
		return string(must(os.ReadFile(filepath.Join(dir, pageFile))))
	}
	if here := hereAndNow(); !strings.Contains(text(), here.Go) || here.Go == "" || here.Cores == 0 {
		t.Errorf("the page does not name %+v", here)
	}
	parts := theoremParts(s)
	kept := must(readPart(folder, &parts[0]))
	kept.Environment.CPU, kept.Environment.Cores, kept.Environment.Clock = "Abacus", 77, wallClock
	if err := folder.WriteJSON(partPath(&parts[0]), kept); err != nil {
		t.Fatal(err)
	}
	if page := text(); !strings.Contains(page, "1 parts on Abacus, 77 cores") || !strings.Contains(page, "several places") {
		t.Error("the page does not name the other machine")
	}
	if all := must(readAll([]*Study{theorem1()}, s, folder)).environments(parts); len(all) != 2 || all[0].Parts != 1 {
		t.Errorf("environments %+v", all)
	}
	for words, clocks := range map[string][]string{"two kinds": {wallClock, processorClock}, "clock on the wall: ": {wallClock}, "processor time of the process": {processorClock}} {
		var all []measuredIn
		for _, clock := range clocks {
			all = append(all, measuredIn{Environment: Environment{Clock: clock}})
		}
		if got := clockWords(all, false); !strings.Contains(got, words) {
			t.Errorf("%q: %s", clocks, got)
		}
	}
	label := secondsAxis.labelOf(network{{Clock: wallClock}, {Clock: processorClock}, {Clock: wallClock}})
	if label != "seconds (wall and processor time)" || passesAxis.labelOf(nil) != passesAxis.label {
		t.Errorf("the axis is %q", label)
	}
}
