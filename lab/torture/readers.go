//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var readers = attack{
	name: "readers", about: "models that are damaged or hostile, read by Python: as the command has it", full: 300, short: 10, share: 1,
	setup: setupReaders,
}

// makesModels fits and saves, and readsModels loads: what cannot be loaded must be a
// BlockbpError, and everything else ends the program.
const (
	makesModels = `
import numpy, blockbp
rng = numpy.random.default_rng(1)
y = numpy.add.outer(numpy.arange(8), numpy.arange(8))[None] // 4 % 3
blockbp.GridCRF().fit(numpy.eye(3)[y] + rng.normal(0, 0.7, (*y.shape, 3)), y).save("grid.safetensors")
blockbp.IsingModel().fit(rng.choice([-1, 1], (50, 3))).save("spins.safetensors")
words = [["the", "dog"], ["a", "cat", "sleeps"]]
blockbp.ChainCRF().fit([[{"w=" + w: 1.0} for w in s] for s in words], [["D", "N"], ["D", "N", "V"]]).save("chain.safetensors")
`
	readsModels = `
import sys, warnings, blockbp
warnings.simplefilter("ignore")
for cls in (blockbp.ChainCRF, blockbp.GraphCRF, blockbp.GridCRF, blockbp.IsingModel, blockbp.PottsModel):
    try:
        cls.load(sys.argv[1])
    except blockbp.BlockbpError as err:
        print("refused:", err)
    else:
        print("loaded by", cls.__name__)
`
)

// python is a program in Python, with the package as it stands in this repository.
func (t *trial) python(script string, args ...string) *result {
	r := t.startAs(append(t.c.pythonLine(), append([]string{"-c", script}, args...)...)...).end()
	t.bounded(r)
	return r
}

// pythonLine is how Python is called: with a copy of the package that knows its version.
func (c *campaign) pythonLine() []string {
	path := filepath.Join(c.work, "python")
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += ":" + more
	}
	return []string{"env", "PYTHONPATH=" + path, "BLOCKBP_BINARY=" + c.blockbp, "TMPDIR=" + c.work, "OPENBLAS_NUM_THREADS=1", "python3", "-B"}
}

// setupReaders copies the package and makes models. Without Python and NumPy there is nothing
// to try.
func setupReaders(c *campaign, dir string) (func(t *trial), error) {
	text, err := c.must(dir, "version", "--json")
	if err != nil {
		return nil, err
	}
	var build struct{ Version string }
	if err := json.Unmarshal([]byte(text), &build); err != nil {
		return nil, err
	}
	to := filepath.Join(c.work, "python", "blockbp")
	if err := os.CopyFS(to, os.DirFS("python/src/blockbp")); err != nil {
		return nil, fmt.Errorf("%w (start this by go run -C lab ./torture)", err)
	}
	if err := os.WriteFile(filepath.Join(to, "VERSION"), []byte(strings.TrimPrefix(build.Version, "v")), 0o644); err != nil {
		return nil, err
	}
	line := c.pythonLine()
	run := func(script string) ([]byte, error) {
		cmd := exec.CommandContext(c.ctx, line[0], append(line[1:], "-c", script)...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("import numpy, sys; assert sys.version_info >= (3, 10)"); err != nil {
		fmt.Fprintf(os.Stderr, "torture: readers: no python3 of 3.10 or newer with NumPy is here, so nothing is tried: %s\n", cut(string(out), 200))
		return (*trial).skip, nil
	}
	if out, err := run(makesModels); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	names := []string{"grid.safetensors", "spins.safetensors", "chain.safetensors"}
	return func(t *trial) { readModel(t, filepath.Join(dir, names[t.n%len(names)])) }, nil
}

// readModel gives a mutated model to both readers.
func readModel(t *trial, good string) {
	t.copy(good, "model.safetensors")
	t.write("model.safetensors", fromModel(t.rng, t.read("model.safetensors")))
	check := t.run("check", "model.safetensors")
	r := t.python(readsModels, "model.safetensors")
	switch {
	case r.code != 0:
		t.failf("Python's load ended in something else than a BlockbpError: %s", cut(r.stderr, 500))
	case check.code != 0 && strings.Contains(r.stdout, "loaded by"):
		t.failf("Python's load takes a model that check refuses (%s): %s", cut(check.text(), 200), cut(r.stdout, 500))
	}
}
