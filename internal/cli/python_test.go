package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pythonLines is how long a snippet of docs/python.md may be, without blank lines.
const pythonLines = 10

// pythonChecks are put behind the snippets of a section.
var pythonChecks = map[string]string{
	"Write instances":  `assert edges.shape == (760, 2) and len(os.listdir("data")) == 4`,
	"Read predictions": `assert (p["labels"] == truth).mean() > 0.85 and abs(p["beliefs"].sum(axis=1) - 1).max() < 1e-9`,
	"Read samples": `
p = np.load("predicted/0.npz")
assert x.shape == (400, 400) and x.min() == 0 and x.max() == 2 and [c.shape for c in chains] == [(100, 400)] * 4
assert abs(np.mean([x == k for k in range(3)], axis=1).T - p["beliefs"]).mean() < 0.1 and np.nanmax(s["rhat"]) < 1.1
assert (x[:, u] == x[:, v]).mean() > 0.7`,
	"Read the model": `
assert W["node.node"].shape == (3, 4) and W["edge.edge"].shape == (3, 3, 1)
assert all(W["node.node"][k].argmax() in (k, 3) for k in range(3))`,
	"Potentials, and the score of a labelling": `
s = np.load("samples.npz")
x = s["samples"][7]
other = net["constant"] + net["theta"][np.arange(400), x].sum() + net["theta_uv"][np.arange(760), x[u], x[v]].sum()
assert abs(other - s["log_score"][7]) < 1e-9 * abs(other) and score > s["log_score"].max()`,
	"Write a network":    `assert np.load("ring.npz")["theta_uv"].shape == (3, 3)`,
	"Results and curves": `assert json.loads(out)["models"][0]["accuracy"] > 0.85`,
}

// TestPythonPage runs the blocks of docs/python.md one after another.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: the page is Python, which nothing else here needs; the test runs where there are python3 and numpy")
	}
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("skipped: the page needs numpy too; the test runs where python3 has it: %v: %s", err, out)
	}
	folder := t.TempDir()
	environment := withCommand(t, filepath.Join(folder, "bin"))
	work := filepath.Join(folder, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	execute := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = work, environment
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		err := cmd.Run()
		return output.String(), err
	}
	blocks := regexp.MustCompile("(?ms)^## (.*?)$|^```(\\w+)\n(.*?)^```$")
	section, seen := "", map[string]int{}
	for _, match := range blocks.FindAllStringSubmatch(readFile(t, "..", "..", "docs", "python.md"), -1) {
		title, language, text := match[1], match[2], match[3]
		switch language {
		case "":
			section = title
			continue
		case "sh":
			for line := range strings.Lines(text) {
				args := strings.Fields(line)
				if out, err := execute(filepath.Join(folder, "bin", args[0]), args[1:]...); err != nil {
					t.Fatalf("%s: %v:\n%s", line, err, out)
				}
			}
			continue
		case "python":
		default:
			t.Errorf("%s: a block in %s, want python or sh", section, language)
		}
		if n := codeLines(text); n > pythonLines {
			t.Errorf("%s: a snippet of %d lines, want at most %d", section, n, pythonLines)
		}
		if strings.Contains(text, "safetensors.numpy") {
			if _, err := execute(python, "-c", "import safetensors.numpy"); err != nil {
				t.Logf("%s: python3 has no safetensors: one snippet was not run", section)
				continue
			}
		}
		seen[section]++
		out, err := execute(python, "-c", text+"\n"+pythonChecks[section])
		if err != nil {
			t.Fatalf("%s: %v:\n%s\n%s", section, err, text, out)
		}
		if !strings.HasPrefix(section, "Write") && out == "" {
			t.Errorf("%s: the snippet prints nothing", section)
		}
	}
	for section := range pythonChecks {
		if seen[section] == 0 {
			t.Errorf("there is no snippet in a section %q", section)
		}
	}
}

// withCommand puts blockbp, which is this test, into a folder, and returns an
// environment whose path begins with it.
func withCommand(t *testing.T, bin string) []string {
	t.Helper()
	self, err := os.Executable()
	if err == nil {
		err = os.Mkdir(bin, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "blockbp")); err != nil {
		t.Skipf("skipped: no link to the command can be made: %v", err)
	}
	path := fmt.Sprintf("PATH=%s%c%s", bin, os.PathListSeparator, os.Getenv("PATH"))
	return append(os.Environ(), asCommand+"=1", path)
}

func codeLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}
