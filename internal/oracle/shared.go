package oracle

import (
	"os"
	"path/filepath"
	"testing"
)

// SharedData returns the path of a file or folder under ../shared/data, seen from the project's root. The data belong
// to others and are not in the repository: where they are absent the test is skipped.
func SharedData(tb testing.TB, elements ...string) string {
	tb.Helper()
	dir := Must(os.Getwd())(tb)
	for !exists(filepath.Join(dir, "go.mod")) {
		if dir == filepath.Dir(dir) {
			tb.Skip("skipped: the project's root, which has the go.mod, was not found")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared", "data"}, elements...)...)
	if !exists(path) {
		tb.Skipf("skipped: %s is absent; see its README for what belongs there", path)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
