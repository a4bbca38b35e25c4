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

// TestLiterals: what a user wrote comes out as it was, however often it is passed on.
func TestLiterals(t *testing.T) {
	user := "{l2} {seed=3} {!x} {"
	if got := option.Command(option.Literal(option.Literal(user))); got != user {
		t.Errorf("a literal is %q, want %q", got, user)
	}
	if got := option.Literals("%s", []any{"{l2}"})[0]; got != "{l2}" {
		t.Errorf("a message is %q", got)
	}
	path := &fs.PathError{Op: "open", Path: "{seed}", Err: fs.ErrNotExist}
	for _, err := range []error{
		option.Errorf("{l2}: %s, %s: %w", "{seed}", option.Text("{seed}"), path),
		fmt.Errorf("{l2}: %w", option.Errorf("%s, %s: %w", "{seed}", option.Text("{seed}"), path)),
		&option.Error{File: "{l2}", Place: "{seed}", Problem: "{l2}"},
	} {
		want := "--l2: {seed}, --seed: open {seed}: file does not exist"
		if located := (*option.Error)(nil); errors.As(err, &located) {
			want = "{l2}:{seed}: --l2"
		}
		if got := option.Command(option.References(err)); got != want {
			t.Errorf("message %q, want %q", got, want)
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
	if option.Of("dataset.Options.States") != "states" || option.Of("Options.None") != "" {
		t.Error("fields have no options")
	}
}
