package dataset

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// Open reads data. Paths are, depending on the kind,
//
//   - npz: with Untied, tables of samples and alignments; instance files, folders of *.npz (in natural order: 2 before
//     10) or of the arrays edges.npy and others, any number of them;
//   - images: one folder with images/ and labels/;
//   - graph: pairs of tables, each by one of its two files or by a prefix such as
//     DIR/cora, folders of them, or two tables of any names that have a header;
//     several pairs make several instances;
//   - text: files of tagged sentences, an instance for each, and folders of them.
//
// The first problem is returned, with the number of the others; see Check. Problems with data or options are *Error,
// with the disk *fs.PathError. Reading is given up with the error of ctx once that has ended; it looks between one
// file and the next.
func Open(ctx context.Context, paths []string, o Options) (*Set, error) {
	set, list := told(open(ctx, paths, &o))
	if err := firstOf(list); err != nil {
		return nil, err
	}
	return set, nil
}

// told writes what is said of data for Go programs, and keeps it with its references to options.
func told(set *Set, list []error) (*Set, []error) {
	if set != nil {
		set.notes = slices.Clone(set.Warnings)
		for i, text := range set.notes {
			set.Warnings[i] = option.Go(text)
		}
	}
	for i, err := range list {
		list[i] = public(err)
	}
	return set, list
}

func open(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	if len(paths) == 0 {
		return nil, []error{optionError("paths", "no data are given")}
	}
	wanted := o.Kind
	if o.Recipe != nil && wanted == "" { // a folder may hold several kinds of data, and text look like another
		wanted = o.Recipe.Kind
	}
	kind, list := kindOf(paths, wanted, o.readsSamples())
	if len(list) > 0 && o.Kind == "" && wanted != "" {
		kind, list = kindOf(paths, "", o.readsSamples())
	}
	if len(list) > 0 {
		return nil, list
	}
	if o.Untied && kind != KindNPZ {
		return nil, []error{optionError("Untied", "it applies to %s data and tables of samples only, and these are of the "+
			"kind %s", KindNPZ, kind)}
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

// kindOf finds out what the paths are, or checks that they are what they are said to be. samples says that tables are
// of samples.
func kindOf(paths []string, wanted string, samples bool) (kind string, list []error) {
	if wanted != "" && !slices.Contains(kinds, wanted) {
		return "", []error{optionError("Kind", "it is %q; %s", wanted, suggestion(wanted, kinds))}
	}
	for _, path := range paths {
		found, err := detect(path, wanted, samples)
		switch {
		case err != nil:
		case wanted != "" && !slices.Contains(found, wanted):
			err = optionError("Kind", "%s is %s data, not %s", path, strings.Join(found, " or "), wanted)
		case wanted != "":
			kind = wanted
		case kind != "" && found[0] != kind:
			err = option.At(path, 0, "", "give data of one kind", "it is %s data, the paths before it are %s", found[0], kind)
		default:
			kind = found[0]
		}
		if err != nil {
			list = append(list, err)
		}
	}
	return kind, list
}

// detect says what kinds of data a path can be read as: one, unless one is wanted.
func detect(path, wanted string, samples bool) ([]string, error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, tableErr := os.Stat(path + "." + nodesStem + extensionBehind(path)); tableErr == nil {
			return []string{KindGraph}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if stat.IsDir() {
		return detectFolder(path, wanted)
	}
	p := newPeek(path)
	switch {
	case samples && (isSamples(path) || isPairs(path)):
		return []string{KindNPZ}, nil
	case wanted == KindText && p.extension != ".npz" && p.extension != ".csv", wanted == KindGraph && isTable(path),
		wanted == KindNPZ && p.extension == ".npz":
		return []string{wanted}, nil
	}
	f := p.best()
	return []string{f.kind}, f.refuse(p)
}

// refuse is the error of a file that is no data, or not read at all.
func (f *format) refuse(p *peek) error {
	switch {
	case f.what == "":
		return unknown(p.path)
	case f.kind == "":
		return option.At(p.path, 0, "", f.advice(p), "it is %s, which is not read", option.Text(f.what))
	case f.kind == kindNetwork:
		return option.At(p.path, 0, "", f.advice(p), "it is %s, where data are wanted", option.Text(f.what))
	}
	return nil
}

// unknown is the error of what nothing is known of.
func unknown(path string) error {
	return option.At(path, 0, "", "give *.npz files, a folder with images/ and labels/ (or JPEGImages/ and "+
		"SegmentationClass/), tables of nodes and edges, .csv or .tsv, or tagged text, .conll or .crfsuite, or by the "+
		"names of its files", "it holds none of the known kinds of data")
}

// detectFolder says what kinds of data the files of a folder are, by their names. Unless one of them is wanted, there
// must be no doubt.
func detectFolder(folder, wanted string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found, named, others []string
	for _, e := range entries {
		path, kind := filepath.Join(folder, e.Name()), ""
		switch name := e.Name(); {
		case name[0] == '.':
			continue
		case name == predictionsFile && wanted == "":
			return nil, &option.Error{File: folder, Problem: "it holds predictions", Remedy: "give the data that they are of"}
		case strings.HasSuffix(name, ".npz"), name == edgesArray+".npy":
			kind = KindNPZ
		case slices.Contains(imagesFolders, name) && isFolder(path): // or a link to one
			kind = KindImages
		case isNodesTable(name):
			kind = KindGraph
		case slices.Contains(textExtensions, filepath.Ext(name)):
			kind = KindText
		case !e.IsDir():
			others = append(others, path)
			continue
		default:
			continue
		}
		if !slices.Contains(found, kind) {
			found, named = append(found, kind), append(named, path)
		} else if kind == KindText {
			named = append(named, path)
		}
	}
	switch {
	case len(found) == 0:
		return nil, cmp.Or(doubt(folder, others, ""), unknown(folder))
	case wanted != "":
		return found, nil
	case len(found) > 1:
		return nil, &option.Error{File: folder, Problem: "it holds data of the kinds " + strings.Join(found, " and ") +
			", such as " + firstFew(named), Remedy: "say which to read with {kind}"}
	case found[0] == KindText:
		err = doubt(folder, others, KindText)
	}
	for _, path := range named { // what a file holds tells more than its name
		if p := newPeek(path); err == nil && p.best().kind == "" && (found[0] == KindText || p.arrays != nil) {
			err = p.best().refuse(p)
		}
	}
	return found, err
}

// doubt is the error of a folder with files that look like data of a kind, "" for any, and have no name that tells.
func doubt(folder string, files []string, kind string) error {
	for _, path := range files {
		p := newPeek(path)
		switch f := p.best(); {
		case f.what == "", kind != "" && f.kind != kind:
		case f.kind == "":
			return option.At(folder, 0, "", f.advice(p), "%s is %s, which is not read", path, f.what)
		default:
			return option.At(folder, 0, "", "name the files to read instead of the folder, or call tables NAME.nodes.csv and "+
				"NAME.edges.csv", "%s looks like %s, and has no name by which a folder is read", path, f.what)
		}
	}
	return nil
}

func isFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}

// Check reads data as Open does and returns all problems at once, up to 20 per file, or else the set. What is checked
// of several files together can only be checked of those that are sound by themselves. Once ctx has ended, its error
// is the only problem.
func Check(ctx context.Context, paths []string, o Options) (sound *Set, problems []error) {
	return told(open(ctx, paths, &o))
}
