//go:build linux

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// problem is a training to attack.
type problem struct {
	name string
	data string // of campaign.data
	args string
}

// train is the command line of a problem, with more options.
func (c *campaign) train(p problem, more ...string) []string {
	// Trials append to it, several at a time.
	args := append([]string{"train", c.data(p.data), "--report=false", "-q"}, strings.Fields(p.args)...)
	return slices.Clip(append(args, more...))
}

// ran is what a finished training left, without what time decides.
type ran struct {
	result  map[string]any
	model   []byte
	metrics string
	files   []string
}

// timed are the keys of results that time or the machine decide.
var timed = []string{"seconds", "peak_bytes", "state_bytes", "run", "model", "notes"}

// readRun reads the folder of a finished training.
func readRun(dir string) (*ran, error) {
	r := &ran{}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &r.result); err != nil {
		return nil, err
	}
	for key := range r.result {
		if slices.Contains(timed, key) || strings.Contains(key, "seconds") {
			delete(r.result, key)
		}
	}
	if r.model, err = os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil {
		return nil, err
	}
	if r.metrics, err = untimedMetrics(filepath.Join(dir, "metrics.jsonl")); err != nil {
		return nil, err
	}
	r.files, err = filesBelow(dir)
	return r, err
}

// untimedMetrics reads metrics without the time.
func untimedMetrics(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			return "", fmt.Errorf("%s: %v", path, err)
		}
		delete(record, "wall_s")
		kept, err := json.Marshal(record)
		if err != nil {
			return "", err
		}
		out.Write(append(kept, '\n'))
	}
	return out.String(), nil
}

// differs says in what a run differs from what it should be, "" for nothing.
func (r *ran) differs(from *ran) string {
	for _, key := range slices.Sorted(keysOf(r.result, from.result)) {
		if got, want := fmt.Sprint(r.result[key]), fmt.Sprint(from.result[key]); got != want {
			return fmt.Sprintf("%s is %s, want %s", key, cut(got, 100), cut(want, 100))
		}
	}
	switch {
	case !bytes.Equal(r.model, from.model):
		return "the bytes of the model differ"
	case r.metrics != from.metrics:
		return "the metrics differ"
	}
	return ""
}

// strays are files that the other run does not have.
func (r *ran) strays(from *ran) (names []string) {
	for _, name := range r.files {
		if !slices.Contains(from.files, name) {
			names = append(names, name)
		}
	}
	return names
}

func keysOf(maps ...map[string]any) func(yield func(string) bool) {
	all := map[string]bool{}
	for _, m := range maps {
		for key := range m {
			all[key] = true
		}
	}
	return func(yield func(string) bool) {
		for key := range all {
			if !yield(key) {
				return
			}
		}
	}
}

// filesBelow lists the files below a folder.
func filesBelow(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	return names, err
}
