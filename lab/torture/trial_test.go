//go:build linux

package torture

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// trial is one attack at work. Its first fault ends it.
type trial struct {
	c   *campaign
	n   int
	rng *rand.Rand
	dir string // working folder of its commands

	log   []string // what was done
	fault string   // why it failed, "": it did not
	void  bool     // it came to nothing, and does not count
	undo  []func() // what has to be taken back, such as mounts
}

// spread is which of a list trial n takes: some of every part in the short form, and in the end all.
func spread(n, length int) int {
	for _, stride := range []int{7, 11, 13} {
		if length%stride != 0 {
			return n * stride % length
		}
	}
	return n % length
}

// stop ends a trial from within.
type stop struct{}

// try runs a trial to its end, in an empty folder.
func (t *trial) try(do func(t *trial)) {
	t.void = false
	defer func() {
		for _, undo := range t.undo {
			undo()
		}
		t.undo = nil
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
		}
	}()
	t.must(os.RemoveAll(t.dir))
	t.must(os.Mkdir(t.dir, 0o755))
	do(t)
}

// failf ends the trial with a fault of the attacked command.
func (t *trial) failf(format string, args ...any) {
	t.fault = fmt.Sprintf(format, args...)
	panic(stop{})
}

// skip ends a trial that came to nothing, such as a kill that came too late.
func (t *trial) skip() {
	t.void = true
	panic(stop{})
}

// must ends the trial with a fault of its own.
func (t *trial) must(err error) {
	if err != nil {
		t.failf("the trial itself: %v", err)
	}
}

// notef says what was done, for who repeats it.
func (t *trial) notef(format string, args ...any) {
	t.log = append(t.log, fmt.Sprintf(format, args...))
}

// path is that of a file in the trial's folder.
func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// copy copies a file or folder into the trial's folder.
func (t *trial) copy(from, name string) {
	t.must(os.MkdirAll(filepath.Dir(t.path(name)), 0o755))
	t.must(copyPath(from, t.path(name)))
}

// read returns the bytes of a file in the trial's folder.
func (t *trial) read(name string) []byte {
	text, err := os.ReadFile(t.path(name))
	t.must(err)
	return text
}

// write makes a file in the trial's folder.
func (t *trial) write(name string, text []byte) {
	t.must(os.MkdirAll(filepath.Dir(t.path(name)), 0o755))
	t.must(os.WriteFile(t.path(name), text, 0o644))
}

// exists reports whether there is such a file in the trial's folder.
func (t *trial) exists(name string) bool {
	_, err := os.Stat(t.path(name))
	return !errors.Is(err, fs.ErrNotExist)
}
