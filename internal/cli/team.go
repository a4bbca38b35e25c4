package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/learn"
)

// team is the processes of a job that train one model together, as one of them sees them; nil:
// this process is alone. Process 0 reads, trains, prints and writes as one that is alone. The others
// read, take part in the training, and say nothing.
type team struct {
	app   *app
	group *distributed.Group
	met   bool // all have read their data, and train
	alone bool // process 0 has learned, and does the rest
}

const (
	teamAuto, teamOn, teamOff = "auto", "on", "off"
	defaultStall              = 30 * time.Minute
	// afterFirst is how long others wait, with what has ended them, for process 0 to say the same.
	afterFirst = 500 * time.Millisecond
)

// join makes this process one of its job, if a launcher has started it as such.
func (a *app) join(f *trainFlags) (*team, error) {
	launch, found := distributed.Detect()
	switch {
	case !slices.Contains([]string{teamAuto, teamOn, teamOff}, f.mpi):
		return nil, usagef("--mpi %q: want auto, on or off", f.mpi)
	case f.mpi == teamOn && !found:
		return nil, usagef("--mpi on: no launcher has started this process; start it by mpirun -np 4 blockbp train …, " +
			"mpiexec or srun")
	case f.mpi == teamOff || !found || f.mpi == teamAuto && launch.Size == 1:
		a.unmute()
		return nil, nil
	}
	group, err := distributed.Join(launch, cmp.Or(f.stall, defaultStall))
	if err != nil {
		return nil, fmt.Errorf("%w; or give --mpi off, with which each process trains alone", err)
	}
	t := &team{app: a, group: group}
	if t.follows() {
		a.mute()
	}
	return t, nil
}

// refuseTeam refuses to do the same in several processes of a job, which would write over each other's files.
func (a *app) refuseTeam(cmd *cobra.Command) error {
	launch, found := distributed.Detect()
	if !found || cmd.Name() == "train" {
		return nil
	}
	if launch.Size <= 1 || a.declared[cmd] == nil {
		a.unmute()
		return nil
	}
	return usagef("%s: one process does all of that, and a launcher has started %d: start it alone, without mpirun, "+
		"mpiexec or srun; in a script of theirs, unset %s in one process", cmd.Name(), launch.Size, launch.Variable)
}

// streams are where a process writes to.
type streams struct {
	stdout, stderr io.Writer
	events         *events
}

// mute keeps a process beside another from saying the same.
func (a *app) mute() {
	if a.loud == nil {
		a.loud = &streams{a.stdout, a.stderr, a.events}
		a.stdout, a.stderr, a.events = io.Discard, io.Discard, nil
	}
}

func (a *app) unmute() {
	if a.loud != nil {
		a.stdout, a.stderr, a.events, a.loud = a.loud.stdout, a.loud.stderr, a.loud.events, nil
	}
}

// waitForFirst lets process 0 say what is wrong before this one ends the job.
func (a *app) waitForFirst(code int) {
	if a.loud != nil && code != 0 {
		time.Sleep(afterFirst)
	}
}

// threads returns how many threads a process takes unasked, of those that are here for all.
func (t *team) threads(all int) int {
	if t == nil {
		return all
	}
	host, _ := os.Hostname() // "" is a host, too
	here := 0
	for _, other := range t.group.Bytes([]byte(host)) {
		if string(other) == host {
			here++
		}
	}
	return max(1, all/here)
}

// follows reports whether process 0 is another one.
func (t *team) follows() bool { return t != nil && t.group.Rank() > 0 }

// together returns an error in all processes where there is one in any, which it names.
func (t *team) together(err error) error {
	if t == nil {
		return err
	}
	// Whoever met an interruption first, all end with it: its code is not that of an error.
	if own := errors.Is(err, context.Canceled); t.group.Any(own) {
		if !own {
			err = context.Canceled
		}
		return err
	}
	err = distributed.NewTeam(t.group).Common(err, nil)
	if process := processOf(err); process > 0 && process != t.group.Rank() {
		err = fmt.Errorf("rank %d: %w", process, err)
	}
	t.met = err == nil
	return err
}

// processOf is the process that has met an error which all have, −1 of others.
func processOf(err error) int {
	if common := (interface{ Process() int })(nil); errors.As(err, &common) {
		return common.Process()
	}
	return -1
}

// end leaves the job, or ends it where this process alone has failed: others would wait for it.
func (t *team) end(err error) error {
	if t == nil {
		return err
	}
	process := processOf(err)
	if process >= 0 {
		codes := t.group.Bytes([]byte{byte(codeOf(err))}) // of which all take that of this process
		err = &exitError{int(codes[process][0]), err}
	}
	if err == nil || process >= 0 || !t.met || t.alone || everywhere(err) {
		if err := t.group.Close(); err != nil {
			t.app.note("leaving the job: %v", err)
		}
		return err
	}
	t.app.waitForFirst(1)
	t.group.Abort("blockbp: "+option.Command(option.References(err)), codeOf(err))
	return err
}

// everywhere reports whether an error is one that all processes come to: of what all compute, or
// an interruption, which they agree on.
func everywhere(err error) bool {
	return errors.As(err, new(*learn.DivergedError)) || errors.Is(err, learn.ErrState) ||
		errors.Is(err, context.Canceled) || codeOf(err) == exitInterrupted
}
