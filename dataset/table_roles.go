package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Roles that Options.Columns can give to columns.
const (
	roleID     = "id"
	roleLabel  = "label"
	roleSplit  = "split"
	roleSource = "source"
	roleTarget = "target"
	roleText   = "text"
	roleIgnore = "ignore"
)

var roles = []string{roleID, roleLabel, roleSplit, roleSource, roleTarget, roleText, roleIgnore}

// Names of columns whose role is known without being told, the likeliest first.
var (
	idNames    = []string{"id", "node", "node_id", "nodeid", "identifier", "name"}
	labelNames = []string{"label", "labels", "class"}
	splitNames = []string{"split"}
	// endNames are names of the two ends of edges.
	endNames = [][2]string{{"source", "target"}, {"from", "to"}, {"src", "dst"}, {"u", "v"}, {"source_id", "target_id"},
		{"node1", "node2"}, {"id1", "id2"}}
)

// given returns the columns that the option Columns gives a role.
func (o *Options) given(role string) (names []string) {
	for _, text := range o.Columns {
		if of, name, _ := strings.Cut(text, "="); of == role {
			names = append(names, name)
		}
	}
	return names
}

// validateColumns reports what is wrong with the option Columns by itself.
func (o *Options) validateColumns() error {
	for _, text := range o.Columns {
		role, name, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "":
			return optionError("Columns", "%q: want ROLE=NAME, such as label=species", text)
		case !slices.Contains(roles, role):
			return optionError("Columns", "%q: %s", text, suggestion(role, roles))
		case role != roleText && role != roleIgnore && len(o.given(role)) > 1:
			return optionError("Columns", "%q: the role %s is given to %d columns, want one", text, role, len(o.given(role)))
		}
	}
	return nil
}

// sheetRecipe is how tables with a header are read: the names of columns, and what
// features those without a role make.
type sheetRecipe struct {
	ID     string   `json:"id"`
	Label  string   `json:"label,omitempty"`
	Split  string   `json:"split,omitempty"`
	Source string   `json:"source"`
	Target string   `json:"target"`
	Nodes  []column `json:"nodes,omitempty"`
	Edges  []column `json:"edges,omitempty"`
}

func (r *sheetRecipe) problem() string {
	for _, c := range slices.Concat(r.Nodes, r.Edges) {
		if problem := c.problem(); problem != "" {
			return problem
		}
	}
	return ""
}

// role finds the column of a role: the one that the option Columns names, or else the
// model, or else one of the usual names; −1: there is none.
func (l *tableLoader) role(s *table, role, model string, usual []string) int {
	if named := l.o.given(role); len(named) > 0 {
		i := s.column(named[0])
		if i < 0 {
			l.fail(optionError("Columns", "%s has no column %q; %s", s.path, abbreviate(named[0]),
				suggestion(named[0], s.header)))
		}
		return i
	}
	if i := s.column(model); i >= 0 {
		return i
	}
	return s.column(usual...)
}

// nodeRoles are the columns of a table of nodes; −1: there is none.
type nodeRoles struct{ id, label, split int }

// rolesOfNodes finds the columns of a table of nodes. Without a usual name the first
// column identifies nodes; one without a name is an index, as pandas writes it.
func (l *tableLoader) rolesOfNodes(s *table) (r nodeRoles) {
	model := l.rules
	r = nodeRoles{
		id:    l.role(s, roleID, model.ID, idNames),
		label: l.role(s, roleLabel, model.Label, labelNames),
		split: l.role(s, roleSplit, model.Split, splitNames),
	}
	if r.id < 0 {
		r.id = 0
	}
	switch {
	case len(l.problems) > 0:
	case r.id == r.label, r.id == r.split:
		l.fail(&Error{File: s.path, Line: 1, Problem: fmt.Sprintf("the first column, %q, does not identify nodes",
			abbreviate(s.header[r.id])), Remedy: "give the nodes a column id, or name it by {columns=id=NAME}"})
	case r.label < 0 && !l.o.NoLabels:
		l.fail(&Error{File: s.path, Line: 1, Problem: "no column is called label; " + suggestion(roleLabel, s.header),
			Remedy: "say which by {columns=label=NAME}; if these are no names, the header is missing"})
	case r.split < 0 && l.o.Observed != "":
		const problem = "no column is called split, of which %q is to be observed; %s"
		l.fail(&Error{File: s.path, Line: 1, Problem: fmt.Sprintf(problem, l.o.Observed, suggestion(roleSplit, s.header)),
			Remedy: "say which by {columns=split=NAME}"})
	}
	return r
}

// rolesOfEdges finds the columns of the two ends. Without usual names they are the first
// two that have a name.
func (l *tableLoader) rolesOfEdges(s *table) (ends [2]int) {
	ends = [2]int{l.role(s, roleSource, l.rules.Source, nil), l.role(s, roleTarget, l.rules.Target, nil)}
	if ends[0] < 0 && ends[1] < 0 {
		ends = s.usualEnds()
	}
	guessed := ends[0] < 0 && ends[1] < 0
	next := slices.IndexFunc(s.header, func(name string) bool { return name != "" })
	for k := range ends {
		if ends[k] < 0 {
			for next >= 0 && next < len(s.header) && (next == ends[1-k] || s.header[next] == "") {
				next++
			}
			if ends[k] = next; next < 0 || next >= len(s.header) {
				l.fail(&Error{File: s.path, Line: 1, Problem: fmt.Sprintf("it has no two columns for the ends of edges; %s",
					suggestion(roleSource, s.header)), Remedy: "call them source and target"})
				return [2]int{}
			}
		}
	}
	if guessed && len(s.header) > 2 {
		l.warn("%s: the columns %q and %q are taken for the ends of edges, being the first; {columns} names "+
			"others, as source=NAME,target=NAME", s.path, abbreviate(s.header[ends[0]]), abbreviate(s.header[ends[1]]))
	}
	return ends
}

// usualEnds finds two columns with the usual names of ends.
func (s *table) usualEnds() [2]int {
	for _, pair := range endNames {
		if ends := [2]int{s.column(pair[0]), s.column(pair[1])}; ends[0] >= 0 && ends[1] >= 0 {
			return ends
		}
	}
	return [2]int{-1, -1}
}

// features returns the columns of a sheet that have no role, and are not to be ignored.
func (l *tableLoader) features(s *table, taken ...int) (at []int) {
	ignored := setOf(l.o.given(roleIgnore))
	for i, name := range s.header {
		if name != "" && !slices.Contains(taken, i) && !ignored[name] {
			at = append(at, i)
		}
	}
	return at
}
