package option_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/blockbp/blockbp/internal/option"
)

// TestWords: a reference is written in the words of who reads it, and what is none stays as it is.
func TestWords(t *testing.T) {
	for _, c := range []struct{ text, command, program string }{
		{"{l2} -1: want 0 or more", "--l2 -1: want 0 or more", "Options.L2 -1: want 0 or more"},
		{"give {edges=together}", "give --edges together", `give Options.Edges = "together"`},
		{"give {l2=0.5}", "give --l2 0.5", "give Options.L2 = 0.5"},
		{"give {eval!--eval dev=PATH}", "give --eval dev=PATH", "give Options.Validation"},
		{"{no-edges}{! (see --help-all)}", "--no-edges (see --help-all)", "Options.NoEdges"},
		{"{order=random} holds", "--order random holds", `the command's --order = "random" holds`},
		{`class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`},
	} {
		if got := option.Command(c.text); got != c.command {
			t.Errorf("%q: the command says %q, want %q", c.text, got, c.command)
		}
		if got := option.Go(c.text); got != c.program {
			t.Errorf("%q: in Go it is %q, want %q", c.text, got, c.program)
		}
	}
}

// TestReferences: an error keeps its references however it is wrapped, and what it is.
func TestReferences(t *testing.T) {
	err := fmt.Errorf("reading: %w", option.Errorf("{l2}: %w", fs.ErrNotExist))
	if got := option.References(err); got != "reading: {l2}: file does not exist" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("references %q", got)
	}
	if got := err.Error(); got != "reading: Options.L2: file does not exist" {
		t.Errorf("in Go it is %q", got)
	}
	if name, begins := option.First("use {edges} or {l2}"); name != "edges" || begins {
		t.Errorf("first is %q", name)
	}
	if option.Of("dataset.Options.States") != "states" || option.Of("Options.None") != "" {
		t.Error("fields have no options")
	}
}
