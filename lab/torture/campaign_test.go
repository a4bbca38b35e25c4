//go:build linux

package torture

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

var (
	full = flag.Bool("full", false, "all trials of every attack, for hours, and not a few of each")
	seed = flag.Uint64("seed", 1, "of everything that trials draw")
)

// work is a folder for what all tests share.
var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "blockbp-torture-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(work)
	os.Exit(code)
}

// campaign is the command under attack, with what attacks begin with.
type campaign struct {
	ctx     context.Context
	blockbp string // path of the command
	seed    uint64
	sets    string // folder of the data sets
}

// prepared builds the command as it stands, and the data sets, once for all tests. Every command
// that is started from then on has limited memory.
var prepared = sync.OnceValues(func() (*campaign, error) {
	c := &campaign{
		ctx: context.Background(), seed: *seed,
		blockbp: filepath.Join(work, "blockbp"), sets: filepath.Join(work, "data"),
	}
	build := exec.Command("go", "build", "-o", c.blockbp, "./cmd/blockbp")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", build, err, out)
	}
	if err := limitMemory(); err != nil {
		return nil, err
	}
	return c, c.makeData(c.sets)
})

// built is a campaign against the command as it stands.
func built(tb testing.TB) *campaign {
	tb.Helper()
	c, err := prepared()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// attack makes the trials of an attack, each as a test of its own that has its number for a name:
// a few, or with -full many. What setup makes in its folder the trials share.
func attack(t *testing.T, few, many int, setup func(c *campaign, dir string) (func(t *trial), error)) {
	if testing.Short() {
		t.Skip("skipped with -short, as attacks take a minute: go test -C lab ./torture makes them, and so does .ci/run")
	}
	c := built(t)
	do := oracle.Must(setup(c, t.TempDir()))(t)
	if *full {
		few = many
	}
	var void, judged atomic.Int32
	for n := range few {
		t.Run(strconv.Itoa(n), func(one *testing.T) {
			one.Parallel()
			if attempt(one, c, t.Name(), n, do) {
				judged.Add(1)
			} else {
				void.Add(1)
			}
		})
	}
	t.Cleanup(func() {
		if n := void.Load(); n > 0 {
			t.Logf("%d of %d trials came to nothing", n, n+judged.Load())
		}
		if void.Load() > judged.Load() {
			t.Error("most trials came to nothing: the attack hardly tests anything")
		}
	})
}

// attempt makes a trial and fails the test where it does. One that comes to nothing, such as a
// kill after the run has ended, is made again, and in the end not judged, as attempt then reports: attack counts them.
func attempt(t *testing.T, c *campaign, attack string, n int, do func(t *trial)) (judged bool) {
	t.Helper()
	one := c.newTrial(attack, n, filepath.Join(t.ArtifactDir(), "trial"))
	const most = 3
	for range most {
		if one.try(do); !one.void {
			break
		}
	}
	if one.fault != "" {
		t.Errorf("%s\n%s", one.fault, strings.Join(one.log, "\n"))
	}
	return !one.void
}

// newTrial is trial n of an attack, with its own source of randomness and folder.
func (c *campaign) newTrial(attack string, n int, dir string) *trial {
	h := fnv.New64a()
	io.WriteString(h, attack)
	return &trial{c: c, n: n, dir: dir, rng: rand.New(rand.NewPCG(c.seed, h.Sum64()+uint64(n)))}
}
