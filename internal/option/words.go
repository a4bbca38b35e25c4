package option

import (
	"fmt"
	"strings"
)

// DidYouMean names the candidate nearest to name, for the end of an error message, or lists the first if none is near.
func DidYouMean(name string, candidates []string) string {
	if best := Nearest(name, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	var list []string
	for _, c := range candidates {
		list = append(list, fmt.Sprintf("%q", Short(c)))
	}
	return "there are " + FirstFew(list)
}

// Short shortens text for a message.
func Short(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return Literal(text)
}

// mostNamed is how many of a list a message names.
const mostNamed = 5

// FirstFew lists the first of some texts, and then how many more there are.
func FirstFew(texts []string) string {
	list := strings.Join(texts[:min(mostNamed, len(texts))], ", ")
	if n := len(texts) - mostNamed; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}

// Wrong is an option that cannot be used with these data.
func Wrong(name, format string, arguments ...any) *Error {
	e := At("", 0, "", "", format, arguments...)
	e.Option = name
	return e
}
