package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/learn"
)

// deal refuses what several processes cannot do together.
func (p *Prepared) deal() error {
	g := p.Group
	if g == nil || g.Size() == 1 {
		return nil
	}
	p.Settings.Group = g
	o := &p.Options
	switch {
	case o.Method.Local():
		return usagef("{method=%s} runs in one process, and this job has %d: start it without mpirun, or give another "+
			"{method}", o.Method, g.Size())
	case o.AutoL2:
		return usagef("{l2=auto} runs in one process, and this job has %d: choose l2 without mpirun first, and give its "+
			"value", g.Size())
	case o.Errors != errorsNone:
		return usagef("{errors} %s runs in one process, and this job has %d: leave it out, or start without mpirun",
			o.Errors, g.Size())
	}
	return nil
}

// idleHints say that processes have nothing to do.
func (p *Prepared) idleHints() []string {
	g := p.Settings.Group
	if g == nil {
		return nil
	}
	size, parts := g.Size(), len(p.Problem.Data) // that are worked on at a time
	if p.Settings.Method == learn.BBPL && slices.ContainsFunc(p.cuts, func(c cut.Cut) bool { return c.Blocks > 1 }) {
		parts *= p.Settings.Together
	}
	switch {
	case p.Memory.Repeated:
		return []string{fmt.Sprintf("each of %d processes does all of the work, as the linear systems of a small problem "+
			"are solved in each: one process, with all threads, is as fast", size)}
	case parts < size:
		return []string{fmt.Sprintf("%d of %d processes only wait, as %d networks, or blocks of them, are worked on at a "+
			"time: {blocks} cuts networks, and a larger {together} visits more blocks", size-parts, size, parts)}
	}
	return nil
}

// Follow takes part in the training that process 0 of Task.Group makes with Train, and writes nothing. folder is that
// of process 0, as far as it says what to resume, and opened is Watch.Opened.
func (p *Prepared) Follow(ctx context.Context, folder *Folder, opened func(error) error) error {
	own := *p
	r, err := openRun(nil, &own, Watch{})
	if err == nil && folder.Resume {
		if own.Settings.Resume, err = learn.ReadState(filepath.Join(folder.Dir, checkpointFile)); errors.Is(err,
			fs.ErrNotExist) {
			err = nil // there may be none yet
		}
	}
	if err := opened(err); err != nil {
		return err
	}
	if err := r.beginWithFeatures(ctx); err != nil {
		return err
	}
	s, spent := own.Settings, time.Duration(0)
	s.Evaluate, s.EarlyStop = own.evaluateDuring(Watch{}, &spent, nil), own.earlyStop
	if !folder.NoCheckpoint {
		s.Checkpoint = func(*learn.State) error { return nil }
	}
	_, err = learn.Fit(ctx, own.Problem, s) // nothing comes after it
	return err
}
