package ceilings

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestGenerated checks that the committed assembly is what the generator gives.
func TestGenerated(t *testing.T) {
	oracle.Long(t)
	tools := filepath.Join("..", "..", "internal", "simd", "gen")
	if _, err := os.Stat(filepath.Join(tools, "go.mod")); err != nil {
		t.Skipf("skipped: the generator's module is no part of a released module; the test runs in a clone of the repository: %v", err)
	}
	if text, err := inTools(tools, "list", "-deps", "."); err != nil {
		t.Skipf("skipped: the generator's dependencies are not on this machine; the test runs after (cd internal/simd/gen && go mod download): %v\n%s", err, text)
	}
	dir := t.TempDir()
	if text, err := inTools(tools, "run", ".", "-package", "ceilings", "-dir", dir); err != nil {
		t.Fatalf("generator: %v\n%s", err, text)
	}
	for _, name := range []string{"ceilings_amd64.s", "ceilings_amd64.go"} {
		want := oracle.Must(os.ReadFile(filepath.Join(dir, name)))(t)
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/simd/gen gives (%v); run make generate", name, err)
		}
	}
}

// inTools runs a go command in the generator's module, for this machine whatever
// the test is built for.
func inTools(tools string, arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Dir = tools
	ofTest := func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") || strings.HasPrefix(v, "GODEBUG=") }
	command.Env = append(slices.DeleteFunc(os.Environ(), ofTest), "GOFLAGS=-mod=readonly")
	return command.CombinedOutput()
}
