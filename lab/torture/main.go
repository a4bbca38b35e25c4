//go:build linux

// Command torture attacks the built command from outside, as a user's disk, colleague or bad
// luck would: it kills and interrupts commands, fills disks, flips bits and starts two at once,
// and holds what comes out against what has to. It prints what it tried, and how to repeat
// every failure:
//
//	go run -C lab ./torture -short
//	go run -C lab ./torture -only flips -seed 7 -trial 37
//
// Every trial draws from a source of its own, made of the seed, the attack and the number of
// the trial; moments of time alone are not repeatable. Files of every format, mutated, are a
// fuzz target of this package, and how time grows with what a file chooses is a test.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// attacks are all classes, in the order of the table.
var attacks = []attack{
	kills, disks, flips, pairs, limits, cancels,
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed of everything drawn")
	flag.DurationVar(&o.time, "time", 0,
		"time for all attacks together, beside what prepares them (default 15m, or 60s with -short)")
	flag.BoolVar(&o.short, "short", false, "a few trials of every attack")
	flag.StringVar(&o.only, "only", "",
		"attacks to try, separated by commas (default all: "+strings.Join(names(), ", ")+")")
	flag.IntVar(&o.trial, "trial", -1, "with -only ATTACK: this trial alone")
	flag.StringVar(&o.keep, "keep", filepath.Join(os.TempDir(), "blockbp-torture"),
		"folder for the files of failed trials")
	flag.StringVar(&o.blockbp, "blockbp", "", "the command to attack (default: built from ./cmd/blockbp)")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "trials at a time")
	flag.Parse()
	if _, err := os.Stat("torture/main.go"); err == nil {
		_ = os.Chdir("..") // from the folder of the laboratory to the root of what is attacked
	}
	switch {
	case o.time == 0 && o.short:
		o.time = time.Minute
	case o.time == 0:
		o.time = 15 * time.Minute
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, o)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

func names() (all []string) {
	for _, a := range attacks {
		all = append(all, a.name)
	}
	return all
}

// run goes through the attacks and reports whether any trial failed.
func run(ctx context.Context, o options) (failed bool, err error) {
	chosen := attacks
	if o.only != "" {
		chosen = nil
		for name := range strings.SplitSeq(o.only, ",") {
			i := slices.Index(names(), name)
			if i < 0 {
				return false, fmt.Errorf("-only %s: want some of %s", name, strings.Join(names(), ", "))
			}
			chosen = append(chosen, attacks[i])
		}
	}
	if flag.NArg() > 0 || o.trial >= 0 && len(chosen) != 1 {
		return false, fmt.Errorf("want options only, and with -trial one attack in -only")
	}
	work, err := os.MkdirTemp("", "blockbp-torture-work-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	if o.blockbp == "" {
		o.blockbp = filepath.Join(work, "blockbp")
		if err := build(ctx, ".", o.blockbp); err != nil {
			return false, err
		}
	}
	if o.blockbp, err = filepath.Abs(o.blockbp); err != nil {
		return false, err
	}
	if o.keep, err = filepath.Abs(o.keep); err != nil {
		return false, err
	}
	if err := limitMemory(); err != nil {
		return false, err
	}
	c := &campaign{options: o, ctx: ctx, work: work, ends: time.Now().Add(o.time)}
	for i, a := range chosen {
		if err := c.attack(a, len(chosen)-i); err != nil {
			return false, fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return c.report(os.Stdout), ctx.Err()
}

// build builds the command as releases are built; root is the folder of its module.
func build(ctx context.Context, root, to string) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/blockbp")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if runtime.GOARCH == "amd64" {
		build.Args = slices.Insert(build.Args, 2, "-ldflags", "-E blockbp_entry")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %s (start this by go run -C lab ./torture, or give -blockbp)", build, out)
	}
	return nil
}
