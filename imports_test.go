package blockbp_test

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

const module = "github.com/blockbp/blockbp"

// mayImport is the one-way street through the house: for every package, by its folder, the rooms it may import from. A
// room stands for itself and the packages below it. What is not in the table fails, so that a new room finds its place
// here first; ARCHITECTURE.md gives the reasons.
var mayImport = map[string][]string{
	// The door, and what is behind it.
	".": {"internal/option", "crf", "dataset", "infer", "learn", "internal/job", "internal/numeric", "internal/report"},

	"graph":    {},
	"mrf":      {"graph"},
	"counting": {"graph", "internal/numeric", "internal/parallel"},
	"crf":      {"graph", "internal/fileio", "internal/numeric", "internal/safetensors"},

	// Inference stands beside learning: neither knows the other.
	"infer": {"crf", "counting", "mrf", "graph", "internal/bp", "internal/exact", "internal/gibbs",
		"internal/memory", "internal/numeric", "internal/parallel", "internal/partition", "internal/ground"},
	"learn": {"internal/option", "internal/fileio", "internal/linear", "internal/runstate", "internal/cut",
		"internal/instances", "internal/lbfgs", "internal/local", "crf", "counting", "graph", "internal/bp",
		"internal/distributed", "internal/memory", "internal/numeric", "internal/parallel", "internal/partition",
		"internal/safetensors", "internal/simd", "internal/spill", "internal/ground", "internal/upsample",
		"internal/gibbs"},

	"dataset": {"internal/option", "internal/fileio", "crf", "mrf", "graph", "internal/formats", "internal/uai",
		"internal/memory", "internal/npy", "internal/numeric", "internal/parallel", "internal/printable",
		"internal/upsample"},

	"internal/bp": {"crf", "counting", "mrf", "graph", "internal/numeric", "internal/parallel",
		"internal/partition", "internal/simd", "internal/ground"},
	"internal/exact": {"mrf", "graph", "internal/gibbs", "internal/memory", "internal/numeric"},
	"internal/local": {"crf", "counting", "internal/lbfgs", "internal/memory", "mrf", "internal/bp",
		"internal/numeric", "graph", "internal/exact", "internal/ground", "internal/instances", "internal/parallel",
		"internal/partition", "internal/simd", "internal/option"},
	"internal/lbfgs": {"internal/numeric", "internal/simd"},
	"internal/runstate": {"internal/option", "counting", "crf", "graph", "internal/instances", "internal/partition",
		"internal/safetensors", "internal/upsample"},
	"internal/linear": {"crf", "graph", "internal/bp", "internal/ground", "internal/instances",
		"internal/numeric", "internal/parallel", "internal/partition", "internal/simd"},
	"internal/cut": {"internal/option", "crf", "graph", "internal/ground", "internal/memory",
		"internal/partition"},
	"internal/instances": {"crf", "counting", "graph", "internal/ground", "internal/numeric", "internal/parallel",
		"internal/simd"},
	"internal/distributed": {"internal/numeric"},
	"internal/gen":         {"graph"},
	"internal/gibbs":       {"mrf", "internal/numeric"},
	"internal/ground": {"crf", "mrf", "graph", "internal/numeric", "internal/parallel", "internal/partition",
		"internal/simd", "internal/upsample"},
	"internal/partition": {"graph"},
	"internal/uai": {"internal/option", "internal/fileio", "mrf", "graph", "internal/memory", "internal/npy",
		"internal/numeric"},

	// What people see knows nothing of learning.
	"internal/runfolder": {"internal/option", "internal/fileio", "internal/printable", "internal/simd"},
	"internal/report":    {"internal/numeric", "internal/option", "internal/printable"},

	"internal/watch": {"learn", "internal/fileio", "internal/job", "internal/printable", "internal/runfolder"},

	// What info says of files.
	"internal/describe": {
		"internal/option", "internal/fileio", "learn", "infer", "crf", "counting", "dataset", "graph", "mrf",
		"internal/exact", "internal/job", "internal/npy", "internal/numeric", "internal/report",
		"internal/runfolder", "internal/uai",
	},

	// What is drawn at random, to be learned.
	"internal/synthetic": {"internal/fileio", "internal/npy", "internal/printable",
		"learn", "crf", "graph", "dataset", "internal/gibbs", "internal/instances", "internal/numeric", "internal/parallel",
		"internal/ground", "internal/runfolder", "internal/report",
	},
	"internal/standardise": {"internal/fileio", "internal/instances", "crf", "internal/parallel", "internal/spill",
		"internal/numeric", "internal/upsample"},

	"internal/fileio": {},
	"internal/option": {"internal/printable"},
	"internal/formats": {"internal/option", "internal/fileio", "internal/npy", "internal/numeric",
		"internal/printable"},
	"internal/npy":         {"internal/option", "internal/fileio", "internal/memory", "internal/numeric"},
	"internal/printable":   {},
	"internal/numeric":     {},
	"internal/parallel":    {},
	"internal/safetensors": {"internal/fileio", "internal/numeric"},
	"internal/simd":        {"internal/numeric"},
	"internal/upsample":    {"crf", "internal/numeric"},
	"internal/memory":      {"internal/simd"},
	"internal/spill":       {"internal/option", "internal/memory"},
	"internal/oracle":      {"mrf", "graph"},

	// A training with what is said of it, for the command and the door.
	"internal/job": {
		"internal/option", "internal/cut", "internal/ground", "internal/upsample", "internal/instances", "internal/local",
		"internal/standardise", "learn", "infer", "crf", "counting", "graph",
		"dataset", "internal/bp", "internal/numeric", "internal/parallel", "internal/runfolder",
		"internal/npy", "internal/report", "internal/memory", "internal/safetensors", "internal/spill",
		"internal/fileio", "internal/printable",
	},

	"internal/cli": {"internal/option", "internal/cut", "internal/fileio", "internal/formats", "internal/job", "learn",
		"infer", "crf", "counting", "mrf", "graph", "dataset", "internal/bp", "internal/exact", "internal/partition",
		"internal/uai", "internal/ground", "internal/describe", "internal/distributed", "internal/synthetic",
		"internal/npy", "internal/runfolder", "internal/report", "internal/watch", "internal/memory",
		"internal/printable",
		"internal/numeric", "internal/safetensors"},
	"cmd/blockbp": {"internal/cli", "internal/distributed", "internal/memory"},
}

// public is what users may import beside the door, as api.txt lists it.
var public = []string{"counting", "crf", "dataset", "graph", "infer", "learn", "mrf"}

// forTests is imported by tests only.
const forTests = "internal/oracle"

func within(rooms []string, folder string) bool {
	for _, room := range rooms {
		if folder == room || strings.HasPrefix(folder, room+"/") {
			return true
		}
	}
	return false
}

// TestImports reads the imports of every file of the module, whatever system it
// is for, and holds them against the table.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(name, entry)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		folder := path.Dir(filepath.ToSlash(name))
		test := strings.HasSuffix(name, "_test.go")
		if !test {
			seen[folder] = true
		}
		return checkFile(t, name, folder, test)
	}))
	for folder := range seen {
		if _, ok := mayImport[folder]; !ok {
			t.Errorf("package %s is not in the table of this test: say what it may import", folder)
		}
	}
	for folder := range mayImport {
		if !seen[folder] {
			t.Errorf("package %s is in the table of this test, and is not there", folder)
		}
	}
}

// opensItself are the files that open others by themselves: what they open has a name of
// our own or of the system, is known to be regular, or may be a stream.
var opensItself = map[string]string{
	"internal/fileio/read.go":           "os.Open",
	"internal/uai/scan.go":              "os.Open",     // a network may come from a pipe that the shell opened
	"internal/runfolder/run.go":         "os.Open",     // a folder
	"internal/runfolder/environment.go": "os.Open",     // of the system
	"internal/memory/available.go":      "os.ReadFile", // of the system
	"internal/runstate/arrays.go":       "os.Open",     // a folder
}

// TestInputsAreBounded: files are opened and read by internal/fileio, which waits for no pipe and reads no device.
func TestInputsAreBounded(t *testing.T) {
	calls := regexp.MustCompile(`\b(os\.(ReadFile|Open)|io\.ReadAll)\b`)
	oracle.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(name, entry)
		}
		name = filepath.ToSlash(name)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || path.Dir(name) == forTests {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, call := range calls.FindAllString(string(text), -1) {
			oracle.Equal(t, opensItself[name], call, "%s calls %s: read through internal/fileio, which has bounds", name, call)
		}
		return nil
	}))
}

// skipFolder leaves out folders that are not packages of this module.
func skipFolder(name string, entry fs.DirEntry) error {
	if name == "." {
		return nil
	}
	if base := entry.Name(); base[0] == '.' || base[0] == '_' || base == "testdata" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir // a module of its own
	}
	return nil
}

func checkFile(t *testing.T, name, folder string, test bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	rooms, _ := mayImport[folder]
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		room, ours := strings.CutPrefix(imported, module+"/")
		switch {
		case !test && strings.HasSuffix(imported, "/template"):
			t.Errorf("%s imports %s, for which the linker keeps all exported methods of the command: 4 MB", name, imported)
		case !ours && imported != module:
		case test:
			// Tests may look further, but the command is not theirs.
			if strings.HasPrefix(room, "cmd/") || (room == "internal/cli" && folder != "internal/cli") {
				t.Errorf("%s imports %s", name, room)
			}
		case room == forTests:
			t.Errorf("%s imports %s, which is for tests only", name, room)
		case !within(rooms, room):
			t.Errorf("%s imports %s; package %s may import from %q only", name, room, folder, rooms)
		}
	}
	return nil
}
