package option_test

import (
	"encoding/json"
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
		{"{directed=true}", "--directed", "dataset.Options.Directed = true"},
		{"{note=hidden}3 are hidden", "3 are hidden", "3 are hidden"},
		{string(option.Place("a{b}", 3, "c") + option.Place("d", 0, "e[1]") + option.Instance(4, "f")),
			"a{b}:3:cd:e[1]instance 4 (f)", "a{b}:3:cd:e[1]instance 4 (f)"},
		{"{place=x} {instance} {note}", "{place=x} {instance} {note}", "{place=x} {instance} {note}"},
		{"{no-edges}{! (see --help-all)}", "--no-edges (see --help-all)", "Options.NoEdges"},
		{"{order=random} holds", "--order random holds", `the command's --order = "random" holds`},
		{`class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`, `class "{cat}" of {} {"a": 1} {`},
	} {
		oracle.Equal(t, option.Command(c.text), c.command, "%q: the command says", c.text)
		oracle.Equal(t, option.Go(c.text), c.program, "%q: in Go", c.text)
	}
}

// TestParts: a program is told what words refer to, also within errors.
func TestParts(t *testing.T) {
	located := &option.Error{File: "data[1]", Place: "labels[2,0]", Problem: "is 7", Remedy: "give {states=a,b}"}
	err := fmt.Errorf("%w{! (see --help-all)}", located)
	text := "{note=few}" + string(option.Instance(3, "{x}")) + ": " + option.References(err)
	got, jsonErr := json.Marshal(option.Parts(text))
	oracle.OK(t, jsonErr)
	oracle.Equal(t, string(got), `[{"text":"","note":"few"},{"text":"instance 3 ({x})","instance":"3"},{"text":": "},`+
		`{"text":"data[1]:labels[2,0]","at":["data[1]","","labels[2,0]"]},{"text":": is 7; give "},`+
		`{"text":"--states a,b","option":"states","value":"a,b"},{"text":" (see --help-all)","option":"!"}]`, "parts")
}

// TestLiterals: what a user wrote comes out as it was, however often it is passed on.
func TestLiterals(t *testing.T) {
	user := "{l2} {seed=3} {!x} { }"
	oracle.Equal(t, option.Command("{directed=false}, {l2=1}"), "--directed=false, --l2 1", "a switch that is off")
	oracle.Equal(t, option.Go("{directed=false}"), "dataset.Options.Tied = true", "what is another field where it is off")
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
