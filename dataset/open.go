package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/parallel"
)

// Open reads data. Paths are, depending on the kind,
//
//   - npz: instance files, folders of *.npz (in natural order: 2 before 10) or of
//     the arrays edges.npy and others, and lists of paths (.txt or .list, one per
//     line, relative to the list), any number of them;
//   - images: one folder with images/ and labels/;
//   - graph: pairs of tables, each by one of its two files or by a prefix such as
//     DIR/cora, folders of them, or two tables of any names that have a header;
//     several pairs make several instances;
//   - text: files of tagged sentences, an instance for each, and folders of them.
//
// The first problem is returned, with the number of the others; see Check.
// Problems with data or options are *Error, with the disk *fs.PathError. Reading is
// given up with the error of ctx once that has ended; it looks between one file and
// the next.
func Open(ctx context.Context, paths []string, o Options) (*Set, error) {
	set, list := load(ctx, paths, &o)
	if err := firstOf(list); err != nil {
		return nil, err
	}
	return set, nil
}

func load(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	if len(paths) == 0 {
		return nil, []error{optionError("paths", "no data are given")}
	}
	kind, list := kindOf(paths, o.Kind)
	if o.Kind == "" && o.Recipe != nil && (len(list) > 0 || kind != o.Recipe.Kind && !slices.ContainsFunc(paths, isNoText)) {
		// A folder may hold several kinds of data, and text look like another; the model knows
		// which to read.
		if _, again := kindOf(paths, o.Recipe.Kind); len(again) == 0 {
			kind, list = o.Recipe.Kind, nil
		}
	}
	if len(list) > 0 {
		return nil, list
	}
	if err := o.validate(kind); err != nil {
		return nil, []error{err}
	}
	set, list := loadKind(ctx, kind, paths, o)
	if err := parallel.Ended(ctx); err != nil {
		return nil, []error{err} // the files that were not read are no problems
	}
	if set != nil {
		set.Warnings = slices.Concat(o.overruled(), set.Warnings)
	}
	return set, list
}

func loadKind(ctx context.Context, kind string, paths []string, o *Options) (*Set, []error) {
	switch kind {
	case KindImages:
		if len(paths) > 1 {
			return nil, []error{optionError("paths", "%d image folders are given, want one", len(paths))}
		}
		return loadImages(ctx, paths[0], o)
	case KindGraph:
		return loadTables(ctx, paths, o)
	case KindText:
		return loadText(ctx, paths, o)
	}
	return loadNPZ(ctx, paths, o)
}

// kindOf finds out what the paths are, or checks that they are what they are
// said to be.
func kindOf(paths []string, wanted string) (string, []error) {
	if wanted != "" && !slices.Contains(kinds, wanted) {
		return "", []error{optionError("Kind", "it is %q; %s", wanted, suggestion(wanted, kinds))}
	}
	var list []error
	first := ""
	for _, path := range paths {
		found, err := detect(path, wanted)
		switch {
		case err != nil:
			list = append(list, err)
		case first == "":
			first = found
		case found != first:
			list = append(list, &Error{File: path, Problem: fmt.Sprintf("it is %s data, the paths before it are %s", found, first), Remedy: "give data of one kind"})
		}
	}
	return first, list
}

// detect says what kind of data a path is. If wanted is not "", it must be
// among what the path can be.
func detect(path, wanted string) (string, error) {
	found, err := candidates(path)
	if err != nil {
		return "", err
	}
	switch {
	case wanted != "" && slices.Contains(found, wanted), wanted == KindText && !isFolder(path), wanted == KindGraph && isTable(path):
		return wanted, nil
	case wanted != "" && len(found) > 0:
		return "", optionError("Kind", "%s is %s data, not %s", path, strings.Join(found, " or "), wanted)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &Error{File: path, Problem: "it holds data of the kinds " + strings.Join(found, " and "), Remedy: "say which to read with the option Kind"}
	}
	extension := strings.ToLower(filepath.Ext(path))
	if at := slices.IndexFunc(conversions, func(c conversion) bool { return slices.Contains(c.extensions, extension) }); at >= 0 && !isFolder(path) {
		return "", &Error{File: path, Problem: "it is " + conversions[at].what + ", which is not read", Remedy: conversions[at].how}
	}
	if remedy := misplacedPictures(path); remedy != "" {
		return "", &Error{File: path, Problem: "pictures are not read from here", Remedy: remedy}
	}
	if file := dataInside(path); file != "" {
		return "", &Error{File: path, Problem: "the names of its files tell no kind of data", Remedy: "name those to read, such as " + file}
	}
	return "", &Error{
		File:    path,
		Problem: "it holds none of the known kinds of data",
		Remedy:  "give *.npz files, a list of them (.txt, .list), a folder with images/ and labels/, tables of nodes and edges, .csv or .tsv, or tagged text, .conll or .crfsuite",
	}
}

// dataInside returns the first file in a folder that could be data if it was named, or "".
func dataInside(folder string) string {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); !e.IsDir() && slices.Contains(fileCandidates(path), KindText) {
			return path
		}
	}
	return ""
}

// asTaggedText is how sentences are written.
const asTaggedText = "write a token, a tab and its label on each line, and an empty line between sentences"

// conversion is how to turn a format that is not read into one that is.
type conversion struct {
	what, how  string
	extensions []string
}

// conversions are those of formats that networks and tables are often kept in.
var conversions = []conversion{
	{"a Parquet file", `write CSV, in Python pandas.read_parquet("nodes.parquet").to_csv("nodes.csv", index=False)`, []string{".parquet", ".pq"}},
	{"a workbook", "save its sheets as CSV, one of nodes and one of edges", []string{".xls", ".xlsx", ".ods"}},
	{"a GraphML file", networkxToTables("networkx.read_graphml"), []string{".graphml"}},
	{"a GML file", networkxToTables("networkx.read_gml"), []string{".gml"}},
	{"a GEXF file", networkxToTables("networkx.read_gexf"), []string{".gexf"}},
	{"a compressed file", "unpack it", []string{".gz", ".bz2", ".xz", ".zst", ".zip"}},
	{"a file of JSON lines", "write tables of nodes and edges; or, of sentences, " + asTaggedText, []string{".jsonl"}},
	{"a JSON file", networkxToTables("networkx.node_link_graph of its content, if it is of networkx"), []string{".json"}},
	{"an array without a name", `put it into npz with its name, in Python numpy.savez("data.npz", labels=…, edges=…, node_features=…)`, []string{".npy"}},
	{"a MATLAB file", `write its arrays as npz, in Python numpy.savez("data.npz", labels=…, edges=…, node_features=…) of scipy.io.loadmat("data.mat")`, []string{".mat"}},
	{"a PyTorch file", `write its arrays as npz, in Python numpy.savez("data.npz", edges=data.edge_index.T, labels=data.y, node_features=data.x)`, []string{".pt", ".pth"}},
}

func networkxToTables(read string) string {
	return "write two tables, in Python with graph from " + read + `: pandas.DataFrame.from_dict(dict(graph.nodes), orient="index").to_csv("nodes.csv", index_label="id") and networkx.to_pandas_edgelist(graph).to_csv("edges.csv", index=False)`
}

// candidates lists the kinds of data that a path can be.
func candidates(path string) ([]string, error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, tableErr := os.Stat(path + "." + nodesStem + extensionBehind(path)); tableErr == nil {
			return []string{KindGraph}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !stat.IsDir() {
		return fileCandidates(path), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		kind := ""
		switch {
		case strings.HasSuffix(e.Name(), ".npz"), e.Name() == edgesArray+".npy":
			kind = KindNPZ
		case e.Name() == imagesFolder && isFolder(filepath.Join(path, e.Name())): // or a link to one
			kind = KindImages
		case isNodesTable(e.Name()):
			kind = KindGraph
		case slices.Contains(textExtensions, filepath.Ext(e.Name())):
			kind = KindText
		}
		if kind != "" && !slices.Contains(found, kind) {
			found = append(found, kind)
		}
	}
	return found, nil
}

// isNoText reports whether the name of a file is that of arrays or of a table with commas.
func isNoText(path string) bool {
	return slices.Contains([]string{".npz", ".csv"}, filepath.Ext(path))
}

func isFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}

func fileCandidates(path string) []string {
	name, extension := filepath.Base(path), filepath.Ext(path)
	switch {
	case slices.Contains(textExtensions, extension), slices.Contains(plainExtensions, extension) && isText(path):
		return []string{KindText}
	case strings.HasSuffix(name, ".npz"), strings.HasSuffix(name, ".txt"), strings.HasSuffix(name, ".list"):
		return []string{KindNPZ}
	case isNodesTable(name), isEdgesTable(name), slices.Contains(tableExtensions, extension) && (extension != tabbedTextExtension || !isSentences(path, fewEnds)):
		return []string{KindGraph}
	case isSentences(path, 1):
		return []string{KindText}
	}
	return nil
}

// Check reads data as Open does and returns all problems at once, up to 20 per
// file, or else the set. Once ctx has ended, its error is the only
// problem.
//
// What is checked of several files together can only be checked of those that are
// sound by themselves. So instance files with problems are put aside, as is a
// dataset.json that cannot be read, and the others are looked at again, until
// nothing new is found.
func Check(ctx context.Context, paths []string, o Options) (sound *Set, problems []error) {
	known := map[string]bool{}
	for {
		set, found := load(ctx, paths, &o)
		if err := parallel.Ended(ctx); err != nil {
			return nil, []error{err}
		}
		if len(problems) == 0 {
			sound = set
		}
		for _, err := range found {
			if !known[err.Error()] {
				known[err.Error()] = true
				problems = append(problems, err)
			}
		}
		if !o.putAside(found) {
			return sound, problems
		}
	}
}

// putAside leaves out the files that problems are about. It reports false where
// there is nothing more to leave out.
func (o *Options) putAside(found []error) (more bool) {
	for _, err := range found {
		var at *Error
		if !errors.As(err, &at) || at.ofAll {
			continue
		}
		switch {
		case strings.HasSuffix(at.File, ".npz") && !o.aside[at.File]:
			if o.aside == nil {
				o.aside = map[string]bool{}
			}
			o.aside[at.File], more = true, true
		case filepath.Base(at.File) == ManifestName && at.Line > 0 && !o.noManifest:
			o.noManifest, more = true, true
		}
	}
	return more
}
