package simd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestGenerated checks that the committed assembly is what the generator gives.
func TestGenerated(t *testing.T) {
	oracle.Long(t)
	tools := "gen"
	if _, err := os.Stat(filepath.Join(tools, "go.mod")); err != nil {
		t.Skipf("skipped: the generator's module is no part of a released module; the test runs in a clone of the repository: %v", err)
	}
	if text, err := goTool(tools, "list", "-deps", "."); err != nil {
		t.Skipf("skipped: the generator's dependencies (avo, golang.org/x/tools) are not on this machine; the test runs after (cd internal/simd/gen && go mod download): %v\n%s", err, text)
	}
	dir := oracle.Must(filepath.Abs(t.TempDir()))(t)
	if text, err := goTool(tools, "run", ".", "-dir", dir); err != nil {
		t.Fatalf("generator: %v\n%s", err, text)
	}
	written, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(written) < 4 {
		t.Fatalf("the generator wrote %d files: %v", len(written), err)
	}
	for _, path := range written {
		name := filepath.Base(path)
		want := oracle.Must(os.ReadFile(path))(t)
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/simd/gen gives (%v); run go generate ./internal/simd", name, err)
		}
		if len(want) > 1<<20 {
			t.Errorf("%s has %d bytes: split it (files in internal/simd/gen/main.go), more than 1 MiB is too large for one file of the repository", name, len(want))
		}
	}
	// What the generator writes no longer would still be compiled.
	assembly := oracle.Must(filepath.Glob("*.s"))(t)
	for _, name := range assembly {
		if !slices.Contains(written, filepath.Join(dir, name)) {
			t.Errorf("%s is not written by internal/simd/gen: remove it, and the declarations beside it", name)
		}
	}
}

// goTool runs a go command in dir for this machine, whatever the test is built for.
func goTool(dir string, arguments ...string) ([]byte, error) {
	c := exec.Command("go", arguments...)
	c.Dir = dir
	for _, v := range os.Environ() {
		if name, _, _ := bytes.Cut([]byte(v), []byte("=")); string(name) != "GOFLAGS" && string(name) != "GODEBUG" {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "GOFLAGS=-mod=readonly")
	return c.CombinedOutput()
}
