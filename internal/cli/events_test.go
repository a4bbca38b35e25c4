package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/cli"
	numpy "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEvents: where a program asks for it, standard error is one JSON object a line: who
// speaks, notes, progress, and the error with its code.
func TestEvents(t *testing.T) {
	t.Setenv("BLOCKBP_PROGRESS", "json")
	data := gridData(t)
	events := func(code int, args ...string) (keys []string, last map[string]any) {
		t.Helper()
		o := run(t, args...)
		oracle.Equal(t, o.code, code, "%s: exit code", o.command())
		for line := range strings.Lines(o.stderr) {
			last = nil
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			for _, key := range []string{"version", "note", "progress", "error"} {
				if _, ok := last[key]; ok && !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
		return keys, last
	}
	dir := filepath.Join(t.TempDir(), "run")
	keys, last := events(0, "train", data, "-o", dir, "--plots=false", "--no-edges", "--max-passes", "1000")
	if !slices.Equal(keys[:1], []string{"version"}) || !slices.Contains(keys, "progress") || last["total"] != 1000.0 && last["note"] == nil {
		t.Errorf("events %q, the last %v", keys, last)
	}
	if names := namesIn(dir); !slices.Contains(names, "report.html") || slices.Contains(names, "plots") {
		t.Errorf("without plots there are %q", names)
	}
	keys, last = events(3, "train", filepath.Join(writeArrays(t, arrays{"edges": npy(t, []int{1, 2}, []int32{0, 5}), "labels": npy(t, []int{2}, []int32{0, 1})})), "-o", dir+"2", "-q")
	if !slices.Equal(keys, []string{"version", "error"}) || last["code"] != 3.0 ||
		!strings.Contains(last["error"].(string), "edges[0]: is (0, 5)") ||
		!strings.Contains(fmt.Sprint(last["parts"]), " edges[0]] text:") {
		t.Errorf("events %q, the last %v", keys, last)
	}
	keys, _ = events(0, "demo", "--side", "5", "-o", dir+"3")
	oracle.Equal(t, keys[:2], []string{"version", "progress"}, "first events of the demo's %q", keys)
	keys, last = events(2, "predict", "--nonsense")
	if !slices.Contains(keys, "error") || last["code"] != 2.0 {
		t.Errorf("events %q, the last %v", keys, last)
	}
}

// TestServe: one process runs commands one after the other, each in a folder of its own, and goes on after those that
// fail; what is no request ends it.
func TestServe(t *testing.T) {
	t.Setenv("BLOCKBP_PROGRESS", "json")
	home, err := os.Getwd()
	oracle.OK(t, err)
	requests, folders := "", []string{t.TempDir(), t.TempDir()}
	for i, verb := range []string{"version", "nonsense"} {
		requests += fmt.Sprintf(`{"arguments":[%q],"folder":%q}`, verb, folders[i]) + "\n"
	}
	for rest, want := range map[string]int{"": 0, `{"arguments":3}`: 2} {
		var stdout, stderr bytes.Buffer
		code := cli.Run(context.Background(), []string{"serve"}, strings.NewReader(requests+rest), &stdout, &stderr)
		said := regexp.MustCompile(`{"ended":\d}`).FindAllString(stderr.String(), -1)
		if now, err := os.Getwd(); code != want || !slices.Equal(said, []string{`{"ended":0}`, `{"ended":2}`}) || now != home || err != nil {
			t.Errorf("with %q: exit code %d, want %d; in %s, and said: %s", rest, code, want, now, stderr.String())
		}
	}
	printed, err := os.ReadFile(filepath.Join(folders[0], "stdout"))
	if err != nil || !bytes.HasPrefix(printed, []byte("blockbp v")) {
		t.Errorf("version printed %q, %v", printed, err)
	}
}

// writeArrays writes arrays into a folder, a file each.
func writeArrays(t testing.TB, a arrays) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range a {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name+".npy"), []byte(text), 0o600))
	}
	return folder
}

// TestPredictArrays: the arrays of all instances hold what the files of each do.
func TestPredictArrays(t *testing.T) {
	t.Parallel()
	data, model, folder := gridData(t), gridRun(t), t.TempDir()
	apart, together := filepath.Join(folder, "apart"), filepath.Join(folder, "together")
	mustRun(t, "predict", data, "-m", model, "-o", apart, "-q")
	mustRun(t, "predict", data, "-m", model, "-o", together, "-q", "--arrays")
	oracle.Equal(t, namesIn(together), []string{"beliefs.npy", "labels.npy", "predict.json"}, "files")
	var p struct {
		Instances []struct {
			File  string
			Nodes int
		}
	}
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, apart, "predict.json")), &p))
	for _, name := range []string{"labels", "beliefs"} {
		var want []byte
		for _, in := range p.Instances {
			_, raw := rawArray(t, in.File, name)
			want = append(want, raw...)
		}
		h, got, err := numpy.Open([]byte(readFile(t, together, name+".npy")))
		if err != nil || !bytes.Equal(got, want) || h.Shape[0] != 72 {
			t.Errorf("%s: %d bytes, want %d; %+v, %v", name, len(got), len(want), h, err)
		}
	}
	run(t, "predict", data, "-m", model, "-o", filepath.Join(folder, "x.csv"), "--arrays").wantFailure(t, 2, "--arrays", "folder")
}

// TestWatch: the address of the page is printed, the page is there, and Ctrl-C is how it ends well.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var stderr strings.Builder
	ended := make(chan int)
	go func() { ended <- cli.Run(ctx, []string{"watch", gridRun(t)}, strings.NewReader(""), stdout, &stderr) }()
	line := oracle.Must(bufio.NewReader(out).ReadString('\n'))(t)
	address, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(rest, "Ctrl-C") {
		t.Fatalf("it prints %q", line)
	}
	answer := oracle.Must(http.Get(address))(t)
	page, err := io.ReadAll(answer.Body)
	if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "blockbp watch") {
		t.Errorf("%s: %s, %v", address, answer.Status, err)
	}
	events := oracle.Must(http.Get(address + "events"))(t)
	defer events.Body.Close()
	if line, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || line != "event: rows\n" {
		t.Errorf("the first event is %q, %v", line, err)
	}
	interrupt()
	if code := <-ended; code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

// TestWatchPortInUse: a port that another program has is named.
func TestWatchPortInUse(t *testing.T) {
	t.Parallel()
	other := oracle.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer other.Close()
	port := fmt.Sprint(other.Addr().(*net.TCPAddr).Port)
	run(t, "watch", gridRun(t), "--port", port).wantFailure(t, 1, "--port "+port, "in use", "choose another")
}

// TestVersion: the version is a semantic one, and the same everywhere.
func TestVersion(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "version", "--json").object(t, "version", "commit", "modified", "go", "platform")
	version, _ := o["version"].(string)
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(version) {
		t.Errorf("the version is %v, want one such as v1.2.3", o["version"])
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		oracle.Contains(t, mustRun(t, args...).stdout, version)
	}
	run(t, "version", "now").wantFailure(t, 2, `"now"`)
}

// TestLicences: version --licences prints them, as text alone.
func TestLicences(t *testing.T) {
	t.Parallel()
	if o := mustRun(t, "version", "--licences"); o.stdout != readFile(t, "notices.txt") || o.stderr != "" {
		t.Errorf("version --licences prints %d bytes and %q, want notices.txt", len(o.stdout), o.stderr)
	}
	run(t, "version", "--licences", "--json").wantFailure(t, 2, "--json")
	oracle.Contains(t, readFile(t, "notices.txt"), "github.com/blockbp/blockbp: LICENSE", "Bigelow & Holmes",
		"Apache License", "Copyright 2009 The Go Authors", "github.com/ebitengine/purego ",
		"github.com/inconshreveable/mousetrap ", "Leon Sorokin")
}
