package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/oracle"
)

// mistake is a case of testdata/mistakes: files of a folder, a command, and all that it says. The file has it as
//
//	== the name
//	-- a file of the folder, with its lines below
//	$ blockbp the command, in which $DIR is the folder, $GRID are data, $RUN is a run on them, and so on
//	exit code 3
//	what it prints on both streams; of a dry run, on standard error
type mistake struct {
	name, command, said string
	files               []mistakeFile
}

// What differs between machines: how many processors there are, and last digits.
var (
	processors = regexp.MustCompile(`from 1 to \d+; this machine has \d+ processors`)
	digits     = regexp.MustCompile(`(\d\.\d{6})\d+`)
)

// mistakeFile is plain, or quoted in one line; without quotes the lines of an npz file are arrays: name, dtype, shape
// and numbers. Files above the first name are in the folders of all cases.
type mistakeFile struct {
	name, text string
	quoted     bool
}

// TestMistakes holds what people get wrong, and what they are told of it, against testdata/mistakes. What fails leaves
// the folder as it was. After a change that is meant, look at the difference and run
// go test ./internal/cli -run TestMistakes -update.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, path := range oracle.Must(filepath.Glob(filepath.Join("testdata", "mistakes", "*.txt")))(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			before := readFile(t, path)
			var after strings.Builder
			all := mistakesOf(t, before)
			for _, m := range all {
				m.run(t, all[0].files)
				m.write(&after)
			}
			if *update {
				oracle.OK(t, os.WriteFile(path, []byte(after.String()), 0o644))
			} else if difference := cmp.Diff(strings.Split(before, "\n"), strings.Split(after.String(), "\n")); difference != "" {
				t.Errorf("not as in %s (-want +got):\n%s", path, difference)
			}
		})
	}
}

// mistakesOf reads the cases of a file; the first is none, but has the files of all.
func mistakesOf(t *testing.T, text string) []*mistake {
	m := new(mistake)
	all := []*mistake{m}
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(whole, "== "); ok {
			m = &mistake{name: name}
			all = append(all, m)
		} else if file, ok := strings.CutPrefix(whole, "-- "); ok {
			name, quoted, isQuoted := strings.Cut(file, ": ")
			if isQuoted {
				quoted = oracle.Must(strconv.Unquote(quoted))(t)
			}
			m.files = append(m.files, mistakeFile{name, quoted, isQuoted})
		} else if command, ok := strings.CutPrefix(whole, "$ blockbp "); ok {
			m.command = command
		} else if m.command != "" {
			m.said += line
		} else {
			m.files[len(m.files)-1].text += line
		}
	}
	return all
}

// run replaces what a mistake says by what the command says now.
func (m *mistake) run(t *testing.T, shared []mistakeFile) {
	if m.command == "" {
		return
	}
	folder := t.TempDir()
	for _, f := range slices.Concat(shared, m.files) {
		text := f.text
		if filepath.Ext(f.name) == ".npz" && !f.quoted {
			text = npzOf(t, text)
		}
		writeFile(t, filepath.Join(folder, f.name), text)
	}
	names := []string{"$TABLERUN", tableRun(t), "$DIR", folder, "$GRID", gridData(t), "$RUN", gridRun(t), "$IMAGES", imageFolder(t),
		"$TABLES", graphTables(t)}
	paths := slices.Clone(names)
	slices.Reverse(paths)
	before := tree(t, folder)
	o := run(t, strings.Fields(strings.NewReplacer(names...).Replace(m.command))...)
	o.stderr = strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(o.stderr)), isProgress), "")
	o.stderr = processors.ReplaceAllString(o.stderr, "from 1 to N; this machine has N processors")
	o.stdout = digits.ReplaceAllString(o.stdout, "$1…")
	if slices.Contains(o.args, "--dry-run") {
		o.stdout = "" // what the machine has
	}
	m.said = strings.NewReplacer(paths...).Replace(fmt.Sprintf("exit code %d\n%s%s", o.code, o.stdout, o.stderr))
	if o.code != 0 {
		wantUntouched(t, o, before, tree(t, folder))
	}
}

// isProgress is true of lines that slow machines print, too.
func isProgress(line string) bool { return !strings.HasPrefix(line, "blockbp: ") }

func (m *mistake) write(w *strings.Builder) {
	if m.name != "" {
		fmt.Fprintf(w, "== %s\n", m.name)
	}
	for _, f := range m.files {
		if f.quoted {
			fmt.Fprintf(w, "-- %s: %q\n", f.name, f.text)
		} else {
			fmt.Fprintf(w, "-- %s\n%s", f.name, f.text)
		}
	}
	if m.command != "" {
		fmt.Fprintf(w, "$ blockbp %s\n%s", m.command, m.said)
	}
}

// npzOf makes an archive of arrays that are given one a line: name, dtype, shape and numbers.
func npzOf(t *testing.T, text string) string {
	all := arrays{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		var shape []int
		for n := range strings.SplitSeq(strings.Trim(words[2], "()"), ",") {
			if n != "" {
				shape = append(shape, oracle.Must(strconv.Atoi(n))(t))
			}
		}
		switch values := words[3:]; words[1] {
		case "float64":
			all[words[0]] = npy(t, shape, numbersOf(t, values, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }))
		case "int64":
			all[words[0]] = npy(t, shape, numbersOf(t, values, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }))
		case "int32":
			all[words[0]] = npy(t, shape, numbersOf(t, values, func(s string) (int32, error) { n, err := strconv.Atoi(s); return int32(n), err }))
		case "text":
			all[words[0]] = npy(t, shape, []byte(strings.Join(values, "")))
		default:
			t.Fatalf("an array of %s", words[1])
		}
	}
	return npz(t, all)
}

func numbersOf[T any](t *testing.T, words []string, parse func(string) (T, error)) (all []T) {
	for _, w := range words {
		all = append(all, oracle.Must(parse(w))(t))
	}
	return all
}

// TestLargeMistakes are those of files that are too large, or too broken, for testdata/mistakes.
func TestLargeMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []badCase{
		{"no empty lines between sentences", map[string]string{"a.conll": strings.Repeat("the D\ndog N\n", 200)}, "check $DIR", 0,
			[]string{"a.conll: all 400 tokens are one sentence"}},
		{"a set to evaluate on that is trained on", map[string]string{"train.conll": "the D\ndog N\n", "dev.conll": "a D\ncat N\n"},
			"train $DIR --eval dev=$DIR/dev.conll -o $OUT --report=false", 0,
			[]string{"--eval dev: ", "dev.conll is learned from, too, so that its measures are too good"}},
		{"too many weights for a covariance", map[string]string{"all.npz": allPairs(t, 53)},
			"train $DIR/all.npz --model ising --method pseudo --max-passes 2 -q -o $OUT", 0, []string{
				"no standard errors: the model has 4240 parameters, and their covariance takes too much beyond 4096; " +
					"--errors bootstrap learns again from resampled samples"}},
	} {
		folder := t.TempDir()
		for name, text := range c.files {
			writeFile(t, filepath.Join(folder, name), text)
		}
		args := strings.NewReplacer("$DIR", folder, "$OUT", filepath.Join(folder, "run")).Replace(c.args)
		o := mustRun(t, strings.Fields(args)...)
		o.says(t, c.parts...)
	}
}

// TestMistakesAtPrediction: the same where a model of tables labels other tables.
func TestMistakesAtPrediction(t *testing.T) {
	t.Parallel()
	const nodes, edges = "id,label,split,x\nann,ok,a,3\nbob,bad,a,4\ncid,bad,b,5\ndan,ok,b,2\n", "source,target\nann,bob\nbob,cid\n"
	folder := t.TempDir()
	for name, text := range map[string]string{
		"nodes.csv": nodes, "edges.csv": edges,
		"some/nodes.csv": strings.Replace(nodes, "cid,bad", "cid,", 1), "some/edges.csv": edges,
		"dear/nodes.csv": strings.Replace(nodes, "a,3", "a,€3", 1), "dear/edges.csv": edges,
		"far/nodes.csv": strings.Replace(nodes, "a,3", "a,3000", 1), "far/edges.csv": edges,
		"new/nodes.csv": strings.Replace(nodes, "a,3", "a,5", 1), "new/edges.csv": edges,
	} {
		writeFile(t, filepath.Join(folder, name), text)
	}
	model := filepath.Join(folder, "run")
	mustRun(t, "train", folder, "--observed", "a", "-o", model, "-q", "--report=false")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"predict $DIR -o $DIR/0.csv", 0, `nodes.csv known, which are not held: give --observed a and --clamp`},
		{"eval $DIR", 0, `give --observed a; labels that it learned from count here`},
		{"eval $DIR --split b", 0, "give --observed a\n"},
		{"predict $DIR/some -o $DIR/1.csv", 0, "3 of 4 nodes are known, and not used because of a missing --clamp"},
		{"predict $DIR --observed a -o $DIR/2.csv", 0, "2 of 4 nodes are known, and not used; --clamp holds them"},
		{"predict $DIR/new -o $DIR/5.csv", 0, ""}, // all labels are known, which predictions need not use
		{"predict $DIR/some --clamp -o $DIR/6.csv", 0, ""},
		{"predict $DIR/far -o $DIR/7.csv", 0, `feature "x" of nodes is 3000 at most, and 5 in what the model learned from`},
		{"predict $DIR/dear -o $DIR/3.csv", 3, `nodes.csv:2:x: "€3" is not a finite decimal number, which the model wants of this column; write digits and a decimal point alone`},
		{"predict $DIR -o $DIR/4.conll", 2, "4.conll: sentences are written so"},
		{"eval $DIR --observed a --split a", 2, `the labels of the split "a" are held, because of --observed a, so that all of them would count as right: compare on another split, or leave --observed out`},
		{"eval $DIR --split c", 2, `no node is in a split "c"; valid are a, b`},
	} {
		o := run(t, append(strings.Fields(strings.ReplaceAll(c.args, "$DIR", folder)), "-q", "-m", model)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) || c.want == "" && strings.Contains(o.stderr, "clamp") {
			t.Errorf("%s: code %d, want %d, and nothing names %q:\n%s", c.args, o.code, c.code, c.want, o.stderr)
		}
	}
}

// allPairs are samples of a system of which all pairs are joined.
func allPairs(t *testing.T, nodes int) string {
	t.Helper()
	var edges, labels []int32
	for u := range int32(nodes) {
		for v := range u {
			edges = append(edges, v, u)
		}
		for i := range int32(8) {
			labels = append(labels, 1-2*((u*u+i*u+i)>>1&1))
		}
	}
	return npz(t, arrays{"edges": npy(t, []int{len(edges) / 2, 2}, edges), "labels": npy(t, []int{8, nodes}, labels)})
}
