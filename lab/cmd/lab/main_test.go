package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/lab/study"
)

func init() { testScale = study.Tiny } // tests may ask for a scale that takes seconds

// outcome is what a command line came to.
type outcome struct {
	line           string
	code           int
	stdout, stderr string
}

// runLab executes a command line.
func runLab(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return outcome{strings.Join(args, " "), code, stdout.String(), stderr.String()}
}

// mustRun executes a command line that has to succeed.
func mustRun(t *testing.T, args ...string) outcome {
	t.Helper()
	o := runLab(t.Context(), args...)
	if o.code != 0 {
		t.Fatalf("%s: exit code %d: %s", o.line, o.code, o.stderr)
	}
	return o
}

// wantFailure fails the test unless the command ended with an exit code and a message
// that has some parts.
func (o outcome) wantFailure(t *testing.T, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("%s: exit code %d, want %d: %s", o.line, o.code, code, o.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("%s: no %q in %s", o.line, part, o.stderr)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := oracle.Must(os.ReadFile(path))(t)
	return string(text)
}

// TestLeaveOwnFolder: names of files are those of the folder where "go run -C lab" was typed.
func TestLeaveOwnFolder(t *testing.T) {
	t.Chdir("../..")
	typedIn := t.TempDir()
	t.Setenv("PWD", typedIn)
	leaveOwnFolder()
	got := oracle.Must(os.Stat("."))(t)
	want := oracle.Must(os.Stat(typedIn))(t)
	if !os.SameFile(got, want) {
		t.Error("the command stayed in the folder of its module")
	}
}

// TestLeaveOwnFolderElsewhere: a command that was started in another folder stays there.
func TestLeaveOwnFolderElsewhere(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	t.Setenv("PWD", t.TempDir())
	leaveOwnFolder()
	got := oracle.Must(os.Stat("."))(t)
	want := oracle.Must(os.Stat(here))(t)
	if !os.SameFile(got, want) {
		t.Error("the command left a folder that is not its own")
	}
}
