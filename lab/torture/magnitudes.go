//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

var magnitudes = attack{
	name: "magnitudes", about: "numbers and line ends at the edge of what is legal: check and train agree", full: len(edges()), short: len(edges()), share: 2,
	setup: func(c *campaign, _ string) (func(t *trial), error) {
		_, err := c.data("grid")
		all := edges()
		return func(t *trial) { all[t.n%len(all)].try(t) }, err
	},
}

// edge is data at the edge of what is legal.
type edge struct {
	name  string
	make  func(t *trial) // data.npz
	legal bool
	says  string // what check and train say where it is not
}

func (e edge) try(t *trial) {
	t.notef("# %s", e.name)
	e.make(t)
	check := t.run("check", "data.npz")
	method := []string{"auto", "bbpl", "full", "pseudo"}[t.rng.IntN(4)]
	train := t.run("train", "data.npz", "-o", "r", "-q", "--report=false", "--max-passes", "6", "--method", method)
	if !e.legal {
		for _, r := range []*result{check, train} {
			if r.code != 3 || !strings.Contains(r.text(), e.says) {
				t.failf("%s (%s): exit code %d, want 3 and a word of %q: %s", r.line, e.name, r.code, e.says, cut(r.text(), 300))
			}
		}
		return
	}
	resume := t.run("train", "r", "--resume", "-q", "--max-passes", "12")
	const atStart = 4 // nothing was learned in so few passes
	for _, r := range []*result{check, train, resume} {
		if r.code != 0 && r.code != atStart {
			t.failf("%s (%s): exit code %d, want 0: %s", r.line, e.name, r.code, cut(r.stderr, 300))
		}
	}
	if !json.Valid(t.read("r/result.json")) {
		t.failf("%s (%s): result.json is no JSON", train.line, e.name)
	}
}

// edges are all of them.
func edges() (all []edge) {
	const least, most, words = 1e-150, 1e150, "1e-150 to 1e150"
	all = []edge{
		{"a label of 2⁶⁴−1", with(func(a map[string]*array) { a["labels"].descr, a["labels"].data[3] = "<u8", math.MaxUint64 }), false, "18446744073709551615"},
		{"lines that end in CR alone", carriageReturns, true, ""},
	}
	add := func(name string, legal bool, change func(a map[string]*array)) {
		all = append(all, edge{name, with(change), legal, words})
	}
	for _, x := range []float64{math.SmallestNonzeroFloat64, 1e-160, math.Nextafter(least, 0), least, 1e-75, 1e75, most, math.Nextafter(most, math.Inf(1)), 1e160, math.MaxFloat64} {
		legal := x >= least && x <= most
		add(fmt.Sprintf("a feature of at most %v", x), legal, func(a map[string]*array) {
			for i, of := range a["node_features"].data {
				if i%3 == 0 {
					a["node_features"].data[i] = x * math.Tanh(of)
				}
			}
			a["node_features"].data[0] = x
		})
		add(fmt.Sprintf("one value of %v", x), x <= most, func(a map[string]*array) { a["node_features"].data[4] = x })
		add(fmt.Sprintf("an edge feature of %v", x), legal, func(a map[string]*array) {
			n := a["edges"].shape[0]
			*a["grid_shape"] = floats("edge_features", []int{n, 1}, slices.Repeat([]float64{x}, n))
		})
		add(fmt.Sprintf("a weight of %v", x), legal, func(a map[string]*array) { *a["grid_shape"] = floats("weight", nil, []float64{x}) })
	}
	return all
}

// carriageReturns makes the edge's data, and holds two models of tables against each other
// that differ in the ends of their lines.
func carriageReturns(t *trial) {
	with(func(map[string]*array) {})(t)
	from, err := t.c.data("graph")
	t.must(err)
	var models [][]byte
	for _, end := range []string{"\n", "\r"} {
		t.copy(from, "graph")
		for _, name := range []string{"graph/papers.nodes.tsv", "graph/papers.edges.tsv"} {
			t.write(name, bytes.ReplaceAll(t.read(name), []byte("\n"), []byte(end)))
		}
		t.works("check", "graph")
		t.works("train", "graph", "-o", fmt.Sprintf("ends-%d", len(models)), "-q", "--report=false", "--max-passes", "4")
		models = append(models, t.read(fmt.Sprintf("ends-%d/model.safetensors", len(models))))
		t.must(os.RemoveAll(t.path("graph")))
	}
	if !bytes.Equal(models[0], models[1]) {
		t.failf("tables whose lines end in CR give another model")
	}
}
