package job

import (
	"errors"
	"strings"

	"github.com/blockbp/blockbp/learn"
)

// SavedError says what is saved of a training whose end could not be written as a whole.
type SavedError struct {
	Err   error    // what went wrong
	Saved []string // what is where, in words
	Run   string   // the folder, if the training can be resumed to make up for the rest; or ""
}

// Error implements error.
func (e *SavedError) Error() string {
	text := e.Err.Error() + "; saved: " + strings.Join(e.Saved, ", ")
	if e.Run != "" {
		text += "; when that is put right, resume the run to make up for the rest"
	}
	return text
}

// Unwrap returns what went wrong.
func (e *SavedError) Unwrap() error { return e.Err }

// isSaved takes note of what was written, for an error later on.
func (r *run) isSaved(what, name string) {
	r.saved = append(r.saved, what+" in "+r.files.Path(name))
}

// withSaved adds to an error what is saved, if anything is and the error is no judgement
// of the training itself.
func (r *run) withSaved(err error) error {
	var diverged *learn.DivergedError
	if err == nil || r.folder == nil || errors.As(err, &diverged) || errors.Is(err, learn.ErrState) {
		return err
	}
	e := &SavedError{Err: err, Saved: r.saved}
	if r.checkpointed {
		e.Saved = append(e.Saved, "the checkpoint in "+r.files.Path(checkpointFile))
	}
	if len(e.Saved) == 0 {
		return err
	}
	if IsRunFolder(r.files.Dir()) && !r.folder.NoCheckpoint { // nobody removed it
		e.Run = r.files.Dir()
	}
	return e
}
