package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// asCommand makes the test binary the command itself: tests that need a process of their own start it so.
const asCommand = "BLOCKBP_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		distributed.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(testMain(m))
}

// testMain runs the tests with a folder for data that many of them read, and
// fails where one of them wrote into the package's own folder.
func testMain(m *testing.M) int {
	var err error
	if sharedFolder, err = os.MkdirTemp("", "blockbp-cli-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(sharedFolder)
	*cli.LineEvery = 10 * time.Millisecond
	before := namesIn(".")
	code := m.Run()
	for _, name := range namesIn(".") {
		if !slices.Contains(before, name) && filepath.Ext(name) != ".go" {
			fmt.Fprintf(os.Stderr, "the tests made %s in the package's folder\n", name)
			code = 1
		}
	}
	return code
}

func namesIn(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return []string{err.Error()}
	}
	names := numeric.Map(entries, os.DirEntry.Name)
	return names
}

// outcome is what a command did.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
}

// runContext runs the command in this process.
func runContext(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, args, strings.NewReader(""), &stdout, &stderr)
	return outcome{args, code, stdout.String(), stderr.String()}
}

func run(t testing.TB, args ...string) outcome {
	t.Helper()
	return runContext(t.Context(), args...)
}

// mustRun runs the command and stops the test unless it ends with code 0.
func mustRun(t testing.TB, args ...string) outcome {
	t.Helper()
	o := run(t, args...)
	oracle.MustEqual(t, o.code, 0, "%s: standard error is\n%s\nexit code", o.command(), o.stderr)
	return o
}

// runProcess runs the command in a process of its own.
func runProcess(t testing.TB, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), oracle.Must(os.Executable())(t), args...)
	// More threads than cores make data races show.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GOMAXPROCS=8")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (o outcome) command() string { return "blockbp " + strings.Join(o.args, " ") }

// json decodes the one object on standard output into v.
func (o outcome) json(t testing.TB, v any) {
	t.Helper()
	oracle.MustEqual(t, strings.Count(o.stdout, "\n"), 1, "%s: want JSON, got:\n%s\nlines", o.command(), o.stdout)
	if err := json.Unmarshal([]byte(o.stdout), v); err != nil {
		t.Fatalf("%s: %v; stdout:\n%s", o.command(), err, o.stdout)
	}
}

// object decodes standard output into a map and checks that the keys are there.
func (o outcome) object(t testing.TB, keys ...string) map[string]any {
	t.Helper()
	var object map[string]any
	o.json(t, &object)
	for _, key := range keys {
		if _, ok := object[key]; !ok {
			t.Errorf("%s: the result has no %q: %s", o.command(), key, o.stdout)
		}
	}
	return object
}

// errorLines are the lines of stderr that report an error: not progress, and not notes.
func (o outcome) errorLines() []string {
	var lines []string
	for line := range strings.Lines(o.stderr) {
		if strings.HasPrefix(line, "blockbp: ") && !strings.HasPrefix(line, "blockbp: note: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// wantFailure checks the exit code, that there is exactly one error line on
// stderr with every part in it, and that nothing else is said.
func (o outcome) wantFailure(t testing.TB, code int, parts ...string) {
	t.Helper()
	lines := o.errorLines()
	oracle.Equal(t, o.code, code, "%s: %q, exit code", o.command(), lines)
	if o.code == 0 {
		return // then there is no error to look at
	}
	if len(lines) != 1 {
		t.Errorf("%s: %d error lines on stderr, want 1:\n%s", o.command(), len(lines), o.stderr)
		return
	}
	wantParts(t, o.command()+": the error", lines[0], parts)
	if strings.Contains(o.stderr, "goroutine ") {
		t.Errorf("%s: there is a stack trace on stderr", o.command())
	}
}

// says checks that standard error has every part, and prints that standard output has.
func (o outcome) says(t testing.TB, parts ...string) {
	t.Helper()
	wantParts(t, o.command()+": standard error", o.stderr, parts)
}

func (o outcome) prints(t testing.TB, parts ...string) {
	t.Helper()
	wantParts(t, o.command()+": standard output", o.stdout, parts)
}

func wantParts(t testing.TB, what, text string, parts []string) {
	t.Helper()
	oracle.Contains(t, what+": "+text, parts...)
}

// tree maps every file and folder below a folder to its content's hash.
func tree(t testing.TB, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	oracle.OK(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			found[path] = "folder"
			return nil
		}
		if !e.Type().IsRegular() {
			found[path] = e.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%d bytes, %x", len(data), sha256.Sum256(data))
		return err
	}))
	return found
}

// wantUntouched checks that a folder is as it was.
func wantUntouched(t testing.TB, o outcome, before, after map[string]string) {
	t.Helper()
	var changes []string
	for path, was := range before {
		if now, ok := after[path]; !ok {
			changes = append(changes, "removed "+path)
		} else if now != was {
			changes = append(changes, "changed "+path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			changes = append(changes, "made "+path)
		}
	}
	if len(changes) > 0 {
		slices.Sort(changes)
		t.Errorf("%s: it should have left everything as it was, and %s (%d changes in all)", o.command(), changes[0], len(changes))
	}
}

// sharedFolder holds data that several tests read and none writes.
var sharedFolder string

// shared returns a folder that make fills the first time it is asked for.
func shared(t testing.TB, name string, make func(folder string)) string {
	t.Helper()
	entry, _ := sharedOnce.LoadOrStore(name, &sync.Once{})
	folder := filepath.Join(sharedFolder, name)
	entry.(*sync.Once).Do(func() { make(folder) })
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err) // make failed in another test, which says why
	}
	return folder
}

var sharedOnce sync.Map

// gridData is a 6×6 grid with 3 states: two instances of three samples.
func gridData(t testing.TB) string {
	return shared(t, "grid", func(folder string) {
		writeGrid(t, folder, 6, 6, synthetic.Synthetic{States: 3, Samples: 3, Instances: 2, Sweeps: 20, Seed: 5})
	})
}

// writeGrid writes a problem of the paper on a grid, with two features.
func writeGrid(t testing.TB, folder string, rows, cols int, s synthetic.Synthetic) {
	t.Helper()
	s.Graph, s.Rows, s.Cols = oracle.Must(graph.Grid(rows, cols, graph.GridOptions{}))(t), rows, cols
	s.NodeFeatures, s.EdgeFeatures = cmp.Or(s.NodeFeatures, 2), 2
	oracle.OK(t, s.Write(folder))
}

// gridRun is a run on gridData that converged.
func gridRun(t testing.TB) string {
	data := gridData(t)
	return shared(t, "grid-run", func(folder string) {
		mustRun(t, "train", data, "-o", folder, "--l2", "0.5", "--counting", "convex", "--rtol", "1e-5", "-q")
	})
}

// noReport is for runs whose figures nobody looks at.
const noReport = "--report=false"

// endless are options of a run that does not end by itself: its steps are too short to get anywhere.
var endless = []string{"--step", "fixed:1e-12", "--tol", "1e-300", "--max-passes", "1e15"}

// trainResult is the object that train prints and writes to result.json.
type trainResult struct {
	Status        string             `json:"status"`
	Reason        string             `json:"reason"`
	Converged     bool               `json:"converged"`
	Objective     float64            `json:"objective"`
	GradNorm      float64            `json:"grad_norm"`
	FirstGradNorm float64            `json:"first_grad_norm"`
	Iterations    int                `json:"iterations"`
	Passes        float64            `json:"passes"`
	CheckPasses   float64            `json:"check_passes"`
	Gap           *float64           `json:"gap"`
	Convex        bool               `json:"convex"`
	BPConverged   bool               `json:"bp_converged"`
	ThetaNorm     float64            `json:"theta_norm"`
	WeightsWithin float64            `json:"weights_within"`
	ThetaSHA256   string             `json:"theta_sha256"`
	PeakBytes     int64              `json:"peak_bytes"`
	Eval          map[string]float64 `json:"eval"`

	Seconds           float64 `json:"seconds"`
	TrainingSeconds   float64 `json:"training_seconds"`
	EvaluationSeconds float64 `json:"evaluation_seconds"`
	TotalSeconds      float64 `json:"total_seconds"`
}

// train trains without a report, which takes longer than most of these runs, unless the arguments ask for one.
func train(t testing.TB, args ...string) trainResult {
	t.Helper()
	var r trainResult
	mustRun(t, slices.Concat([]string{"train", noReport}, args, []string{"--json", "-q"})...).json(t, &r)
	return r
}

func readFile(t testing.TB, elements ...string) string {
	t.Helper()
	data := oracle.Must(os.ReadFile(filepath.Join(elements...)))(t)
	return string(data)
}

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// copyFolder copies a folder of files and folders.
func copyFolder(t testing.TB, from, to string) string {
	t.Helper()
	oracle.OK(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// closeTo reports whether two numbers agree to a relative tolerance.
func closeTo(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*max(math.Abs(got), math.Abs(want))
}

// npy returns an array as numpy.save writes it. data is a slice of numbers whose
// type gives the dtype; texts stand for arrays of strings.
func npy(t testing.TB, shape []int, data any) string {
	t.Helper()
	elements := 1
	for _, n := range shape {
		elements *= n
	}
	raw := oracle.Must(binary.Append(nil, binary.LittleEndian, data))(t)
	kind := map[reflect.Type]string{
		reflect.TypeFor[[]float64](): "<f8", reflect.TypeFor[[]float32](): "<f4", reflect.TypeFor[[]int64](): "<i8",
		reflect.TypeFor[[]int32](): "<i4", reflect.TypeFor[[]byte](): fmt.Sprintf("|S%d", len(raw)/max(1, elements)),
	}[reflect.TypeOf(data)]
	return npyHeader(kind, shape...) + string(raw)
}

// npyHeader is the header of an array, before its data.
func npyHeader(descr string, shape ...int) string {
	sizes := ""
	for _, n := range shape {
		sizes += fmt.Sprintf("%d,", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, sizes)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header
}
