package dataset

import (
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/internal/option"
)

// suggestion names the candidate nearest to name, for the end of an error message, or lists the first where none is
// near.
func suggestion(name string, candidates []string) string {
	if best := option.Nearest(name, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	var list []string
	for _, c := range candidates {
		list = append(list, fmt.Sprintf("%q", abbreviate(c)))
	}
	return "there are " + firstFew(list)
}

// abbreviate shortens text for a message.
func abbreviate(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return option.Literal(text)
}

// mostNamed is how many of a list a message names.
const mostNamed = 5

// firstFew lists the first of some texts, and then how many more there are.
func firstFew(texts []string) string {
	list := strings.Join(texts[:min(mostNamed, len(texts))], ", ")
	if n := len(texts) - mostNamed; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}

// optionError is an option that cannot be used with these data.
func optionError(name, format string, arguments ...any) *option.Error {
	e := option.At("", 0, "", "", format, arguments...)
	e.Option = name
	return e
}
