package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestVersion: the version is a semantic one, and the same everywhere.
func TestVersion(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "version", "--json").object(t, "version", "commit", "modified", "go", "platform")
	version, _ := o["version"].(string)
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(version) {
		t.Errorf("the version is %v, want one such as v1.2.3", o["version"])
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if out := mustRun(t, args...).stdout; !strings.Contains(out, version) {
			t.Errorf("blockbp %s prints %q, without %s", args[0], out, version)
		}
	}
	run(t, "version", "now").wantFailure(t, 2, `"now"`)
}
