package formats

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kinds of data, as dataset.Options.Kind has them, and that of networks with explicit tables, for inference.
const (
	kindNPZ     = "npz"
	kindImages  = "images"
	kindGraph   = "graph"
	kindText    = "text"
	KindNetwork = "network"
)

// Kinds are those of data.
var Kinds = []string{kindNPZ, kindImages, kindGraph, kindText}

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or without NAME, or with csv; a loose pair has other names.
const (
	NodesStem = "nodes"
	edgesStem = "edges"
)

// tableExtensions are those of tables; of tables without a header the first alone.
var tableExtensions = []string{".tsv", ".csv"}

// IsNodesTable reports whether a file has the name of a table of nodes.
func IsNodesTable(name string) bool { return isTableOf(name, NodesStem) }

// IsEdgesTable reports whether a file has the name of a table of edges.
func IsEdgesTable(name string) bool { return isTableOf(name, edgesStem) }

func isTableOf(name, stem string) bool {
	extension := filepath.Ext(name)
	name = strings.TrimSuffix(name, extension)
	known := slices.Contains(tableExtensions, strings.ToLower(extension))
	return known && (name == stem || strings.HasSuffix(name, "."+stem))
}

// TablePair is where one graph is found.
type TablePair struct {
	Nodes, Edges, Name string
	Loose              bool // which of the two is which is to be found out
}

// PairOf completes a pair of which a table is given.
func PairOf(table string) TablePair {
	extension := filepath.Ext(table)
	stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(table, extension), NodesStem), edgesStem)
	name := strings.TrimSuffix(filepath.Base(stem+NodesStem), "."+NodesStem)
	if name == NodesStem {
		name = "graph"
	}
	return TablePair{Nodes: stem + NodesStem + extension, Edges: stem + edgesStem + extension, Name: name}
}

// Incomplete tells of a table that is not there beside the other.
func (p TablePair) Incomplete() error {
	for _, x := range [][3]string{{p.Nodes, p.Edges, "nodes"},
		{p.Edges, p.Nodes, "edges (two nodes in every row, or a header alone)"}} {
		if _, err := os.Stat(x[0]); errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "read", Path: x[0], Err: fmt.Errorf("%w; want a table of %s beside %s: write it there, or "+
				"name both tables if it has another name", errors.Unwrap(err), x[2], x[1])}
		}
	}
	return nil
}

// IsTable reports whether a path is a file of a table's extension, or a list of edges.
func IsTable(path string) bool {
	info, err := os.Stat(path)
	regular := err == nil && info.Mode().IsRegular()
	return regular && (slices.Contains(tableExtensions, strings.ToLower(filepath.Ext(path))) || IsEdgeList(path))
}

// AsPair takes two tables for one graph, unless their names say that both are of nodes, or of edges.
func AsPair(a, b string) (p TablePair, ok bool) {
	if IsEdgesTable(filepath.Base(a)) || IsNodesTable(filepath.Base(b)) {
		a, b = b, a
	}
	nodes, edges := IsNodesTable(filepath.Base(a)), IsEdgesTable(filepath.Base(b))
	p = TablePair{Nodes: a, Edges: b, Name: PairOf(a).Name, Loose: !nodes || !edges}
	return p, !IsEdgesTable(filepath.Base(a)) && !IsNodesTable(filepath.Base(b)) && IsTable(a) && IsTable(b)
}

// ExtensionBehind returns the extension of the table of nodes behind a prefix.
func ExtensionBehind(prefix string) string {
	i := slices.IndexFunc(tableExtensions, func(extension string) bool {
		_, err := os.Stat(prefix + "." + NodesStem + extension)
		return err == nil
	})
	return tableExtensions[max(i, 0)]
}

// TextExtensions are those of tagged text. Names with one of plainExtensions tell nothing.
var (
	TextExtensions  = []string{".conll", ".conllu", CrfsuiteExtension, ".iob", ".bio"}
	plainExtensions = []string{"", ".txt", ".data", ".train", ".dev", ".test"}
)

// tabbedTextExtension is of tables and of tagged text, and CrfsuiteExtension of text with attributes.
const (
	tabbedTextExtension = ".tsv"
	CrfsuiteExtension   = ".crfsuite"
)

// fewEnds is how often lines end before an empty one, or the end, where that may be by chance.
const fewEnds = 2

// PictureSuffixes are those of pictures to be read.
var PictureSuffixes = []string{".jpg", ".jpeg", ".png"}

// IsPicture reports whether a file has the name of one.
func IsPicture(path string) bool {
	return slices.Contains(PictureSuffixes, strings.ToLower(filepath.Ext(path)))
}

// ColoursFile names the colours of pictures of labels beside them.
const ColoursFile = "label_colors.txt"

// ImagesFolders are what a folder of pictures is called: as usual, or by PASCAL VOC or CamVid, or the folder itself.
var ImagesFolders = []string{"images", "JPEGImages", "701_StillsRaw_full", "."}

// predictionsFile describes the predictions of a folder.
const predictionsFile = "predict.json"

// IsSamples reports whether a file can be samples, by its name, or what it begins with.
func IsSamples(path string) bool {
	p := Look(path)
	return slices.Contains(tableExtensions, p.extension) || p.IsAlignment(LeastSites) || p.isRows()
}

// IsPairs reports whether a file names pairs of nodes, which the samples beside it are joined by.
func IsPairs(path string) bool { return IsEdgesTable(filepath.Base(path)) || IsEdgeList(path) }

// EdgesBeside finds edges.csv or edges.tsv beside a file of samples, unless they are of nodes there; "": none is.
func EdgesBeside(samples string) string {
	for _, extension := range tableExtensions {
		pair := PairOf(filepath.Join(filepath.Dir(samples), edgesStem+extension))
		if IsTable(pair.Edges) && !IsTable(pair.Nodes) && pair.Edges != samples {
			return pair.Edges
		}
	}
	return ""
}

// ListPath returns where a list of image ids is read, or a folder that is named: at the path itself or in the folder.
func ListPath(folder, list string) string {
	for _, path := range []string{list, filepath.Join(folder, list)} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return list
}

// IsNetwork reports whether a file is most probably a network with explicit tables.
func IsNetwork(path string) bool { return Look(path).Best().Kind == KindNetwork }

// IsFolder reports whether a path is a folder, or leads to one.
func IsFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}
