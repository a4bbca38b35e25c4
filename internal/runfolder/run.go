package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/printable"
)

// MetricsFile is the file of a run folder that has one Metric per line.
const MetricsFile = "metrics.jsonl"

// Permissions asked for; the umask of the process narrows them as usual.
const (
	folderPermission fs.FileMode = 0o777
	filePermission   fs.FileMode = 0o666
)

// Run is an open run folder. Its methods may be called by several goroutines as long as they write different files.
type Run struct {
	dir string
	// replace is asked before a file that is there is replaced; nil: only those are that the Run itself has made.
	replace func(path string) error
	made    sync.Map // names of files that it has made
	lock    *os.File // nil: the folder is not kept for this process alone, or no longer
	fresh   bool     // the folder was made for this run
	// NoFigures has WriteFigure write nothing.
	NoFigures bool
}

// NotEmptyError says that the folder chosen for a new run already holds something.
type NotEmptyError struct {
	Dir   string // the folder as given
	Holds string // name of one thing in it
}

// Error implements error.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("run folder %q is not empty (it holds %q): choose another folder, remove this one, or resume "+
		"the run in it", e.Dir, e.Holds)
}

// Create makes the run folder dir, and its parents, for a new run, and keeps other processes out of it until Close.
// An empty folder that is already there is used. It returns an *InUseError if another run is at work in the folder, a
// *NotEmptyError if it holds anything, and an error naming the path if dir is a file or not writable, so that a run
// fails before its work and not after it. Files that appear in the folder later are not replaced either.
func Create(dir string) (*Run, error) {
	if err := CheckFree(dir); err != nil {
		return nil, err
	}
	const attempts = 100 // for another process can make the folder, and remove it
	for attempt := 1; ; attempt++ {
		run, err := create(dir)
		if attempt == attempts || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return run, err
		}
	}
}

func create(dir string) (*Run, error) {
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, folderPermission); err != nil {
		return nil, fmt.Errorf("making folder %q: %w", dir, WithRoomAdvice(err, "try again"))
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	run := &Run{dir: dir, lock: lock, fresh: errors.Is(missing, fs.ErrNotExist)}
	first, err := firstEntry(dir)
	switch {
	case err != nil:
		err = fmt.Errorf("looking into run folder %q: %w", dir, err)
	case first != "":
		err = &NotEmptyError{Dir: dir, Holds: first}
	default:
		err = run.RemoveLeftovers()
	}
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return run, nil
}

// CreateOver makes the folder dir as Create does, but for results that may replace what is there already: replace is
// asked, at the last moment, before each file of its name is. Nothing is removed.
func CreateOver(dir string, replace func(path string) error) (*Run, error) {
	run, err := Create(dir)
	var taken *NotEmptyError
	if errors.As(err, &taken) {
		run, err = Open(dir)
	}
	if err == nil {
		run.replace = replace
	}
	return run, err
}

// CreateFree makes the first of the folders name, name-2, name-3 and so on that is not there.
func CreateFree(name string) (*Run, error) {
	for i := 1; ; i++ {
		dir := name
		if i > 1 {
			dir += "-" + strconv.Itoa(i)
		}
		switch err := os.Mkdir(dir, folderPermission); { // of several processes one makes it, and is alone in it
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("making folder %q: %w", dir, WithRoomAdvice(err, "try again"))
		}
		run, err := create(dir)
		if err != nil {
			return nil, errors.Join(err, os.Remove(dir))
		}
		run.fresh = true
		return run, nil
	}
}

// Open continues the run in the existing folder dir, whatever it holds, and keeps other processes out of it until
// Close. It returns fs.ErrNotExist if there is no such folder, an *InUseError if another run is at work in it,
// and an error naming the path if dir is a file or not writable.
func Open(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no run folder at %q: check the path, or start a new run there instead of resuming: %w", dir,
			fs.ErrNotExist)
	case err != nil:
		return nil, fmt.Errorf("opening run folder %q: %w", dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("opening run folder %q: it is a file, not a folder", dir)
	}
	run := &Run{dir: dir, replace: func(string) error { return nil }}
	if run.lock, err = acquire(dir); err != nil {
		return nil, err
	}
	return run, nil
}

// Close lets other processes into the folder. It removes a folder that was made for this
// run and has remained empty. A second call does nothing.
func (run *Run) Close() error {
	if run.lock == nil {
		return nil
	}
	err := release(run.lock)
	run.lock = nil
	if run.fresh {
		_ = os.Remove(run.dir) // it fails where there is something in it
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody removed the folder
	}
	return err
}

// Dir is the run folder as it was given to Create or Open.
func (run *Run) Dir() string { return run.dir }

// Path is where the file called name, with slashes, lies in the run folder.
func (run *Run) Path(name string) string { return filepath.Join(run.dir, filepath.FromSlash(name)) }

// WriteFile writes the file called name, with slashes, through fill. Folders on the way are made. Readers see the old
// file or the whole new one: the bytes go to a temporary file, which is synced and renamed. An error of fill leaves
// the old file as it was. Errors name the path.
func (run *Run) WriteFile(name string, fill func(io.Writer) error) error {
	return run.Via(name, func(path string) error { return fileio.Write(path, fill) })
}

// Via writes the file called name, in the manner of WriteFile, through a function that
// writes a file at a path that it is given.
func (run *Run) Via(name string, fill func(path string) error) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("writing %q: the name must stay within the run folder %q", name, run.dir)
	}
	target := fileio.Target{Path: run.Path(name)}
	if _, own := run.made.Load(name); own {
		target.Replace = fileio.Always
	} else if run.replace != nil {
		target.Replace = func() error { return run.replace(target.Path) }
	}
	err := writeAtomically(target, fill)
	if err == nil {
		run.made.Store(name, true)
	}
	return err
}

// WriteJSON writes v, indented, as the file called name, in the manner of
// WriteFile. NaN and infinities have to be of the type Float, and are null.
func (run *Run) WriteJSON(name string, v any) error {
	text, err := printable.Encode(v, indent)
	if err != nil {
		return fmt.Errorf("writing %s: %w", run.Path(name), err)
	}
	return run.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// indent is that of the JSON files of a run.
const indent = "  "

// PlotFolder is the folder of the figures inside a run folder.
const PlotFolder = "plots"

// WriteFigure writes a figure that svg draws as plots/NAME.svg.
func (run *Run) WriteFigure(name string, svg func(io.Writer) error) error {
	if run.NoFigures {
		return nil
	}
	return run.WriteFile(path.Join(PlotFolder, name+".svg"), svg)
}

// firstEntry is the name of one thing in the folder dir that is there to stay, "" if it is empty.
func firstEntry(dir string) (string, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer folder.Close()
	for {
		names, err := folder.Readdirnames(1)
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if names[0] != LockFile && !IsLeftover(names[0]) {
			return names[0], nil
		}
	}
}

// writeAtomically makes a file through fill, whole or not at all. Parents are made.
// Errors name the path and, where there is no room left, what to do.
func writeAtomically(target fileio.Target, fill func(path string) error) error {
	err := os.MkdirAll(filepath.Dir(target.Path), folderPermission)
	if err == nil {
		err = target.Via(fill)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", target.Path, WithRoomAdvice(err, "try again: what was there before is unchanged"))
	}
	return nil
}

// WithRoomAdvice is err and, where nothing may be written or the disk is full, what to do then.
func WithRoomAdvice(err error, advice string) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w; choose a folder that may be written to", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; free some space and %s", err, advice)
	}
	return err
}

// leftover is what files are called while they are written: the name of the file with a
// point before it and a random number behind it, or a folder with one in it.
var leftover = regexp.MustCompile(`^\.(blockbp-[0-9]+|[^/]+\.(json|jsonl|csv|safetensors|svg|png|html|npz)[0-9]{6,})$`)

// IsLeftover reports whether a file or folder of this name is there only while something is written.
func IsLeftover(name string) bool { return leftover.MatchString(name) }

// isOurs reports a leftover that is a file or a folder, as those that are written are.
func isOurs(e fs.DirEntry) bool { return IsLeftover(e.Name()) && (e.IsDir() || e.Type().IsRegular()) }

// RemoveLeftovers removes what processes that were killed while they wrote into the
// folder, or into one right in it, have left there.
func (run *Run) RemoveLeftovers() error {
	entries, err := os.ReadDir(run.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(run.dir, e.Name())
		if isOurs(e) {
			err = errors.Join(err, os.RemoveAll(path))
			continue
		}
		inside, readErr := os.ReadDir(path)
		if readErr != nil {
			continue // a file, or a folder that nobody could have written to
		}
		for _, e := range inside {
			if isOurs(e) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
			}
		}
	}
	return err
}
