package option_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestWords: a reference is written in the words of who reads it, and what is none stays as it is.
func TestWords(t *testing.T) {
	for _, c := range []struct{ text, command, program string }{
		{"{l2} -1: want 0 or more", "--l2 -1: want 0 or more", "Options.L2 -1: want 0 or more"},
		{"give {edges=together}", "give --edges together", `give Options.Edges = "together"`},
		{"give {l2=0.5}", "give --l2 0.5", "give Options.L2 = 0.5"},
		{"give {eval!--eval dev=PATH}", "give --eval dev=PATH", "give Options.Validation"},
		{"{columns=text=Spend (EUR)}", "--columns 'text=Spend (EUR)'", `dataset.Options.Columns = "text=Spend (EUR)"`},
		{"{columns=ignore={=}a{~}}", "--columns 'ignore={a}'", `dataset.Options.Columns = "ignore={a}"`},
		{"{columns=ignore=k, l}", `--columns '"ignore=k, l"'`, `dataset.Options.Columns = "ignore=k, l"`},
		{"{no-edges}{! (see --help-all)}", "--no-edges (see --help-all)", "Options.NoEdges"},
		{"{order=random} holds", "--order random holds", `the command's --order = "random" holds`},
		{`class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`},
	} {
		oracle.Equal(t, option.Command(c.text), c.command, "%q: the command says", c.text)
		oracle.Equal(t, option.Go(c.text), c.program, "%q: in Go", c.text)
	}
}

// TestLiterals: what a user wrote comes out as it was, however often it is passed on.
func TestLiterals(t *testing.T) {
	user := "{l2} {seed=3} {!x} { }"
	oracle.Equal(t, option.Command("{resume!train "+option.Literal(user)+" --resume}"), "train "+user+" --resume",
		"a literal within a reference")
	oracle.Equal(t, option.Command(option.Literal(option.Literal(user))), user, "a literal")
	oracle.Equal(t, option.Literals("%s", []any{"{l2}"})[0], "{l2}", "a message")
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
		oracle.Equal(t, option.Command(option.References(err)), want, "message")
	}
}

// TestReferences: an error keeps its references however it is wrapped, and what it is.
func TestReferences(t *testing.T) {
	err := fmt.Errorf("reading: %w", option.Errorf("{l2}: %w", fs.ErrNotExist))
	if got := option.References(err); got != "reading: {l2}: file does not exist" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("references %q", got)
	}
	oracle.Equal(t, err.Error(), "reading: Options.L2: file does not exist", "in Go")
	if option.Of("dataset.Options.States") != "states" || option.Of("Options.None") != "" {
		t.Error("fields have no options")
	}
}
