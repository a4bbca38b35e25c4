//go:build linux

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// What a command may take, whatever it is given.
const (
	mostMemory  = 1 << 30
	mostSeconds = 5.0
	patience    = 60 * time.Second // of the clock: the machine may be busy
	// hardMemory is where the system stops a command: what asks for everything shall not
	// take the machine with it. Commands know of this limit, so it is also what bounds
	// those that ask for a share of what is available.
	hardMemory = mostMemory * 5 / 4
)

// limitMemory sets that limit, which commands inherit.
func limitMemory() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		return err
	}
	limit.Cur = min(hardMemory, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
}

// result is how a command ended.
type result struct {
	line           string
	code           int // −1 for a signal
	signal         syscall.Signal
	stdout, stderr string
	seconds, own   float64 // of the processor, and without those of the system
	peak           int64   // bytes
	late           bool    // ended by our patience
}

// text is all that the command said.
func (r *result) text() string { return r.stdout + r.stderr }

// process is a command under way.
type process struct {
	*exec.Cmd
	t              *trial
	line           string
	stdout, stderr bytes.Buffer
	cancel         context.CancelFunc
	ctx            context.Context
	ended          chan struct{} // closed when it has
	err            error         // of Wait, once it has ended
}

// start starts the command in the trial's folder.
func (t *trial) start(args ...string) *process {
	return t.startAs(append([]string{t.c.blockbp}, args...)...)
}

// startAs starts any program.
func (t *trial) startAs(args ...string) *process {
	p := &process{t: t}
	p.ctx, p.cancel = context.WithTimeout(t.c.ctx, patience)
	p.Cmd = exec.CommandContext(p.ctx, args[0], args[1:]...)
	p.Dir = t.dir
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = time.Second
	p.line = quoteAll(args)
	t.must(p.Start())
	p.ended = make(chan struct{})
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	return p
}

// end waits for a command.
func (p *process) end() *result {
	<-p.ended
	err := p.err
	late := p.ctx.Err() == context.DeadlineExceeded
	p.cancel()
	if p.t.c.ctx.Err() != nil {
		p.t.skip()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !late {
		p.t.must(err)
	}
	usage := p.ProcessState.SysUsage().(*syscall.Rusage)
	r := &result{
		line: p.line, code: p.ProcessState.ExitCode(), late: late,
		stdout: p.stdout.String(), stderr: p.stderr.String(),
		seconds: (p.ProcessState.UserTime() + p.ProcessState.SystemTime()).Seconds(),
		own:     p.ProcessState.UserTime().Seconds(),
		peak:    usage.Maxrss << 10,
	}
	if status := p.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		r.signal = status.Signal()
	}
	p.t.notef("$ %s\n# exit code %d, %.2f s of the processor, %d MiB\n%s", r.line, r.code, r.seconds, r.peak>>20,
		cut(r.text(), 4000))
	return r
}

// run runs the command to its end, and holds what every command has to keep: it does
// not crash, hang or take all memory.
func (t *trial) run(args ...string) *result {
	r := t.start(args...).end()
	t.bounded(r)
	return r
}

// bounded fails a command that crashed, hung or took too much.
func (t *trial) bounded(r *result) {
	t.whole(r)
	switch {
	case r.peak > mostMemory:
		t.failf("%s took %d MiB", r.line, r.peak>>20)
	case r.seconds > mostSeconds:
		t.failf("%s took %.1f s of the processor", r.line, r.seconds)
	}
}

// whole fails a command that crashed or hung.
func (t *trial) whole(r *result) {
	switch {
	case r.late:
		t.failf("%s did not end in %v", r.line, patience)
	case r.signal != 0:
		t.failf("%s ended by signal %v: %s", r.line, r.signal, cut(r.stderr, 300))
	case r.code == 70 || strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.stderr, "fatal error:"):
		t.failf("%s crashed with exit code %d: %s", r.line, r.code, cut(r.stderr, 500))
	}
}

// works runs a command that has to succeed.
func (t *trial) works(args ...string) *result {
	r := t.run(args...)
	if r.code != 0 {
		t.failf("%s: exit code %d, want 0: %s", r.line, r.code, cut(r.stderr, 500))
	}
	return r
}

// must runs a command of a setup, in a folder, and returns its standard output.
func (c *campaign) must(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(c.ctx, c.blockbp, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", quoteAll(cmd.Args), err, stderr.String())
	}
	return stdout.String(), nil
}

func quoteAll(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if quoted[i] = a; a == "" || strings.ContainsAny(a, " '\"$*?;&|<>()\\\n\t") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// cut shortens a text.
func cut(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}
