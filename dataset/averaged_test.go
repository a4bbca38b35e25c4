package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestAveraged: a set that is averaged is the one that is read with as many hops, schema,
// recipe and features to the last bit, and the set itself stays.
func TestAveraged(t *testing.T) {
	edges := "a\tb\nb\tc\nd\te\n"
	for name, path := range map[string]string{
		"unknown": writeFiles(t, tables("a\t0\t\t0:3\nb\t1\t\t?\nc\t0\t\t0:6 1\nd\t1\t\t?\ne\t-1\t\t1\n", edges)),
		"ones":    writeFiles(t, tables("a\t0\t\t0\nb\t1\t\t1 2\nc\t0\t\t0 1\nd\t1\t\t2\ne\t-1\t\t1\n", edges)),
		"header":  writeFiles(t, map[string]string{"nodes.csv": "id,label,x,kind\na,p,1,red\nb,q,2,blue\nc,p,9,red\n", "edges.csv": "source,target,w\na,b,1\nc,b,2\n"}),
	} {
		for hops := 1; hops <= 3; hops++ {
			set, want := mustOpen(t, path, Options{}), mustOpen(t, path, Options{Hops: hops})
			before := slices.Clone(set.Instances[0].NodeFeatures(0).Data().Value)
			got := oracle.Must(set.Averaged(t.Context(), hops, 0))(t)
			if got.Recipe.String() != want.Recipe.String() || !slices.Equal(got.Schema.NodeTypes[0].FeatureNames, want.Schema.NodeTypes[0].FeatureNames) || got.Schema.NodeTypes[0].Features != want.Schema.NodeTypes[0].Features {
				t.Errorf("%s, %d hops: recipe %s, features %q, want %s, %q", name, hops, &got.Recipe, got.Schema.NodeTypes[0].FeatureNames, &want.Recipe, want.Schema.NodeTypes[0].FeatureNames)
			}
			a, b := got.Instances[0].NodeFeatures(0), want.Instances[0].NodeFeatures(0)
			for s := range a.Rows() {
				oracle.Equal(t, row(a, s), row(b, s), "%s, %d hops, node %d", name, hops, s)
			}
			if got.Instances[0].Schema() != &got.Schema || set.Recipe.Hops != 0 || !slices.Equal(before, set.Instances[0].NodeFeatures(0).Data().Value) {
				t.Errorf("%s: the set itself has changed", name)
			}
		}
	}
	path := writeFiles(t, tables("a\t0\t\t0\nb\t1\t\t1 2\n", "a\tb\n"))
	for _, o := range []Options{{Hops: 1}, {NoBias: true}} {
		if set := mustOpen(t, path, o); set.CanAverage() {
			t.Errorf("%+v: it can be averaged", o)
		} else if _, err := set.Averaged(t.Context(), 1, 0); err == nil {
			t.Errorf("%+v: it was averaged", o)
		}
	}
	if _, err := mustOpen(t, path, Options{}).Averaged(t.Context(), 1, 100); !errors.As(err, new(*memory.Error)) {
		t.Errorf("with little memory the error is %v", err)
	}
}

// TestHopsOfTables: both kinds of tables have means, the recipe keeps how many hops, and
// new data of the model have them without being told.
func TestHopsOfTables(t *testing.T) {
	edges := "a\tb\nb\tc\nd\te\n"
	plain := writeFiles(t, tables("a\t0\t\t0:3\nb\t1\t\t?\nc\t0\t\t0:6 1\nd\t1\t\t?\ne\t-1\t\t?\n", edges))
	set := mustOpen(t, plain, Options{Hops: 1, States: []string{"p", "q"}})
	f := set.Instances[0].NodeFeatures(0)
	for node, want := range [][]float64{{3, 0, 0, 1}, {4.5, .5, 0, 1}, {6, 1, 0, 1}, {0, 0, 1, 0}, {0, 0, 1, 0}} {
		oracle.Equal(t, row(f, node), want, "means of node %d", node)
	}
	if text := strings.Join(set.Warnings, "\n"); set.Recipe.Hops != 1 || !strings.Contains(text, `column "features" has 3 missing cells of 5`) {
		t.Errorf("recipe %+v, warnings %s", set.Recipe, text)
	}
	model := modelOf(set)
	model.Hops = 2
	if w := strings.Join(mustOpen(t, plain, model).Warnings, "\n"); !strings.Contains(w, "dataset.Options.Hops is 2, but the model was trained with 1, which holds") {
		t.Errorf("warnings are %q", w)
	}
	refuses(t, plain, Options{Hops: 99}, fmt.Sprintf("it is 99, want 0 to %d", mostHops))
	refuses(t, plain, Options{Hops: 2, Memory: 300}, "means of features over 2 hops")
}
