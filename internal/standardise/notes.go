package standardise

import (
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// mostNamed bounds how many features one text names.
const mostNamed = 3

// Notes tell of features that are zero everywhere. averaged says that features of nodes are means, of which users know
// nothing.
func (m *Measured) Notes(schema *crf.Schema, averaged bool) (texts []string) {
	for i, of := range m.types {
		var where string
		var known []string
		switch b := i - m.nodes; {
		case b >= 0:
			where, known = fmt.Sprintf("edge type %q", schema.EdgeTypes[b].Name), schema.EdgeTypes[b].FeatureNames
		case averaged:
			continue
		default:
			where, known = fmt.Sprintf("node type %q", schema.NodeTypes[i].Name), schema.NodeTypes[i].FeatureNames
		}
		var names []string
		for j, x := range of.moments {
			if x.n < 2 || x.least < 0 || x.most > 0 {
				continue
			}
			name := fmt.Sprintf("number %d", j)
			if j < len(known) {
				name = fmt.Sprintf("%q", known[j])
			}
			names = append(names, name)
		}
		if len(names) == 0 {
			continue
		}
		text := strings.Join(names[:min(mostNamed, len(names))], ", ")
		if n := len(names) - mostNamed; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		texts = append(texts, fmt.Sprintf("of %s the feature %s is zero everywhere: nothing can be learned of it, and its "+
			"weights stay as they are; leave it out", where, text))
	}
	return texts
}
