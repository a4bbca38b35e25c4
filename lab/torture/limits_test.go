//go:build linux

package torture

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestLimits: few files and little address space: works, or an error that says what to raise.
func TestLimits(t *testing.T) { attack(t, 16, 120, setupLimits) }

func setupLimits(c *campaign, _ string) (func(t *trial), error) {
	data := c.data("grid")
	return func(t *trial) { tryLimit(t, data) }, nil
}

// tryLimit runs a command with the number of the trial as its limit of open files, or with a
// multiple of a tenth of a GiB of address space.
func tryLimit(t *trial, data string) {
	limit, least := fmt.Sprintf("ulimit -n %d", 4+t.n/2), "open at a time"
	if t.n%2 == 1 {
		tenth := 1 + t.n/2*7%40
		limit, least = fmt.Sprintf("ulimit -v %d", tenth<<20/10), "address space"
		if tenth < 16 && runtime.GOARCH != "amd64" {
			t.skip() // nobody asks before Go begins
		}
	}
	for _, line := range []string{"version", "train " + data + " -o run -q --report=false --max-passes 2",
		"check " + data} {
		r := t.startAs("sh", "-c", limit+` && exec "$0" `+line, t.c.blockbp).end()
		t.whole(r)
		if r.code != 0 && !(r.code == 1 && strings.Contains(r.stderr, least) &&
			strings.Contains(r.stderr, "raise the limit")) {
			t.failf("%s: exit code %d, want 0, or 1 with the limit to raise: %s", r.line, r.code, cut(r.text(), 300))
		}
	}
}
