package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
)

// printJSON writes one object on one line of standard output.
func (a *app) printJSON(v any) error {
	text, err := printable.EncodeResult(v, "")
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(text, '\n'))
	return err
}

// lines are texts of ours on lines of their own. Where print, or say, finds any other
// text, that may be a name, and is kept from being more than a part of its line.
type lines string

// linesOf makes lines of texts, each of which may hold names.
func linesOf(texts []string) lines {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(printable.Line(text) + "\n")
	}
	return lines(b.String())
}

// print writes a result: as JSON, or as a text for people.
func (a *app) print(asJSON bool, result any, format string, arguments ...any) error {
	if asJSON {
		return a.printJSON(result)
	}
	_, err := io.WriteString(a.stdout, safely(format, arguments))
	return err
}

// say writes a line for people on standard error.
func (a *app) say(format string, arguments ...any) {
	_, _ = io.WriteString(a.stderr, safely(format, arguments)+"\n") // there is nobody to tell
}

// tell says how far something has come: so much of a total, which is 0 where that is not known.
func (a *app) tell(done, total int, format string, arguments ...any) {
	if text := safely(format, arguments); !a.events.send(progressEvent{text, done, total}) {
		_, _ = io.WriteString(a.stderr, text+"\n") // there is nobody to tell
	}
}

// safely is fmt.Sprintf with names that cannot do harm.
func safely(format string, arguments []any) string {
	safe := make([]any, len(arguments))
	for i, argument := range arguments {
		switch argument := argument.(type) {
		case string:
			safe[i] = printable.Line(argument)
		case error:
			safe[i] = printable.Line(option.Command(option.References(argument)))
		default:
			safe[i] = argument
		}
	}
	return printable.Text(fmt.Sprintf(format, safe...))
}
