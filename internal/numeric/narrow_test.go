package numeric

import (
	"go/build"
	"go/types"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNarrowProcessors: a build for a processor whose int has 32 bits ends in narrow.go, and no other does.
func TestNarrowProcessors(t *testing.T) {
	list, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Skip("skipped: ", err, "; the test runs where the go command is")
	}
	for _, platform := range strings.Fields(string(list)) {
		context := build.Default
		context.GOOS, context.GOARCH, _ = strings.Cut(platform, "/")
		narrow := types.SizesFor("gc", context.GOARCH).Sizeof(types.Typ[types.Int]) < 8
		if p, err := context.ImportDir(".", 0); err != nil || slices.Contains(p.GoFiles, "narrow.go") != narrow {
			t.Errorf("%s: a build ends in narrow.go: %v, want %v; %v", platform, !narrow, narrow, err)
		}
	}
}
