package dataset

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestDirection: edges between nodes of one type have a direction where the option, the array
// or dataset.json says so, and there alone.
func TestDirection(t *testing.T) {
	typed := change(func(a *Arrays) {
		a.NodeTypes, a.EdgeTypes, a.EdgeFeatures = []int32{0, 0, 1}, []int32{0, 2, 1}, nil
		a.Edges = append(a.Edges, [2]int32{1, 0})
		a.Edges, a.EdgeTypes = a.Edges[:3], []int32{0, 1, 1}
	})
	types := `{"states": 2, "node_types": ["a", "b"], "edge_types": [{"name": "aa"%s}, "ab"]%s}`
	manifest := func(own, all string) string {
		return strings.Replace(strings.Replace(types, "%s", own, 1), "%s", all, 1)
	}
	directed := change(func(a *Arrays) { a.Directed = true })
	for _, c := range []struct {
		name, manifest string
		a              Arrays
		o              Options
		want           []bool // symmetric
	}{
		{"default", "", triangle(), Options{}, []bool{true}},
		{"option", "", triangle(), Options{Directed: true}, []bool{false}},
		{"array", "", directed, Options{}, []bool{false}},
		{"manifest", `{"directed": true}`, triangle(), Options{}, []bool{false}},
		{"untied", "", triangle(), Options{Untied: true}, []bool{true}},
		{"untied array", "", directed, Options{Untied: true}, []bool{false}},
		{"types", manifest("", ""), typed, Options{}, []bool{true, false}},
		{"a type", manifest(`, "directed": true`, ""), typed, Options{}, []bool{false, false}},
		{"but for a type", manifest(`, "directed": false`, `, "directed": true`), typed, Options{}, []bool{true, false}},
		{"option before a type", manifest(`, "directed": false`, ""), typed, Options{Directed: true}, []bool{false, false}},
	} {
		set := mustOpen(t, writeSet(t, c.manifest, c.a), c.o)
		var got []bool
		for _, e := range set.Schema.EdgeTypes {
			got = append(got, e.Symmetric)
		}
		oracle.Equal(t, got, c.want, "%s: symmetric", c.name)
	}
	files := tables("0\t0\tx\t1\n1\t1\tx\t0\n", "0\t1\n")
	if set := mustOpen(t, writeFiles(t, files), Options{}); !set.Schema.EdgeTypes[0].Symmetric {
		t.Error("graph tables are directed")
	}
	files[ManifestName] = `{"directed": true}`
	if set := mustOpen(t, writeFiles(t, files), Options{}); set.Schema.EdgeTypes[0].Symmetric {
		t.Error("graph tables are not directed")
	}

	refuses(t, writeSet(t, "", directed, triangle()), Options{}, "1.npz:directed: its edges are not, those of", "0.npz are directed; make the two agree")
	refuses(t, writeSet(t, manifest(`, "directed": true`, ""), typed), Options{Untied: true}, "dataset.json:edge_types[0].directed: untied weights have types of their own")
	model := mustOpen(t, writeSet(t, "", triangle()), Options{})
	again := mustOpen(t, writeSet(t, "", triangle()), Options{Schema: &model.Schema, Recipe: &model.Recipe, Directed: true})
	if !slices.Contains(again.Warnings, "dataset.Options.Directed is true, but the model was trained with false, which holds") {
		t.Errorf("warnings are %q", again.Warnings)
	}
}

// TestChainsAreDirected: edges that all lead from a row to the next are learned directed, where they are
// enough and nothing says otherwise, whatever the data are given as.
func TestChainsAreDirected(t *testing.T) {
	chain := func(nodes int) *Arrays {
		a := &Arrays{Labels: [][]int32{make([]int32, nodes)}, States: []int32{2}}
		for s := range int32(nodes - 1) {
			a.Labels[0][s] = s % 2
			a.Edges = append(a.Edges, [2]int32{s, s + 1})
		}
		return a
	}
	back := chain(20)
	back.Edges[3][0], back.Edges[3][1] = back.Edges[3][1], back.Edges[3][0]
	before, skipping := chain(20), chain(20)
	for e := range before.Edges {
		before.Edges[e] = [2]int32{int32(e) + 1, int32(e)}
	}
	skipping.Edges = append(skipping.Edges, [2]int32{0, 5})
	for name, c := range map[string]struct {
		manifest Manifest
		o        Options
		data     []*Arrays
		want     bool
	}{
		"a chain":           {data: []*Arrays{chain(20)}, want: true},
		"two chains":        {data: []*Arrays{chain(9), chain(9)}, want: true},
		"to the row before": {data: []*Arrays{before, before}, want: true},
		"there and back":    {data: []*Arrays{before, chain(30)}},
		"few edges":         {data: []*Arrays{chain(16)}},
		"one leads back":    {data: []*Arrays{back}},
		"one skips rows":    {data: []*Arrays{chain(20), skipping}},
		"asked not to be":   {o: Options{Tied: true}, data: []*Arrays{chain(20)}},
		"said not to be":    {manifest: Manifest{Directed: new(false)}, data: []*Arrays{chain(20)}},
		"weights of a node": {o: Options{Untied: true}, data: []*Arrays{chain(20)}},
	} {
		set, err := FromArrays(c.manifest, c.o, c.data...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		noted := slices.ContainsFunc(set.Warnings, func(w string) bool {
			return strings.Contains(w, "learned directed") && strings.HasSuffix(w, "give dataset.Options.Tied = true")
		})
		if set.Schema.EdgeTypes[0].Symmetric == c.want || noted != c.want {
			t.Errorf("%s: symmetric is %v, and noted %v", name, set.Schema.EdgeTypes[0].Symmetric, noted)
		}
	}
	// Nodes of tables are in the order of their rows, whatever the numbers in their names.
	nodes, edges, turned := "id,label\n", "source,target\n", "source,target\n"
	for s := range 20 {
		nodes += fmt.Sprintf("n%d,%c\n", 7*s%20, 'x'+rune(s%2))
		if s > 0 {
			edges += fmt.Sprintf("n%d,n%d\n", 7*(s-1)%20, 7*s%20)
			turned += fmt.Sprintf("n%d,n%d\n", 7*s%20, 7*(s-1)%20)
		}
	}
	ends := map[string][][]int32{}
	for text, want := range map[string]bool{edges: true, turned: true, edges + "n7,n0\n": false} { // one both ways round
		dir := t.TempDir()
		paths := []string{filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "edges.csv")}
		for i, text := range []string{nodes, text} {
			oracle.OK(t, os.WriteFile(paths[i], []byte(text), 0o666))
		}
		set := oracle.Must(Open(t.Context(), paths, Options{}))(t)
		if set.Schema.EdgeTypes[0].Symmetric == want {
			t.Errorf("edges %q: directed is %v", text, !want)
		}
		u, v := set.Instances[0].Graph.Ends()
		ends[text] = [][]int32{u, v}
	}
	slices.Reverse(ends[turned])
	oracle.Equal(t, ends[turned], ends[edges], "ends of edges that lead to the row before, turned")
}

// TestDirectionNote: a chain of states in turn is met by a note, and the same edges with their
// ends in any order are not, whatever their labels.
func TestDirectionNote(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 400
	a := Arrays{Labels: [][]int32{make([]int32, n)}, States: []int32{3}}
	for s := range int32(n) {
		a.Labels[0][s] = s % 3
		if rng.IntN(20) == 0 {
			a.Labels[0][s] = int32(rng.IntN(3))
		}
		if s > 0 {
			a.Edges = append(a.Edges, [2]int32{s - 1, s})
		}
	}
	a.Edges = append(a.Edges, [2]int32{0, 5}) // lest all edges lead from a row to the next
	noted := func(o Options) string {
		set := oracle.Must(FromArrays(Manifest{States: []string{"x", "y", "z"}}, o, &a))(t)
		i := slices.IndexFunc(set.Warnings, func(w string) bool { return strings.Contains(w, "directed") })
		if i < 0 {
			return ""
		}
		return set.Warnings[i]
	}
	const advice = `of a crawl, give dataset.Options.Directed = true`
	if got := noted(Options{}); !strings.HasPrefix(got, `edges of type "edge" look directed: `) ||
		!strings.Contains(got, " times, the other way round ") || !strings.HasSuffix(got, advice) {
		t.Errorf("note %q", got)
	}
	oracle.Equal(t, noted(Options{Directed: true}), "", "of directed edges")
	for e := range a.Edges {
		if rng.IntN(2) == 0 {
			a.Edges[e][0], a.Edges[e][1] = a.Edges[e][1], a.Edges[e][0]
		}
	}
	oracle.Equal(t, noted(Options{}), "", "with ends in any order")
}

// TestDirectionOfSamples: samples of few edges are as little evidence as few edges are, and where
// each node has weights of its own, that states are rarer at some is none.
func TestDirectionOfSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const samples = 300
	for edges, want := range map[int]bool{5: false, 60: true} {
		a := Arrays{States: []int32{2}} // of species that are there ever more rarely
		for range samples {
			labels := make([]int32, edges+1)
			for s := range labels {
				if rng.Float64() < .9-.8*float64(s)/float64(edges) {
					labels[s] = 1
				}
			}
			a.Labels = append(a.Labels, labels)
		}
		for s := range int32(edges) {
			a.Edges = append(a.Edges, [2]int32{0, s + 1})
		}
		for untied, want := range map[bool]bool{false: want, true: false} {
			set := oracle.Must(FromArrays(Manifest{States: []string{"x", "y"}}, Options{Untied: untied}, &a))(t)
			if got := slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, "look directed") }); got != want {
				t.Errorf("%d edges, untied %v: a note %v, want %v", edges, untied, got, want)
			}
		}
	}
}
