package dataset

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Names of columns whose role is known without being told, the likeliest first.
var (
	idNames    = []string{"id", "node", "node_id", "nodeid", "identifier", "name"}
	labelNames = []string{"label", "labels", "class"}
	// splitNames, and names of what models predict, have no role: they are features, with a note.
	splitNames = strings.Fields("train_mask val_mask test_mask fold is_train is_test prediction predictions " +
		"predicted pred y_pred")
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

// named returns the columns of a header to which the option Columns gives a role.
func (o *Options) named(role string, header []string) map[string]bool {
	t, found := formats.Table{Header: header}, map[string]bool{}
	for _, name := range o.given(role) {
		if i := t.Column(name); i >= 0 {
			found[header[i]] = true
		}
	}
	return found
}

// validateColumns reports what is wrong with the option Columns by itself.
func (o *Options) validateColumns() error {
	for _, text := range o.Columns {
		role, name, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "":
			return option.Wrong("Columns", "%q: want ROLE=NAME, such as label=species; of a name with a "+
				"comma, {columns!--columns '\"ROLE=NAME\"'}", text)
		case !slices.Contains(formats.Roles, role):
			return option.Wrong("Columns", "%q: %s", text, option.DidYouMean(role, formats.Roles))
		case role != formats.RoleText && role != formats.RoleIgnore && len(o.given(role)) > 1:
			return option.Wrong("Columns", "%q: the role %s is given to %d columns, want one", text, role, len(o.given(role)))
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
	Weight string   `json:"weight,omitempty"`
	Nodes  []column `json:"nodes,omitempty"`
	Edges  []column `json:"edges,omitempty"`
}

// name is that of the column of a role.
func (r *sheetRecipe) name(role string) *string {
	return map[string]*string{formats.RoleID: &r.ID, formats.RoleLabel: &r.Label, formats.RoleSplit: &r.Split,
		formats.RoleSource: &r.Source, formats.RoleTarget: &r.Target, formats.RoleWeight: &r.Weight}[role]
}

func (r *sheetRecipe) sound() bool {
	return !slices.ContainsFunc(slices.Concat(r.Nodes, r.Edges), func(c column) bool { return !c.sound() })
}

// assign finds the column of a role: the one that the option Columns names, or the model, or else a usual one, or −1.
func (l *tableLoader) assign(t *formats.Table, role string, usual ...string) int {
	i := t.Column(*l.rules.name(role))
	if named := l.o.given(role); len(named) > 0 {
		if i = t.Column(named[0]); i < 0 {
			l.fail(option.Wrong("Columns", "%s has no column %q; %s", t.File, option.Short(named[0]),
				option.DidYouMean(named[0], t.Header)))
		}
	} else if i < 0 {
		i = t.Column(usual...)
	}
	t.Roles[role] = i
	return i
}

// rolesOfNodes finds the columns of a table of nodes.
func (l *tableLoader) rolesOfNodes(t *formats.Table) {
	if l.fail(t.CheckNames()); len(l.problems) > 0 {
		return
	}
	if l.assign(t, formats.RoleID, idNames...) < 0 {
		t.Roles[formats.RoleID] = l.identifier(t)
	}
	id, label := t.Roles[formats.RoleID], l.assign(t, formats.RoleLabel, labelNames...)
	split := l.assign(t, formats.RoleSplit, formats.RoleSplit)
	switch {
	case len(l.problems) > 0:
	case id == label, id == split:
		l.fail(option.At(t.File, 1, "", "give the nodes a column id, or name it by {columns=id=NAME}",
			"the first column, %q, does not identify nodes", option.Short(t.Header[id])))
	case label < 0 && !l.o.NoLabels:
		l.fail(option.At(t.File, 1, "", "say which by {columns=label=NAME}; if these are no names, the header is missing",
			"no column is called label; %s", option.DidYouMean(formats.RoleLabel, t.Header)))
	case split < 0 && l.o.Observed != "":
		l.fail(option.At(t.File, 1, "", "say which by {columns=split=NAME}",
			"no column is called split, of which %q is to be observed; %s", l.o.Observed, option.DidYouMean("split", t.Header)))
	}
}

// identifier finds the column that identifies nodes where none has a usual name. It is the first, which is an index, as
// of pandas, if it has no name. Where that counts rows, it is one with another text in each row whose name ends in id.
func (l *tableLoader) identifier(t *formats.Table) int {
	for i, cells := range t.Rows {
		if t.Header[0] != "" || cells[0] != strconv.Itoa(i) {
			return 0
		}
	}
	ignored := l.o.named(formats.RoleIgnore, t.Header)
	for i, name := range t.Header {
		if !strings.HasSuffix(strings.ToLower(name), "id") || ignored[name] {
			continue
		}
		if c := look(name, t); c.missing < 2 && len(c.texts) == c.total {
			l.warn("%s: the column %q identifies nodes, and not the first, which counts the rows; {columns=ignore=%s} takes "+
				"the numbers of rows", t.File, option.Short(name), name)
			return i
		}
	}
	return 0
}

// rolesOfEdges finds the columns of the two ends. Without usual names they are the first two that have a name. A header
// that names two nodes there is a row.
func (l *tableLoader) rolesOfEdges(t *formats.Table, isNode func(name string) bool) {
	ends := [2]int{l.assign(t, formats.RoleSource), l.assign(t, formats.RoleTarget)}
	if ends == formats.NoEnds {
		ends = t.UsualEnds()
	}
	guessed := ends == formats.NoEnds
	for i, name := range t.Header {
		if k := slices.Index(ends[:], -1); k >= 0 && name != "" && i != ends[1-k] {
			ends[k] = i
		}
	}
	t.Roles[formats.RoleSource], t.Roles[formats.RoleTarget] = ends[0], ends[1]
	if n, rows := len(t.Header), len(t.Rows); guessed && n > 3 && isNode(t.Header[1]) && isNode(t.Header[n-1]) &&
		(n == rows+1 || n == rows && isNode(t.Header[0])) {
		l.fail(option.At(t.File, 1, "", formats.Look(t.File).Advise("a matrix of edges"), "its columns are nodes: it is a "+
			"matrix of edges, where pairs are wanted"))
		return
	}
	if guessed && ends == [2]int{0, 1} && isNode(t.Header[0]) && isNode(t.Header[1]) {
		if first := strings.Join(t.Header[:2], ","); (first == "0,1" || first == "1,2") && t.CheckNames() == nil {
			l.fail(option.At(t.File, 1, "", "write source,target in its place, or above it if it is an edge",
				"%s may be an edge, or a header that counts columns, as pandas writes it", first))
			return
		}
		l.warn("%s has no header, and is read as %s: its first line joins the nodes %q and %q", t.File, formats.EdgeList,
			option.Short(t.Header[0]), option.Short(t.Header[1]))
		t.PutBack()
		guessed = false
	}
	l.fail(t.CheckNames())
	if i := l.assign(t, formats.RoleWeight); i >= 0 { // rules for edges know it by that name
		l.rules.Weight = t.Header[i]
		if r := slices.IndexFunc(t.Rows, func(cells []string) bool {
			x, err := t.Number(cells[i])
			return !formats.MissingCell(cells[i]) && !(err == nil && x >= 0)
		}); r >= 0 {
			l.fail(option.At(t.File, int(t.Lines[r]), t.Header[i], "leave weight=NAME out of {columns}, and it is a feature",
				"%q is no weight of an edge, which is a number of at least 0", option.Short(t.Rows[r][i])))
		}
		if other := t.Column(formats.RoleWeight); other >= 0 && other != i {
			l.fail(option.Wrong("Columns", "%s has a column %q beside %q: rename one", t.File, t.Header[other], t.Header[i]))
		}
		t.Header[i], t.Places = formats.RoleWeight, nil
	}
	delete(t.Roles, formats.RoleWeight)
	switch {
	case slices.Contains(ends[:], -1):
		l.fail(option.At(t.File, 1, "", "call them source and target", "it has no two columns for the ends of edges; %s",
			option.DidYouMean(formats.RoleSource, t.Header)))
	case guessed && len(t.Header) > 2:
		l.warn("%s: the columns %q and %q are taken for the ends of edges, being the first; {columns} names "+
			"others, as source=NAME,target=NAME", t.File, option.Short(t.Header[ends[0]]), option.Short(t.Header[ends[1]]))
	}
}

// features returns the names of the columns of a table that have no role, and are not to be ignored.
func (l *tableLoader) features(t *formats.Table) (names []string) {
	taken, ignored := numeric.SetOf(slices.Collect(maps.Values(t.Roles))), l.o.named(formats.RoleIgnore, t.Header)
	for i, name := range t.Header {
		if name != "" && !taken[i] && !ignored[name] {
			names = append(names, name)
		}
	}
	return names
}
