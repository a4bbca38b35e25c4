package dataset

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/oracle"
)

const headedNodes = "id,label,split,age,town,remark\n" +
	"ann,ok,train,30,Rome,a b\n" +
	"\"bob \"\"b\"\"\",fraud,train,,Oslo,c\n" +
	"cid,,test,50,Rome,d\n" +
	"dan,ok,test,40,?,e\n"

const headedEdges = "source,target,amount\nann,\"bob \"\"b\"\"\",2\ncid,ann,4\nann,cid,4\ndan,dan,1\ndan,cid,3\n"

func sheets(nodes, edges string) map[string]string {
	return map[string]string{"nodes.csv": nodes, "edges.csv": edges}
}

func matrixOf(set *Set) (rows [][]float64) {
	f := set.Instances[0].NodeFeatures(0)
	for r := range f.Rows() {
		rows = append(rows, row(f, r))
	}
	return rows
}

func TestSheets(t *testing.T) {
	folder := writeFiles(t, sheets(headedNodes, headedEdges))
	nodes, edges := filepath.Join(folder, "nodes.csv"), filepath.Join(folder, "edges.csv")
	for _, paths := range [][]string{{folder}, {nodes}, {edges}, {nodes, edges}, {edges, nodes}} {
		set, err := Open(t.Context(), paths, Options{})
		oracle.OK(t, err)
		wantNames := []string{"age", "age (missing)", "town=Oslo", "town=Rome", "town (missing)", "bias"}
		if n := set.Schema.NodeTypes[0]; !cmp.Equal(n.States, []string{"fraud", "ok"}) || !cmp.Equal(n.FeatureNames, wantNames) {
			t.Errorf("states %q, features %q", n.States, n.FeatureNames)
		}
		if got, want := matrixOf(set), [][]float64{{30, 0, 0, 1, 0, 1}, {40, 1, 1, 0, 0, 1}, {50, 0, 0, 1, 0, 1}, {40, 0, 0, 0, 1, 1}}; !cmp.Equal(got, want) {
			t.Errorf("features %v, want %v", got, want)
		}
		in := set.Instances[0]
		u, v := in.Graph.Ends()
		if !slices.Equal(u, []int32{0, 0, 2}) || !slices.Equal(v, []int32{1, 2, 3}) {
			t.Errorf("edges join %v and %v", u, v)
		}
		if e := in.EdgeFeatures(0); e.Rows() != 3 || !cmp.Equal(row(e, 1), []float64{4, 1}) || !cmp.Equal(set.Schema.EdgeTypes[0].FeatureNames, []string{"amount", "constant"}) {
			t.Errorf("edge features %v of %+v", row(e, 1), set.Schema.EdgeTypes)
		}
		if !cmp.Equal(in.Samples(), [][]int32{{1, 0, -1, 1}}) || !cmp.Equal(set.Names, [][]string{{"ann", `bob "b"`, "cid", "dan"}}) || !cmp.Equal(set.Splits, [][]string{{"train", "train", "test", "test"}}) {
			t.Errorf("labels %v, names %q, splits %q", in.Samples(), set.Names, set.Splits)
		}
		for i, want := range []string{
			`column "age" has 1 missing cells of 4: their mean, 40, stands for them`, `column "town" has 1 missing cells of 4: nothing stands for them`,
			`column "remark" is left out: its 4 cells have 4 different texts`, "edges.csv:5: an edge from a node to itself", "edges.csv:4: an edge that is there already", "1 of 4 labels are hidden (empty cells, and words such as NA",
		} {
			oracle.Contains(t, set.Warnings[i], want)
		}
	}
}

// TestSheetsForModel: other tables are read as those of the training were, whatever their
// columns, and the order and separator of them.
func TestSheetsForModel(t *testing.T) {
	trained := mustOpen(t, writeFiles(t, sheets(headedNodes, headedEdges)), Options{})
	text := trained.Recipe.String()
	recipe := oracle.Must(ParseRecipe(text))(t)
	oracle.MustEqual(t, recipe.String(), text, "recipe")
	model := Options{Schema: &trained.Schema, Recipe: recipe}
	set := mustOpen(t, writeFiles(t, sheets("town;more;AGE;id;label\nParis;1;-7,5;1,1;ok\nOslo;2;NaN;1.1;\n",
		"target|source|amount\n1,1|1.1|\n")), model)
	if got, want := matrixOf(set), [][]float64{{-7.5, 0, 0, 0, 0, 1}, {40, 1, 1, 0, 0, 1}}; !cmp.Equal(got, want) ||
		!strings.Contains(strings.Join(set.Warnings, ""), `commas are those of decimals, as "-7,5"`) {
		t.Errorf("features %v, want %v, warnings %q", got, want, set.Warnings)
	}
	if got := row(set.Instances[0].EdgeFeatures(0), 0); !cmp.Equal(got, []float64{2.8, 1}) { // the mean of all rows
		t.Errorf("edge features %v", got)
	}
	u, v := set.Instances[0].Graph.Ends()
	if !slices.Equal(u, []int32{0}) || !slices.Equal(v, []int32{1}) || !cmp.Equal(set.Instances[0].Samples(), [][]int32{{1, -1}}) {
		t.Errorf("edges join %v and %v, labels %v", u, v, set.Instances[0].Samples())
	}
	for _, want := range []string{`the model does not use column "more"`, `nodes.csv:2:town: the model has not learned of the cell "Paris" (and of 0 more in this column)`, `edges.csv:2:amount: the model has not learned of the cell "" (and of 0 more in this column): 2.8, the mean in training`} {
		if !slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning in %q has %q", set.Warnings, want)
		}
	}
	model.NoLabels = true
	set = mustOpen(t, writeFiles(t, sheets("id,age,town\nx,1,Rome\n", "source,target,amount\n")), model)
	oracle.Equal(t, len(set.Instances[0].Samples()), 0, "samples of labels")
	model.NoLabels = false
	for name, c := range map[string]struct{ nodes, want string }{
		"column": {"id,label,agee,town\nx,ok,1,Rome\n", `nodes.csv:1: there is no column "age", which the model was trained with; did you mean "agee"?`},
		"label":  {"id,label,age,town\nx,Ok,1,Rome\n", `label is "Ok", which is none of the 2 states; did you mean "ok"?`},
		"labels": {"id,age,town\nx,1,Rome\n", "nodes.csv:1: no column is called label"},
		"number": {"id,label,age,town\nx,ok,old,Rome\n", `nodes.csv:2:age: "old" is not a finite decimal number`},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeFiles(t, sheets(c.nodes, "source,target,amount\n")), model, c.want)
		})
	}
	refuses(t, writeFiles(t, tables("a\t0\n", "")), model, `x.nodes.tsv:1: there is no column "age"`)
}

func TestSheetsLabels(t *testing.T) {
	read := func(labels, manifest string, o Options) (*Set, error) {
		nodes := "id,label\n"
		for i, label := range strings.Split(labels, " ") {
			nodes += fmt.Sprintf("n%d,%s\n", i, label)
		}
		files := sheets(nodes, "source,target\nn0,n1\n")
		if manifest != "" {
			files[ManifestName] = manifest
		}
		return Open(t.Context(), []string{writeFiles(t, files)}, o)
	}
	for _, c := range []struct {
		labels, manifest string
		o                Options
		states           []string
		want             []int32
	}{
		{labels: "b a  NA ? b", states: []string{"a", "b"}, want: []int32{1, 0, -1, -1, -1, 1}},
		{labels: "10 9 2", states: []string{"2", "9", "10"}, want: []int32{2, 1, 0}},
		{labels: "1.0 0.0  1.0", states: []string{"0", "1"}, want: []int32{1, 0, -1, 1}},
		{labels: "1 -1 1", states: []string{"-1", "1"}, want: []int32{1, 0, 1}},
		{labels: "1 -1 0", o: Options{States: []string{"-1", "0", "1"}}, states: []string{"-1", "0", "1"}, want: []int32{2, 0, 1}},
		{labels: "1 -1 0", manifest: `{"hidden_labels": true}`, states: []string{"0", "1"}, want: []int32{1, -1, 0}},
		{labels: "no yes", manifest: `{"states": ["yes", "no"]}`, states: []string{"yes", "no"}, want: []int32{1, 0}},
	} {
		set, err := read(c.labels, c.manifest, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.labels, err)
			continue
		}
		if got := set.Instances[0].Samples()[0]; !cmp.Equal(set.Schema.NodeTypes[0].States, c.states) || !cmp.Equal(got, c.want) {
			t.Errorf("%s: states %q, labels %v", c.labels, set.Schema.NodeTypes[0].States, got)
		}
	}
	many := ""
	for i := range 30 {
		many += fmt.Sprintf("w%d ", i)
	}
	set, err := read(strings.ReplaceAll(strings.Repeat(many, 20), "w", ""), "", Options{})
	if err != nil || !strings.Contains(set.Warnings[0],
		"600 labels are 30 different numbers, each a state of its own, which takes long; if") {
		t.Errorf("%v: warnings %q", err, set.Warnings)
	}
	measured := ""
	for i := range 300 {
		measured += fmt.Sprintf("%d ", i*2/5)
	}
	for labels, want := range map[string]string{
		strings.TrimSpace(measured): "300 labels are 120 different numbers, each a state of its own; if they measure something, divide them",
		"1 -1 0":                    "nodes.csv:3: label is -1, as are 1 of 3; leave the cell empty, or write \"hidden_labels\": true into dataset.json",
		"x x x":                     `every label is "x", which tells of one state only`,
		"NA NA":                     "no node has a label",
		many[:len(many)-1]:          `30 labels have 30 different texts, such as "w0"`,
		"0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.1 1.2": "11 labels are 11 different numbers, each a state of its own; " +
			"if they " +
			"measure something, divide them",
	} {
		oracle.Fails(read(labels, "", Options{}))(t, want)
	}
}

// TestSheetsColumns: roles can be given to columns, and text is bounded.
func TestSheetsColumns(t *testing.T) {
	nodes, edges := "key,code,kind,big,x\n", "weight,one,two\n"
	for i := range 1000 {
		nodes += fmt.Sprintf("k%d,%d,%c,w%d,%d\n", i, i%3, 'a'+i%2, i%300, i)
		edges += fmt.Sprintf("1,k%d,k%d\n", i, (i+1)%1000)
	}
	folder := writeFiles(t, map[string]string{"people.csv": nodes, "friends.csv": edges})
	paths := []string{filepath.Join(folder, "people.csv"), filepath.Join(folder, "friends.csv")}
	set, err := Open(t.Context(), paths, Options{Columns: strings.Split("id=key,label=kind,text=CODE,ignore=X,"+
		"source=one,target=two", ",")})
	oracle.OK(t, err)
	n := set.Schema.NodeTypes[0]
	if in := set.Instances[0]; in.Name != "people" || in.Graph.NumEdges() != 1000 || len(n.FeatureNames) != 3+101+1 || n.FeatureNames[2] != "code=2" || n.FeatureNames[103] != "big (other)" || !cmp.Equal(n.States, []string{"a", "b"}) {
		t.Errorf("%q: %d edges, features %q, states %q", in.Name, in.Graph.NumEdges(), n.FeatureNames, n.States)
	}
	oracle.Contains(t, set.Warnings[0],
		`column "big" has 300 different texts: the 100 most frequent, of 40 % of its cells, have a feature each`)
	sums := make([]float64, n.Features)
	for _, r := range matrixOf(set) {
		total := 0.0
		for j, x := range r {
			sums[j] += x
			total += x
		}
		if total != 3 { // code, big and bias
			t.Fatalf("a row sums to %v", total)
		}
	}
	oracle.Equal(t, []float64{sums[0], sums[103], sums[104]}, []float64{334, 600, 1000}, "sums of columns of %v", sums)
	for _, c := range []struct{ columns, want string }{
		{"labels=kind", `Columns: "labels=kind": did you mean "label"?`},
		{"kind", `want ROLE=NAME`},
		{"label=kid", `people.csv has no column "kid"; did you mean "kind"?`},
		{"label=kind,ignore=nothing", `has a column "nothing"`},
	} {
		_, err := Open(t.Context(), paths, Options{Columns: append(strings.Split(c.columns, ","), "source=one", "target=two")})
		oracle.WantError(t, err, c.want)
	}
}

// TestSheetsOfPrograms: tables as R, pandas and GIS write them.
func TestSheetsOfPrograms(t *testing.T) {
	const edges = "FIPS,NEIGHBOUR\n37001,37003\n37003,37005\n"
	open := func(nodes, edges string, columns ...string) (*Set, error) {
		return Open(t.Context(), []string{writeFiles(t, sheets(nodes, edges))}, Options{Columns: columns})
	}
	names := func(set *Set, err error) string {
		if err != nil {
			t.Error(err)
			return ""
		}
		return fmt.Sprint(set.Names[0], set.Schema.NodeTypes[0].FeatureNames, set.Schema.EdgeTypes[0].FeatureNames)
	}
	// Pandas gives a column without a name one.
	for nodes, want := range map[string]string{
		"Unnamed: 0,id,label,x\n0,a,u,1\n1,b,v,2\n":                       "[a b] [x bias] [constant]",
		"Unnamed: 0,label,x\na,u,1\nb,v,2\n":                              "[a b] [x bias] [constant]",
		"id,label,Unnamed: 2\na,u,1\nb,v,2\n":                             "[a b] [Unnamed: 2 bias] [constant]",
		"id,\"Unnamed: 0\",label\na,0,u\nb,1,v\n":                         "[a b] [bias] [constant]",
		"\"id\", \"label\", \"x, y\"\n\"a\", \"u\", 1\n\"b\", \"v\", 2\n": "[a b] [x, y bias] [constant]",
	} {
		oracle.Equal(t, names(open(nodes, "source,target\na,b\n")), want, "%q", nodes)
	}
	oracle.Equal(t, names(open("id,label\na,u\nb,v\n", "Unnamed: 0,source,target\n0,a,b\n")), "[a b] [bias] [constant]",
		"names")
	_, err := open("id\tlabel\na\tu\t1\nb\tv\n", "source,target\na,b\n")
	oracle.WantError(t, err, "nodes.csv:2: the number of cells is 3, the first row has 2")

	// Separators at the end of every row are no names of rows: cells would move to the right.
	for _, ends := range []string{",", ", "} {
		_, err = open("id,label\na,u\nb,v\n", "source,target,w\na,b,1"+ends+"\nb,a,2"+ends+"\n")
		oracle.WantError(t, err, "edges.csv:2: the number of cells is 4, the first row has 3")
	}
	_, err = open("id,label\na,u\nb,v\nc,v\n", ",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n")
	oracle.WantError(t, err, "edges.csv:1: it is a matrix of edges; write ")
	for _, matrix := range []string{",a,b,c\na,0,.5,0\nb,.5,0,1\nc,0,1,0\n", "0,1,0,1\n0,0,1,0\n0,0,0,1\n1,0,1,0\n",
		"a,b,c,d\n0,.5,0,1\n0,0,1,0\n0,0,0,1\n1,0,1,0\n", "0,1,0,1\n1,0,1,0\n0,1,0,1\n1,0,1,0\n",
		"0,1,1\n1,0,1\n1,1,0\n", "a,b,c,d\n0,1,0,1\n1,0,1,0\n0,1,0,1\n1,0,1,0\n",
		"a,0,1,0,1\nb,1,0,1,0\nc,0,1,0,1\nd,1,0,1,0\n"} {
		_, err = open("id,label\na,u\nb,v\nc,v\nd,v\n", matrix)
		oracle.WantError(t, err, "it is a matrix of edges", " write pairs, by python3 -c ", "iloc[0, 0]", "edges.csv")
	}
	_, err = open("\"id\" \"label\"\n\"1\" \"a\" \"u\"\n", "source,target\na,b\n")
	oracle.WantError(t, err, `nodes.csv:1: extraneous or missing " in quoted-field; put `, "in R write.csv(")
	_, err = open("id,label\na,u\nb,v\n", "source,target\na,b,1\na,a,2\n") // nor are cells that are there twice
	oracle.WantError(t, err, "edges.csv:2: the number of cells is 3, the first row has 2")

	// Of several columns that could identify nodes, the error names the one that does.
	const counties = "OBJECTID,FIPS,NAME,label,pop\n1,37001,Lee,a,5\n2,37003,Clay,b,6\n3,37005,%s,a,7\n4,37007,Ash,a,7\n"
	_, err = open(fmt.Sprintf(counties, "Lee"), edges)
	oracle.WantError(t, err, `nodes.csv:4:NAME: node "Lee" is on line 2 already; keep one row for every node, say by `+
		`dataset.Options.Columns = "id=NAME" which column identifies the nodes, or write a pair of tables`)
	_, err = open(fmt.Sprintf(counties, "Dare"), edges)
	oracle.WantError(t, err, `edges.csv:2:FIPS: there is no node "37001" in `, `dataset.Options.Columns = "id=NAME" `+
		`says which column identifies nodes, and source=NAME,target=NAME which are the ends`)
	_, err = open(fmt.Sprintf(counties, "Dare"), "a,b\n5,6\n") // of people, and found twice
	oracle.WantError(t, err, `edges.csv:2:a: there is no node "5" in `, "give the node a row there, or leave this row out")
	oracle.Must(open(fmt.Sprintf(counties, "Lee"), edges, "id=FIPS"))(t)
}

func TestColumnKinds(t *testing.T) {
	decide := func(cells ...string) (*column, string, error) {
		of := formats.ReadTable("f", []byte("id\tc\n-\t"+strings.Join(cells, "\n-\t")), false)
		if len(of.List) > 0 {
			t.Fatal(of.List)
		}
		note := ""
		col, err := look("c", of).decide(false, func(format string, arguments ...any) {
			note += fmt.Sprintf(format, arguments...)
		})
		return col, note, err
	}
	if c, _, err := decide("1", " 2.5e1 ", "NA"); err != nil || c.Mean != 13 || !c.Missing || c.Values != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c, note, err := decide("", "?"); c != nil || err != nil || !strings.Contains(note, "no values") {
		t.Errorf("%+v, %q, %v", c, note, err)
	}
	if c, _, err := decide("1", "a", "a", "1"); err != nil || !cmp.Equal(c.Values, []string{"1", "a"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, note, err := decide("4", "2", "3", "5"); c == nil || err != nil ||
		!strings.Contains(note, "another whole number in each row") {
		t.Errorf("%+v, %q, %v", c, note, err)
	}
	if _, note, _ := decide("1", "0", "-1", "2"); note != "" {
		t.Errorf("of numbers below 0: %q", note)
	}
	numbers := slices.Repeat([]string{"5"}, 20)
	for cell, want := range map[string]string{
		"12 kg": `f:22:c: "12 kg" is no number that can be used, while 20 of the 21 cells of this column are meant as ` +
			`numbers; write digits`,
		"1,5":        `f:22:c: "1,5" is no number that can be used, while 21 of the 21 cells`,
		"1\u202f200": `"1\u202f200" is no number that can be used, while 21 of the 21 cells`,
		"2\u2009500": `decimal point alone, as by python3`,
		"inf":        `"inf" is no number that can be used`,
	} {
		_, _, err := decide(append(numbers, cell)...)
		oracle.WantError(t, err, want)
	}
	_, _, err := decide(strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 - - -")...)
	oracle.WantError(t, err, `f:23:c: "-" is no number that can be used, while 21 of the 24 cells`)
	oracle.Equal(t, (&column{Name: "c", Mean: math.Inf(1)}).sound(), false, "a mean that is not finite is sound")
	oracle.Equal(t, (&column{Name: "c", Values: []string{"a", "a"}}).sound(), false, "a value twice is sound")
	_, note, _ := decide("Red", "blue", "red", "blue")
	said := formats.ReadTable("f", []byte("id\tc\na\tRed\nb\tblue\nc\tred\nd\tblue\n"), false)
	_, err = look("c", said).decide(true, func(text string, _ ...any) { t.Errorf("of text, as said, it notes %q", text) })
	oracle.OK(t, err)
	oracle.Equal(t, note, `in column "c" "Red" and "red" are two categories, and differ in case, zeros or Unicode form `+
		"alone: write them alike if they mean one", "a note on case")
	var days []string
	for i := range 40 {
		days = append(days, fmt.Sprintf("2020-01-%02d", 1+i%30))
	}
	_, note, _ = decide(days...)
	oracle.Contains(t, note, `column "c" has days, times or numbers with a unit, as "2020-01-01", each a category; write`)
	for text, told := range map[string]bool{"3/4/20%02d": true, "%02d:30": true, "2020-01-%02dT10:30": true,
		"2020-%02d": false, "%d-99": false, "1.%d": false, "1.2.%d": false, "10%d-10": false, "10.0.0.%d": false} {
		var cells []string
		for i := range 60 {
			cells = append(cells, fmt.Sprintf(text, 10+i%9))
		}
		_, note, err := decide(cells...)
		oracle.Equal(t, strings.Contains(note, "has days, times or"), told, "a note on %q: %q, %v", text, note, err)
	}
	for i := range days {
		days[i] = "day " + days[i]
	}
	_, note, _ = decide(days...)
	oracle.Contains(t, note, `column "c" has 30 different texts in 40 cells, as days have, each a category that few`)
	_, note, _ = decide(slices.Repeat(days[:30], 2)...)
	oracle.Equal(t, note, "", "notes of texts that stand in two rows each")
}

// FuzzTables: tables with and without a header are an instance, whose recipe can be read again, or a problem.
func FuzzTables(f *testing.F) {
	f.Add([]byte(headedNodes), []byte(headedEdges))
	f.Add([]byte("id;label;x\n1;0;2\n2;1;\n"), []byte("a\tb\n1\t2\n"))
	f.Add([]byte(",label,0,1\n0,a,.5,x\n1,b,1e3,\"y\nz\"\n"), []byte("from,to\n0,1\n"))
	f.Add([]byte(someNodes), []byte(someEdges))
	f.Add([]byte("0\t0\tx\t?\n1\t1\tx\t1:2e3 4\n2\t1\tx\t?\n"), []byte("0\t1\n2 0\n"))
	f.Fuzz(func(t *testing.T, nodes, edges []byte) {
		for _, plain := range []bool{false, true} {
			l := &tableLoader{loader: newLoader(t.Context(), &Options{Hops: len(edges) % 3}), rules: &sheetRecipe{}}
			n, e := formats.ReadTable("nodes.csv", nodes, false), formats.ReadTable("edges.csv", edges, plain)
			if plain {
				n = formats.ReadPlain("nodes.tsv", nodes)
			}
			if len(n.List)+len(e.List) > 0 {
				continue
			}
			g := &tableGraph{nodes: n, edges: e}
			l.graphs = []*tableGraph{g}
			l.run(func() { l.rolesOfNodes(n) }, func() { l.rolesOfEdges(e, g.isNode) }, l.chooseColumns, l.readGraphs,
				l.observeSplit, l.chooseSchema, func() { l.freezeGraph(g) })
			if len(l.problems) > 0 {
				continue
			}
			recipe, err := ParseRecipe(l.set.Recipe.String())
			if err != nil || recipe.fits(&l.set.Schema) != nil || len(l.set.Instances) != 1 {
				t.Fatalf("%d instances, recipe %s: %v", len(l.set.Instances), &l.set.Recipe, err)
			}
		}
	})
}

// TestPairsAsNamed: two tables that are named are the pair, wherever they lie and whatever
// their names, and no other table is read.
func TestPairsAsNamed(t *testing.T) {
	const nodes, edges = "id,label\na,x\nb,y\n", "source,target\na,b\n"
	dir := writeFiles(t, map[string]string{"m/nodes.csv": nodes, "m/edges.csv": edges, "nodes.csv": nodes, "edges.csv": edges, "e2.csv": edges})
	for _, paths := range [][]string{{"m/nodes.csv", "edges.csv"}, {"edges.csv", "m/nodes.csv"}, {"nodes.csv", "e2.csv"}, {"e2.csv", "nodes.csv"}} {
		set, err := Open(t.Context(), []string{filepath.Join(dir, paths[0]), filepath.Join(dir, paths[1])}, Options{})
		if err != nil || len(set.Instances) != 1 || set.Instances[0].Graph.NumEdges() != 1 || len(set.Sources) != 2 {
			t.Errorf("%v: %+v, %v", paths, set, err)
		}
	}
}

// TestDoubtfulColumns: notes tell of row numbers, of a second column of labels, and of labels like missing ones.
func TestDoubtfulColumns(t *testing.T) {
	rows := func(n int) (text string) { // of which a column says the label
		for i := range n {
			text += fmt.Sprintf("%c,%d,%c,%d\n", 'a'+i, i%2, 'u'+i%2, 7+i/2%2)
		}
		return text
	}
	for nodes, wants := range map[string][]string{
		"id,Unnamed: 0,label,Class\na,0,u,p\nb,1,v,q\nc,2,unknown,p\n": {"column 2 has no name", `"unknown" is a state like`,
			`"Class" is a feature`},
		"id,label,x,train_mask\na,Yes,1,1\nb,yes,2,0\nc,no,-999,1\ntotal,,\u22123,\n": {`the labels "Yes" and "yes" are two`,
			`column "x" has -999, far from`, `"train_mask" is a feature`, `nodes.csv:5: no edge joins the node "total"`},
		"id,y,label,x\n" + rows(16) + "z,,,7":                          {`"y" is a feature, beside the labels`},
		"id,x,label,test\n" + rows(8) + "z,,,7":                        nil,
		"id,label,x\na,1,95\nb,2,99\nc,9,97\nd,3,98\ne,4,96\nf,5,95\n": {`"9" is a state like any other`},
		"id,label,pred,was\na,u,u,0\nb,[NULL],v,1\nc,v,v,1\n": {
			`"[NULL]" is a state like any other`, `"pred" is a feature`},
		"id,label,train,Test\na,u,0,1\nb,v,1,0\nc,v,1,0\n": {`"train" is a feature`, `"Test" is a feature`},
		"id,label,x\na,*,20\nb,u,-1\nc,v,21\nd,u,22\ne,u,23\nf,v,24\ng,v,25\nh,v,26\ni,v,27\n" +
			"j,v,28\nk,u,29\n": {
			`column "x" has -1, far from`, `"*" is a state like any other`},
		"id;label;x;y;z\na;u;1.200;1.205;1.2\nb;v;17.350;2.500;2.125\nc;v;850;3.000;3\n" +
			"d;u;2.100;4.125;4.125\ne;u;9.999;5.125;5.375\nf;u;40;6.125;7": {
			`column "x" has points before three digits alone`},
		"id,label,x\na,0A,95\nb,A,99\nc,\u00e9,97\nd,e\u0301,9\n": {"the labels \"\u00e9\" and \"e\u0301\" are two"},
		"sep=;\n# x\nid;label;x;set\na;u;1 m;train\nb;v;2.5 m;test\nc;v;3 m;x\nd;v;4 m;train\ne;u;5 m;train\nf;v;5 m;x\n": {
			`"x" has days, times or numbers with a unit, as "1 m"`, `"set" is a feature`},
	} {
		set := mustOpen(t, writeFiles(t, sheets(nodes, "source,target\na,b\nb,c\n")), Options{})
		warnings := strings.Join(set.Warnings, "\n")
		oracle.Contains(t, warnings, wants...)
		unwanted := regexp.MustCompile(`"x" has 99|"[yz]" has points|"x" is a feature|"test" is`)
		if unwanted.MatchString(warnings) || strings.Count(warnings, "like any other") > 1 {
			t.Errorf("notes %q", set.Warnings)
		}
	}
}

// TestOtherUnits: a note tells of one feature in other units than that of the model, most of whose numbers are outside.
func TestOtherUnits(t *testing.T) {
	table := func(scale float64) string {
		nodes := "id,label,x,y\n"
		for i := range 30 {
			nodes += fmt.Sprintf("%d,%s,%d,%g\n", i, string("uv"[i%2]), i%7+1, float64(i%5+3)*scale)
		}
		return writeFiles(t, sheets(nodes, "source,target\n0,1\n1,2\n"))
	}
	model := modelOf(mustOpen(t, table(1000), Options{}))
	for scale, want := range map[float64]bool{1: true, 1e6: true, 100: true, 200: false, 1500: false, 5000: true} {
		notes := strings.Join(mustOpen(t, table(scale), model).Warnings, "\n")
		oracle.Equal(t, strings.Contains(notes, `feature "y" of nodes is`), want, "a note of %v: %s", scale, notes)
	}
	notes := strings.Join(mustOpen(t, table(2000), modelOf(mustOpen(t, table(-1000), Options{}))).Warnings, "\n")
	if want := `feature "y" of nodes is outside of -7000 to -3000,`; !strings.Contains(notes, want) {
		t.Errorf("a note %q, want %s", notes, want)
	}
}

// TestWeightOfAnyName: the role weight gives a column that name, also in data for the model.
func TestWeightOfAnyName(t *testing.T) {
	folder := writeFiles(t, sheets("id,label\na,u\nb,v\n", "source,target,cost\na,b,2\n"))
	set := mustOpen(t, folder, Options{Columns: []string{"weight=cost"}})
	for _, s := range []*Set{set, mustOpen(t, folder, modelOf(set))} {
		row := make([]float64, 2)
		s.Instances[0].EdgeFeatures(0).Row(row, 0)
		oracle.Equal(t, fmt.Sprint(s.Schema.EdgeTypes[0].FeatureNames, row), "[weight constant] [2 1]",
			"names and features of edges")
	}
	refuses(t, folder, Options{Columns: []string{"weight=nix"}}, `no column "nix"`)
	both := writeFiles(t, sheets("id,label\na,u\nb,v\n", "source,target,cost,weight\na,b,2,x\n"))
	refuses(t, both, Options{Columns: []string{"weight=cost"}}, `a column "weight" beside "cost"`)
	for _, cost := range []string{"-1", "strong"} {
		bad := writeFiles(t, sheets("id,label\na,x\nb,y\n", "source,target,cost\na,b,"+cost+"\n"))
		refuses(t, bad, Options{Columns: []string{"weight=cost"}}, `:2:cost: "`+cost+`" is no weight of an edge`)
	}
}

// TestRowNumbersIdentifyNothing: where an index only counts the rows, as pandas writes it, a column called so that it
// ends in id identifies nodes, if all its texts differ.
func TestRowNumbersIdentifyNothing(t *testing.T) {
	for nodes, want := range map[string]string{
		",user_id,label\n0,2,u\n1,0,v\n2,1,u\n": "[] [1 0 0]", // of the ids 0, 1 and 2
		",user_id,label\n0,2,u\n1,2,v\n2,1,u\n": "[] [0 1 0]",
		",user_id,label\n2,0,u\n0,2,v\n1,1,u\n": "[] [1 0 0]",
	} {
		set := mustOpen(t, writeFiles(t, sheets(nodes, "source,target\n0,1\n")), Options{})
		oracle.Equal(t, fmt.Sprint(set.Names[0], set.Instances[0].Samples()[0]), want, "%q: nodes and labels", nodes)
	}
	nodes := ",user_id,label\n0,2,u\n1,0,v\n2,1,u\n"
	set := mustOpen(t, writeFiles(t, sheets(nodes, "source,target\n0,1\n")), Options{Columns: []string{"ignore=user_id"}})
	oracle.Equal(t, fmt.Sprint(set.Instances[0].Samples()[0]), "[0 1 0]", "labels")
}

// TestFeaturesAreLists: a column of that name lists features, also where each list has one.
func TestFeaturesAreLists(t *testing.T) {
	set := mustOpen(t, writeFiles(t, sheets("id,label,Features\na,u,2\nb,v,0\n", "source,target\na,b\n")), Options{})
	oracle.Equal(t, matrixOf(set), [][]float64{{0, 0, 1, 1}, {1, 0, 0, 1}}, "features")
}
