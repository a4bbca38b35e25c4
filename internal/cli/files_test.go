package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/cli"
	arrayfile "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// noPaths are the options that hold texts and name no file; spill names a folder in which nothing is left.
var noPaths = strings.Fields(`kind states columns observed blocks partition method class-weights
	counting edges edge-features step order mpi spill early-stop cost decode split
	task sampler scale resume sample-weights lattice loss intervals host`)

// noPathArguments are the verbs whose arguments are no paths.
var noPathArguments = strings.Fields("train demo example features generate compare version help serve completion bash zsh fish powershell")

// verbsThatWrite are all of them, as the tests below try them. A new one belongs there.
var verbsThatWrite = strings.Fields("demo eval example infer predict sample train")

// TestPathsAreDeclared: every option of every verb that could be a path says whether the
// verb reads or writes there, and what can write over files has --force.
func TestPathsAreDeclared(t *testing.T) {
	t.Parallel()
	writing := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		if !cmd.HasParent() {
			return
		}
		if _, ok := cmd.Annotations[cli.ReadsAnnotation]; !ok && !slices.Contains(noPathArguments, cmd.Name()) {
			t.Errorf("%s: it is not said what its arguments are; use readsArguments", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, reads := f.Annotations[cli.ReadsAnnotation]
			writes := f.Name == "out"
			text := slices.Contains([]string{"string", "stringArray", "stringSlice", ""}, f.Value.Type())
			if text && !reads && !writes && !slices.Contains(noPaths, f.Name) {
				t.Errorf("%s --%s: it names something: use reads or writes", cmd.Name(), f.Name)
			}
			if writes {
				writing[cmd.Name()] = true
				if cmd.Flags().Lookup("force") == nil {
					t.Errorf("%s writes --%s and has no --force", cmd.Name(), f.Name)
				}
			}
		})
	}
	visit(cli.Root())
	oracle.Equal(t, slices.Sorted(maps.Keys(writing)), verbsThatWrite, "the verbs that write")
}

// things are what the commands below read, in a folder of their own.
func things(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{folder}, elements...)...) }
	copyFolder(t, gridData(t), at("data"))
	copyFolder(t, gridRun(t), at("run"))
	writeFile(t, at("net.uai"), loopUAI)
	writeFile(t, at("evidence.uai"), "1 1 1\n")
	oracle.OK(t, arrayfile.WriteArchive(at("tables.npz"), arrayfile.ArrayOf("theta", []float64{0, 1, 2, 0}, 2, 2)))
	return folder
}

// overInputs are commands with the file, at $OUT, that they both read and would write.
var overInputs = []struct{ args, input string }{
	{"sample tables.npz -o $OUT", "tables.npz"},
	{"sample data/0.npz -m run -o $OUT", "data/0.npz"},
	{"infer net.uai -o $OUT", "net.uai"},
	{"infer net.uai --evidence evidence.uai -o $OUT", "evidence.uai"},
	{"train data -o $OUT --l2 1", "data/"},
	{"train data -o $OUT --init run", "run/"},
	{"train data -o $OUT --reference run", "run/"},
	{"predict data -m run -o $OUT", "data/"},
	{"predict data -m run -o $OUT", "run/"},
	{"eval data -m run -o $OUT", "data/"},
	{"eval data -m run -o $OUT", "run/"},
	{"sample data -m run -o $OUT", "data/"},
	{"sample data -m run -o $OUT", "run/"},
}

// TestOutputsOverInputs: whatever name an input has as an output, nothing happens to it, with --force neither.
func TestOutputsOverInputs(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := things(t)
	aliases := t.TempDir()
	tried := 0
	for i, c := range overInputs {
		input := filepath.Join(folder, filepath.FromSlash(c.input))
		isFolder := strings.HasSuffix(c.input, "/")
		names := map[string]string{
			"the same path": input,
			"another way":   filepath.Dir(input) + "/../" + filepath.Base(filepath.Dir(input)) + "/./" + filepath.Base(input),
		}
		alias := func(kind string, link func(old, new string) error) {
			// The extension decides what some verbs write.
			path := filepath.Join(aliases, fmt.Sprint(i, kind, filepath.Ext(input)))
			if err := link(input, path); err == nil {
				names["a "+kind+" link"] = path
			}
		}
		alias("symbolic", os.Symlink)
		if !isFolder {
			alias("hard", os.Link)
		}
		before := tree(t, folder)
		for name, path := range names {
			for _, force := range []string{"", " --force"} {
				var args []string
				for word := range strings.FieldsSeq(c.args + force) {
					word = strings.Replace(word, "$OUT", path, 1)
					if _, err := os.Stat(filepath.Join(folder, word)); err == nil {
						word = filepath.Join(folder, word)
					}
					args = append(args, word)
				}
				o := run(t, args...)
				o.wantFailure(t, 2, path)
				wantUntouched(t, o, before, tree(t, folder))
				if t.Failed() {
					t.Fatalf("that was %s%s", name, force)
				}
				tried++
			}
		}
	}
	if tried < 40 {
		t.Errorf("%d outputs over inputs were tried", tried)
	}
	t.Logf("%d outputs over inputs, all refused", tried)
}

// TestForce: a file that is there is left alone, unless --force is given; also where a symbolic link leads to nothing.
func TestForce(t *testing.T) {
	t.Parallel()
	folder := things(t)
	net := filepath.Join(folder, "net.uai")
	fresh := func(name string) string { return filepath.Join(t.TempDir(), name) }
	for name, args := range map[string][]string{
		"sample":     {"sample", net, "--samples", "4", "-q", "-o"},
		"infer":      {"infer", net, "-o"},
		"infer json": {"infer", net, "--json", "-o"},
		"example":    {"example", "network", "-o"},
	} {
		command := func(out, force string) []string {
			return slices.DeleteFunc(slices.Concat(args, []string{out, force}), func(s string) bool { return s == "" })
		}
		file := "out.npz"
		if name == "example" {
			file = "out.uai"
		}
		out := writeFile(t, fresh(file), "mine")
		run(t, command(out, "")...).wantFailure(t, 2, out, "there already", "--force")
		oracle.Equal(t, readFile(t, out), "mine", "%s: the file without --force", name)
		mustRun(t, command(out, "--force")...)
		if got := readFile(t, out); got == "mine" || got == "" {
			t.Errorf("%s --force: the file holds %q", name, got)
		}
		target, link := fresh("target"), fresh(file)
		if os.Symlink(target, link) != nil {
			continue
		}
		run(t, command(link, "")...).wantFailure(t, 2, link, "symbolic link", "--force")
		if _, err := os.Stat(target); err == nil {
			t.Errorf("%s: the file behind the link was made", name)
		}
		mustRun(t, command(link, "--force")...)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || readFile(t, target) != readFile(t, out) {
			t.Errorf("%s --force: the link was not followed: %v, %v", name, info, err)
		}
	}
}

// TestForceFolder: a folder that holds something is left alone, unless --force is given,
// which writes over files of the same names and removes nothing.
func TestForceFolder(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := things(t)
	data, runDir := filepath.Join(folder, "data"), filepath.Join(folder, "run")
	for name, c := range map[string]struct {
		args   []string
		writes string // one of its files
	}{
		"predict": {[]string{"predict", data, "-m", runDir, "-q", "-o"}, "0.npz"},
		"eval":    {[]string{"eval", data, "-m", runDir, "-q", "-o"}, "report.html"},
		"sample":  {[]string{"sample", data, "-m", runDir, "--samples", "4", "-q", "-o"}, "1.npz"},
		"example": {[]string{"example", "graph", "-o"}, "dataset.json"},
		"demo":    {[]string{"demo", "--side", "5", "-o"}, "report.html"},
	} {
		out := t.TempDir()
		mine, other := writeFile(t, filepath.Join(out, c.writes), "mine"), writeFile(t, filepath.Join(out, "notes", "other.txt"), "other")
		before := tree(t, out)
		o := run(t, append(c.args, out)...)
		o.wantFailure(t, 2, out, "not empty", "--force")
		wantUntouched(t, o, before, tree(t, out))
		mustRun(t, append(c.args, out, "--force")...)
		if readFile(t, mine) == "mine" || readFile(t, other) != "other" {
			t.Errorf("%s --force: %s should be new, and %s as it was", name, mine, other)
		}
	}
}

// TestAnew: --force removes what a run left, and only that, before another begins in its folder.
func TestAnew(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dir, data := filepath.Join(folder, "run"), gridData(t)
	args := []string{"train", data, "-o", dir, "-q", "--threads", "1", noReport}
	mustRun(t, append(args, "--report", "--max-iter", "30", "--eval", "same="+data)...)
	finished := tree(t, dir)
	o := run(t, append(args, "--l2", "2", "--max-iter", "5")...)
	o.wantFailure(t, 2, dir, "a training is in this folder already", "--resume", "--force")
	wantUntouched(t, o, finished, tree(t, dir))

	// What a killed run leaves is removed too.
	writeFile(t, filepath.Join(dir, "checkpoint", ".state.safetensors1234567890"), "half")
	writeFile(t, filepath.Join(dir, ".blockbp-1234567", "result.json"), "half")
	mustRun(t, append(args, "--l2", "2", "--max-iter", "5", "--force")...)
	again := filepath.Join(folder, "again")
	mustRun(t, "train", data, "-o", again, "-q", "--threads", "1", noReport, "--l2", "2", "--max-iter", "5")
	oracle.Equal(t, readFile(t, dir, "model.safetensors"), readFile(t, again, "model.safetensors"),
		"the model of the run that started anew, and of one in a new folder")
	oracle.Equal(t, namesIn(dir), namesIn(again), "the folder holds")
	oracle.Equal(t, len(metricsOf(t, dir)), len(metricsOf(t, again)), "lines of metrics")

	// Nothing else is ever removed.
	others := []string{"notes.txt", "plots/notes.txt", "data/0.npz"}
	for _, name := range others {
		writeFile(t, filepath.Join(again, name), "mine")
	}
	mustRun(t, "train", data, "-o", again, "--force", "-q", "--max-iter", "5", noReport)
	for _, name := range others {
		oracle.Equal(t, readFile(t, again, name), "mine", "%s has become", name)
	}
	writeFile(t, filepath.Join(again, "config.json"), `{"command": "serve"}`)
	before := tree(t, again)
	o = run(t, "train", data, "-o", again, "--force", "-q")
	o.wantFailure(t, 2, again, "is not the folder of a training")
	wantUntouched(t, o, before, tree(t, again))
}

// TestAnewFollowsNoLink: a folder in the place of a run's own, which a link leads to, loses nothing.
func TestAnewFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir, mine := filepath.Join(t.TempDir(), "run"), t.TempDir()
	args := []string{"train", gridData(t), "-o", dir, "-q", noReport, "--max-iter", "2"}
	mustRun(t, args...)
	writeFile(t, filepath.Join(mine, "other.svg"), "mine")
	oracle.OK(t, os.Symlink(mine, filepath.Join(dir, "plots")))
	mustRun(t, append(args, "--force")...)
	oracle.Equal(t, readFile(t, mine, "other.svg"), "mine", "the file behind the link has become")
}

// TestDash: standard output takes none of the results that are files.
func TestDash(t *testing.T) {
	t.Parallel()
	net := filepath.Join(things(t), "net.uai")
	for _, args := range [][]string{{"predict", net, "-m", net}, {"sample", net}, {"example", "network"}} {
		run(t, append(args, "-o", "-")...).wantFailure(t, 2, "--out -", "standard output")
	}
}

// TestLinkedFolder: a training starts anew behind a link, and only where there was one.
func TestLinkedFolder(t *testing.T) {
	t.Parallel()
	folder := things(t)
	data, dir := filepath.Join(folder, "data"), filepath.Join(folder, "run")
	link := filepath.Join(folder, "link")
	if os.Symlink(dir, link) == nil {
		mustRun(t, "train", data, "-o", link, "--force", "-q", "--max-iter", "2", noReport)
	}
	full := filepath.Join(folder, "full")
	writeFile(t, filepath.Join(full, ".hidden"), "mine")
	if o := run(t, "train", data, "-o", full); strings.Contains(o.stderr, "--force") {
		t.Errorf("--force is advised where it does not help: %s", o.stderr)
	}
}
