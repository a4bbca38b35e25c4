package dataset

import (
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
	roleWeight = "weight"
	roleText   = "text"
	roleIgnore = "ignore"
)

var roles = []string{roleID, roleLabel, roleSplit, roleSource, roleTarget, roleWeight, roleText, roleIgnore}

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
		case !ok || name == "" && role != roleWeight:
			return optionError("Columns", "%q: want ROLE=NAME, such as label=species", text)
		case !slices.Contains(roles, role):
			return optionError("Columns", "%q: %s", text, suggestion(role, roles))
		case role != roleText && role != roleIgnore && len(o.given(role)) > 1:
			return optionError("Columns", "%q: the role %s is given to %d columns, want one", text, role, len(o.given(role)))
		}
	}
	return nil
}

// sheetRecipe is how tables with a header are read: the names of columns, and what features those without a role make.
type sheetRecipe struct {
	ID     string   `json:"id"`
	Label  string   `json:"label,omitempty"`
	Split  string   `json:"split,omitempty"`
	Source string   `json:"source"`
	Target string   `json:"target"`
	Weight string   `json:"weight,omitempty"` // what the column of that name is called; "": so
	Nodes  []column `json:"nodes,omitempty"`
	Edges  []column `json:"edges,omitempty"`
}

func (r *sheetRecipe) sound() bool {
	return !slices.ContainsFunc(slices.Concat(r.Nodes, r.Edges), func(c column) bool { return !c.sound() })
}

// role finds the column of a role: the one that the option Columns names, or else the model, or else one of the usual
// names; −1: there is none.
func (l *tableLoader) role(t *table, role, model string, usual []string) int {
	if named := l.o.given(role); len(named) > 0 {
		i := t.column(named[0])
		if i < 0 {
			l.fail(optionError("Columns", "%s has no column %q; %s", t.file, abbreviate(named[0]),
				suggestion(named[0], t.header)))
		}
		return i
	}
	if i := t.column(model); i >= 0 {
		return i
	}
	return t.column(usual...)
}

// nodeRoles are the columns of a table of nodes; −1: there is none.
type nodeRoles struct{ id, label, split int }

// rolesOfNodes finds the columns of a table of nodes. Without a usual name the first column identifies nodes; one
// without a name is an index, as pandas writes it.
func (l *tableLoader) rolesOfNodes(t *table) (r nodeRoles) {
	r = nodeRoles{
		id:    max(0, l.role(t, roleID, l.rules.ID, idNames)),
		label: l.role(t, roleLabel, l.rules.Label, labelNames),
		split: l.role(t, roleSplit, l.rules.Split, splitNames),
	}
	switch {
	case len(l.problems) > 0:
	case r.id == r.label, r.id == r.split:
		l.fail(wrong(t.file, 1, "", "give the nodes a column id, or name it by {columns=id=NAME}",
			"the first column, %q, does not identify nodes", abbreviate(t.header[r.id])))
	case r.label < 0 && !l.o.NoLabels:
		l.fail(wrong(t.file, 1, "", "say which by {columns=label=NAME}; if these are no names, the header is missing",
			"no column is called label; %s", suggestion(roleLabel, t.header)))
	case r.split < 0 && l.o.Observed != "":
		l.fail(wrong(t.file, 1, "", "say which by {columns=split=NAME}",
			"no column is called split, of which %q is to be observed; %s", l.o.Observed, suggestion(roleSplit, t.header)))
	}
	return r
}

// rolesOfEdges finds the columns of the two ends. Without usual names they are the first two that have a name.
func (l *tableLoader) rolesOfEdges(t *table) (ends [2]int) {
	ends = [2]int{l.role(t, roleSource, l.rules.Source, nil), l.role(t, roleTarget, l.rules.Target, nil)}
	if ends[0] < 0 && ends[1] < 0 {
		ends = t.usualEnds()
	}
	guessed := ends[0] < 0 && ends[1] < 0
	l.nameWeight(t)
	for i, name := range t.header {
		if k := slices.Index(ends[:], -1); k >= 0 && name != "" && i != ends[1-k] {
			ends[k] = i
		}
	}
	switch {
	case slices.Contains(ends[:], -1):
		l.fail(wrong(t.file, 1, "", "call them source and target", "it has no two columns for the ends of edges; %s",
			suggestion(roleSource, t.header)))
	case guessed && len(t.header) > 2:
		l.warn("%s: the columns %q and %q are taken for the ends of edges, being the first; {columns} names "+
			"others, as source=NAME,target=NAME", t.file, abbreviate(t.header[ends[0]]), abbreviate(t.header[ends[1]]))
	}
	return ends
}

// nameWeight gives the column that says how much an edge counts this name; where the option Columns gives it to none,
// the column that has it is left out.
func (l *tableLoader) nameWeight(t *table) {
	name, i := roleWeight, t.column(roleWeight)
	if slices.Contains(l.o.given(roleWeight), "") {
		name = ""
	} else if i = l.role(t, roleWeight, l.rules.Weight, nil); i >= 0 && l.o.Recipe == nil {
		l.rules.Weight = t.header[i]
	}
	if i >= 0 {
		if other := t.column(roleWeight); other >= 0 {
			t.header[other] = ""
		}
		t.header[i] = name
		l.fail(t.findColumns(1))
	}
}

// usualEnds finds two columns with the usual names of ends.
func (t *table) usualEnds() [2]int {
	for _, pair := range endNames {
		if ends := [2]int{t.column(pair[0]), t.column(pair[1])}; ends[0] >= 0 && ends[1] >= 0 {
			return ends
		}
	}
	return [2]int{-1, -1}
}

// features returns the columns of a table that have no role, and are not to be ignored.
func (l *tableLoader) features(t *table, taken ...int) (at []int) {
	ignored := setOf(l.o.given(roleIgnore))
	for i, name := range t.header {
		if name != "" && !slices.Contains(taken, i) && !ignored[name] {
			at = append(at, i)
		}
	}
	return at
}
