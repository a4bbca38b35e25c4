package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFilesThatAppear: a run replaces what it has written itself, and nothing that
// appeared in its folder, unless it was made to.
func TestFilesThatAppear(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := oracle.Must(Create(dir))(t)
	theirs := run.Path("theirs.json")
	oracle.OK(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	for range 2 {
		if err := run.WriteJSON("ours.json", 1); err != nil {
			t.Error(err)
		}
	}
	var exists *atomicfile.ExistsError
	if err := run.WriteJSON("theirs.json", 1); !errors.As(err, &exists) {
		t.Errorf("the error is %v, want an *ExistsError", err)
	}
	oracle.OK(t, run.Close())

	no := errors.New("no")
	over := oracle.Must(CreateOver(dir, func(path string) error {
		if path == theirs {
			return no
		}
		return nil
	}))(t)
	defer over.Close()
	if err := over.WriteJSON("theirs.json", 1); !errors.Is(err, no) {
		t.Errorf("the error is %v, want that of the one who was asked", err)
	}
	if err := over.WriteJSON("ours.json", 2); err != nil {
		t.Error(err)
	}
	ours, _ := os.ReadFile(run.Path("ours.json"))
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "theirs" || string(ours) != "2\n" {
		t.Errorf("the files hold %q and %q (%v)", text, ours, err)
	}
}
