package blockbp_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

var (
	usedAction   = regexp.MustCompile(`(?m)^ +(?:- )?uses: (.*)$`)
	pinnedAction = regexp.MustCompile(`^([\w.-]+/[\w./-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	rights       = regexp.MustCompile(`(?m)^permissions:( \{\}|\n  contents: read\n)`)
	jobHead      = regexp.MustCompile(`(?m)^  [\w-]+:\n`)
	goVersion    = regexp.MustCompile(`(?m)^ +go-version: (\S+)`)
	installs     = regexp.MustCompile(`(?m)actions/checkout|\b(?:make|bash|pip|python3?|go|npm|curl|apt-get) `)
)

// workflows returns the texts of the workflows by their files.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	files := oracle.Must(filepath.Glob(".github/workflows/*"))(t)
	texts := map[string]string{}
	for _, file := range files {
		text := oracle.Must(os.ReadFile(file))(t)
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// TestWorkflows: what runs on GitHub has no right that it does not need, takes actions by their
// commits, and leaves no token where packages are installed.
func TestWorkflows(t *testing.T) {
	texts := workflows(t)
	modules := oracle.Must(os.ReadFile("go.mod"))(t)
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(modules)
	pins := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		text := texts[file]
		if !rights.MatchString(text) {
			t.Errorf("%s: want permissions of the whole workflow, {} or contents: read", file)
		}
		for _, used := range usedAction.FindAllStringSubmatch(text, -1) {
			action := pinnedAction.FindStringSubmatch(used[1])
			if action == nil {
				t.Errorf("%s: uses %s: want a commit of 40 digits, and # with its version", file, used[1])
			} else if before := pins[action[1]]; before != "" && before != used[1] {
				t.Errorf("%s: uses %s, and another place %s", file, used[1], before)
			} else {
				pins[action[1]] = used[1]
			}
		}
		oracle.Equal(t, strings.Count(text, "actions/checkout@"), strings.Count(text, "persist-credentials: false\n"),
			"%s: checkouts, and those that leave no token", file)
		for _, version := range goVersion.FindAllStringSubmatch(text, -1) {
			oracle.Equal(t, version[1], string(language[1])+".x", "%s: go-version, the newest of go.mod's", file)
		}
		_, jobs, _ := strings.Cut(text, "\njobs:\n")
		for i, job := range jobHead.Split(jobs, -1) {
			if strings.Contains(job, ": write") && installs.MatchString(job) {
				t.Errorf("%s: job %d may write, and runs %q: build in a job that may not", file, i, installs.FindString(job))
			}
		}
	}
	for file, parts := range map[string][]string{
		"site.yml": {"run: make site\n"},
		"ci.yml":   {"run: bash .ci/run\n", "run: make pytest TORCH=torch", "run: make vulnerabilities\n", "  schedule:\n"},
		"release.yml": {
			"run: make dist\n", "sha256sum --check --strict", "actions/attest-build-provenance@",
			"subject-checksums: dist/SHA256SUMS\n",
		},
	} {
		oracle.Contains(t, texts[file], parts...)
	}
}
