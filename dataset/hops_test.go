package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestHopsOfTables: both kinds of tables have means, the recipe keeps how many hops, and
// new data of the model have them without being told.
func TestHopsOfTables(t *testing.T) {
	edges := "a\tb\nb\tc\nd\te\n"
	plain := writeFiles(t, tables("a\t0\t\t0:3\nb\t1\t\t?\nc\t0\t\t0:6 1\nd\t1\t\t?\ne\t-1\t\t?\n", edges))
	set := mustOpen(t, plain, Options{Hops: 1, States: []string{"p", "q"}})
	f := set.Instances[0].NodeFeatures(0)
	for node, want := range [][]float64{{1.5, 0, .5, 1}, {3, 1. / 3, 1. / 3, 1}, {3, .5, .5, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}} {
		if got := row(f, node); !slices.Equal(got, want) {
			t.Errorf("means of node %d are %v, want %v", node, got, want)
		}
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
	refuses(t, plain, Options{Hops: 2, Memory: 200}, "means of features over 2 hops")
}
