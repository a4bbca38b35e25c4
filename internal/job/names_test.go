package job

import (
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
)

// TestUniqueNames: no result takes the name of another, or one that is taken.
func TestUniqueNames(t *testing.T) {
	var instances []*crf.Instance
	for _, name := range []string{"a2.npz", "x/a", "y/a", "pictures", "", "a", ".", "pictures0"} {
		instances = append(instances, &crf.Instance{Name: name})
	}
	names := UniqueNames(instances, "pictures")
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(instances) || slices.Contains(names, "pictures") {
		t.Errorf("the names are %q", names)
	}
	if names[0] != "a2" || names[1] != "a" {
		t.Errorf("the names are %q, where the first two are unique", names)
	}
}
