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
	path := filepath.Join(append([]string{"..", "shared", "data"}, elements...)...)
	for range 3 { // folders of a package, up to the root
		path = filepath.Join("..", path)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Skipf("skipped: %s is absent; see its README for what belongs there", path)
	return ""
}
