package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kinds of data, as dataset.Options.Kind has them, and that of networks with explicit tables, which verbs of inference
// read.
const (
	kindNPZ     = "npz"
	kindImages  = "images"
	kindGraph   = "graph"
	kindText    = "text"
	kindNetwork = "network"
)

// kinds are those of data.
var kinds = []string{kindNPZ, kindImages, kindGraph, kindText}

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or nodes.tsv and edges.tsv, or the same with csv. The tables
// of a loose pair have other names.
const (
	nodesStem = "nodes"
	edgesStem = "edges"
)

// tableExtensions are those of tables; of tables without a header the first alone.
var tableExtensions = []string{".tsv", ".csv"}

func isNodesTable(name string) bool { return isTableOf(name, nodesStem) }

func isEdgesTable(name string) bool { return isTableOf(name, edgesStem) }

func isTableOf(name, stem string) bool {
	extension := filepath.Ext(name)
	name = strings.TrimSuffix(name, extension)
	return slices.Contains(tableExtensions, extension) && (name == stem || strings.HasSuffix(name, "."+stem))
}

// tablePair is where one graph is found.
type tablePair struct {
	nodes, edges, name string
	loose              bool // which of the two is which is to be found out
}

// pairOf completes a pair of which a table is given.
func pairOf(table string) tablePair {
	extension := filepath.Ext(table)
	stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(table, extension), nodesStem), edgesStem)
	name := strings.TrimSuffix(filepath.Base(stem+nodesStem), "."+nodesStem)
	if name == nodesStem {
		name = "graph"
	}
	return tablePair{nodes: stem + nodesStem + extension, edges: stem + edgesStem + extension, name: name}
}

// incomplete tells of a table that is not there beside the other.
func (p tablePair) incomplete() error {
	for _, x := range [][3]string{{p.nodes, p.edges, "nodes"},
		{p.edges, p.nodes, "edges (two nodes in every row, or a header alone)"}} {
		if _, err := os.Stat(x[0]); errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "read", Path: x[0], Err: fmt.Errorf("%w; want a table of %s beside %s: write it there, or "+
				"name both tables if it has another name", errors.Unwrap(err), x[2], x[1])}
		}
	}
	return nil
}

// isTable reports whether a path is a file of a table's extension, or a list of edges.
func isTable(path string) bool {
	info, err := os.Stat(path)
	regular := err == nil && info.Mode().IsRegular()
	return regular && (slices.Contains(tableExtensions, filepath.Ext(path)) || isEdgeList(path))
}

// asPair takes two tables for one graph, unless their names say that both are of nodes, or of edges.
func asPair(a, b string) (p tablePair, ok bool) {
	if isEdgesTable(filepath.Base(a)) || isNodesTable(filepath.Base(b)) {
		a, b = b, a
	}
	nodes, edges := isNodesTable(filepath.Base(a)), isEdgesTable(filepath.Base(b))
	p = tablePair{nodes: a, edges: b, name: pairOf(a).name, loose: !nodes || !edges}
	return p, !isEdgesTable(filepath.Base(a)) && !isNodesTable(filepath.Base(b)) && isTable(a) && isTable(b)
}

// extensionBehind returns the extension of the table of nodes behind a prefix.
func extensionBehind(prefix string) string {
	for _, extension := range tableExtensions {
		if _, err := os.Stat(prefix + "." + nodesStem + extension); err == nil {
			return extension
		}
	}
	return tableExtensions[0]
}

// textExtensions are those of tagged text. Names with one of plainExtensions tell nothing.
var (
	textExtensions  = []string{".conll", ".conllu", crfsuiteExtension, ".iob", ".bio"}
	plainExtensions = []string{"", ".txt", ".data", ".train", ".dev", ".test"}
)

// tabbedTextExtension is of tables and of tagged text, and crfsuiteExtension of text with attributes.
const (
	tabbedTextExtension = ".tsv"
	crfsuiteExtension   = ".crfsuite"
)

// fewEnds is how often lines end before an empty one, or the end, where that may be by chance.
const fewEnds = 2

// pictureSuffixes are those of pictures to be read.
var pictureSuffixes = []string{".jpg", ".jpeg", ".png"}

// imagesFolders are what a folder of pictures is called: as usual, or by PASCAL VOC.
var imagesFolders = []string{"images", "JPEGImages"}

// predictionsFile describes the predictions of a folder.
const predictionsFile = "predict.json"

// isSamples reports whether a file can be samples, by its name, or what it begins with.
func isSamples(path string) bool {
	p := newPeek(path)
	return slices.Contains(tableExtensions, p.extension) || p.isAlignment() || p.isRows()
}

// isPairs reports whether a file names pairs of nodes, which the samples beside it are joined by.
func isPairs(path string) bool { return isEdgesTable(filepath.Base(path)) || isEdgeList(path) }

// edgesBeside finds edges.csv or edges.tsv beside a file of samples, unless they are of nodes there; "": none is.
func edgesBeside(samples string) string {
	for _, extension := range tableExtensions {
		pair := pairOf(filepath.Join(filepath.Dir(samples), edgesStem+extension))
		if isTable(pair.edges) && !isTable(pair.nodes) && pair.edges != samples {
			return pair.edges
		}
	}
	return ""
}

func isFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}
