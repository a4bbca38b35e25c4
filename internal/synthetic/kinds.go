package synthetic

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/printable"
)

// Kind is one kind of example.
type Kind struct {
	Name  string
	About string // what it makes, for people
	// File says that the example is one file, not a folder.
	File bool
	// fill writes the example into a folder; a single file has no name in it.
	fill func(f *folder, seed uint64)
	// commands are what to run next; PATH stands for the example.
	commands []string
}

// Kinds are all kinds, in the order in which help lists them.
var Kinds = []Kind{
	{Name: "images", About: "12 pictures of landscapes, with features and the label of every pixel", fill: fillImages,
		commands: []string{
			"blockbp train PATH --list train.txt --no-edges -o PATH-alone",
			"blockbp train PATH --list train.txt -o PATH-run",
			"blockbp eval PATH --list test.txt -m PATH-alone -m PATH-run",
		}},
	{Name: "graph", About: "400 papers that cite each other, as tables of nodes and edges with few labels",
		fill: fillGraph, commands: []string{
			"blockbp train PATH --observed train --no-edges -o PATH-alone",
			"blockbp train PATH --observed train -o PATH-run",
			"blockbp eval PATH --observed train --split test -m PATH-alone -m PATH-run",
		}},
	{Name: "ising", About: "1000 samples of spins on a lattice, and the true coupling of every bond in couplings.tsv",
		fill: fillIsing, commands: []string{
			"blockbp train PATH/spins.npz --model ising --reference PATH/truth.safetensors -o PATH-run",
			"blockbp info PATH-run --weights 12",
		}},
	{Name: "sentences", About: "short sentences with the part of speech of every word", fill: fillSentences,
		commands: []string{
			"blockbp train PATH/train --no-edges -o PATH-alone",
			"blockbp train PATH/train -o PATH-run",
			"blockbp eval PATH/test -m PATH-alone -m PATH-run",
		}},
	{Name: "grid", About: "a 50×50 grid as in the paper's study, with the true weights in truth.safetensors",
		fill: fillGrid, commands: []string{
			"blockbp train PATH --reference PATH/truth.safetensors -o PATH-run",
			"blockbp info PATH-run",
		}},
	{Name: "network", File: true, About: "one network of 36 variables in UAI format", fill: fillNetwork,
		commands: []string{
			"blockbp infer PATH --task MAR --method exact",
			"blockbp infer PATH --task PR",
			"blockbp infer PATH --task MPE",
		}},
}

// Write makes the example at a path: a folder that is made if need be, or a file.
// replace is as in fileio.Target, for every file.
func (k *Kind) Write(path string, seed uint64, replace func(path string) error) error {
	f := &folder{path: path, replace: replace}
	k.fill(f, seed)
	return f.err
}

// Names lists the kinds.
func Names() []string { return numeric.Map(Kinds, func(k Kind) string { return k.Name }) }

// Next returns the commands to run on an example at a path, quoted for a shell.
func (k *Kind) Next(path string) []string {
	path = filepath.Clean(path)
	next := make([]string, len(k.commands))
	for i, command := range k.commands {
		next[i] = strings.Join(numeric.Map(strings.Fields(command), func(word string) string {
			return printable.Word(strings.Replace(word, "PATH", path, 1))
		}), " ")
	}
	return next
}

// spaced lists numbers with blanks between them.
func spaced(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// source is the random source of one part of an example: changing how many parts there are leaves each as it was.
func source(seed, part uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, part)) }

// folder is an example being written. After the first error nothing more is.
type folder struct {
	path    string
	replace func(path string) error
	err     error
}

// write hands the path of a file to a function that writes it, once its folder is there.
func (f *folder) write(name string, write func(path string) error) {
	path := filepath.Join(f.path, name)
	if f.err == nil {
		f.err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	target := fileio.Target{Path: path}
	if f.replace != nil {
		target.Replace = func() error { return f.replace(path) }
	}
	if f.err == nil {
		f.err = target.Via(write)
	}
}

// file writes a file, whole or not at all.
func (f *folder) file(name string, write func(w io.Writer) error) {
	f.write(name, func(path string) error { return fileio.Write(path, write) })
}

// text writes a file of text.
func (f *folder) text(name, text string) {
	f.file(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// manifest writes the dataset.json of a part of the folder.
func (f *folder) manifest(part string, m dataset.Manifest) {
	f.write(filepath.Join(part, dataset.ManifestName), func(path string) error { return m.Write(filepath.Dir(path)) })
}

// npz writes an instance.
func (f *folder) npz(name string, arrays *dataset.Arrays) { f.write(name, arrays.WriteFile) }
