package synthetic_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// files maps the files below a path, or the file itself, to their content.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root)] = string(data)
		return err
	})
	oracle.OK(t, err)
	return found
}

// TestSeeds: one seed gives the same bytes again, another seed other ones.
func TestSeeds(t *testing.T) {
	for _, kind := range synthetic.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			var made []map[string]string
			for i, seed := range []uint64{1, 1, 2} {
				path := filepath.Join(t.TempDir(), "made", string(rune('a'+i)))
				oracle.OK(t, kind.Write(path, seed, nil))
				made = append(made, files(t, path))
			}
			if len(made[0]) == 0 || !maps.Equal(made[0], made[1]) {
				t.Errorf("two runs with one seed made %d and %d files that differ", len(made[0]), len(made[1]))
			}
			names := func(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
			if maps.Equal(made[0], made[2]) || !slices.Equal(names(made[0]), names(made[2])) {
				t.Error("another seed should give the same names with other contents")
			}
		})
	}
}

// TestNext: paths are quoted where a shell would take them apart.
func TestNext(t *testing.T) {
	for _, kind := range synthetic.Kinds {
		for path, want := range map[string]string{"data/": " data", "my data": " 'my data", "it's": ` 'it'\''s`} {
			next := kind.Next(path)
			if len(next) < 2 {
				t.Fatalf("%s: %d commands, want two at least", kind.Name, len(next))
			}
			for _, command := range next {
				if !strings.HasPrefix(command, "blockbp ") || !strings.Contains(command, want) || strings.Contains(command, "PATH") {
					t.Errorf("%s at %q: the command is %s", kind.Name, path, command)
				}
			}
		}
	}
}
