package dataset

import (
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
		if e, ok := err.(*Error); ok {
			list[i] = option.Message((*option.Error)(e).References(), e)
		}
	}
	return set, list
}

func open(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	if len(paths) == 0 {
		return nil, []error{optionError("paths", "no data are given")}
	}
	kind, list := kindOf(paths, o.Kind, o.readsSamples())
	noText := func(path string) bool { return slices.Contains([]string{".npz", ".csv"}, filepath.Ext(path)) }
	if o.Kind == "" && o.Recipe != nil && (len(list) > 0 || kind != o.Recipe.Kind && !slices.ContainsFunc(paths, noText)) {
		// A folder may hold several kinds of data, and text look like another; the model knows which to read.
		if _, again := kindOf(paths, o.Recipe.Kind, o.readsSamples()); len(again) == 0 {
			kind, list = o.Recipe.Kind, nil
		}
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
func kindOf(paths []string, wanted string, samples bool) (string, []error) {
	if wanted != "" && !slices.Contains(kinds, wanted) {
		return "", []error{optionError("Kind", "it is %q; %s", wanted, suggestion(wanted, kinds))}
	}
	var list []error
	first := ""
	for _, path := range paths {
		found, err := detect(path, wanted, samples)
		switch {
		case err != nil:
			list = append(list, err)
		case first == "":
			first = found
		case found != first:
			list = append(list, wrong(path, 0, "", "give data of one kind", "it is %s data, the paths before it are %s", found,
				first))
		}
	}
	return first, list
}

// detect says what kind of data a path is. If wanted is not "", it must be among what the path can be.
func detect(path, wanted string, samples bool) (string, error) {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, tableErr := os.Stat(path + "." + nodesStem + extensionBehind(path)); tableErr == nil {
			return asWanted(path, []string{KindGraph}, wanted)
		}
	}
	if err != nil {
		return "", err
	}
	if stat.IsDir() {
		return detectFolder(path, wanted)
	}
	p := newPeek(path)
	switch best := p.best(); {
	case samples && (isSamples(path) || isPairs(path)):
		return KindNPZ, nil
	case wanted == KindText, wanted == KindGraph && isTable(path),
		wanted == KindNPZ && p.extension == ".npz":
		return wanted, nil
	case best.what == "":
		return "", unknown(path)
	case slices.Contains(kinds, best.kind):
		return asWanted(path, []string{best.kind}, wanted)
	default:
		return "", best.refuse(p)
	}
}

// refuse is the error of a file that is no data, or not read at all.
func (f *format) refuse(p *peek) error {
	if f.kind != "" {
		return wrong(p.path, 0, "", f.how(p), "it is %s, where data are wanted", option.Text(f.what))
	}
	return wrong(p.path, 0, "", f.how(p), "it is %s, which is not read", option.Text(f.what))
}

// asWanted is the one kind that was found, or the one of several that is wanted.
func asWanted(path string, found []string, wanted string) (string, error) {
	switch {
	case wanted == "" && len(found) == 1:
		return found[0], nil
	case slices.Contains(found, wanted):
		return wanted, nil
	}
	return "", optionError("Kind", "%s is %s data, not %s", path, strings.Join(found, " or "), wanted)
}

// unknown is the error of what nothing is known of.
func unknown(path string) error {
	return wrong(path, 0, "",
		"give *.npz files, a folder with images/ and labels/, tables of "+
			"nodes and edges, .csv or .tsv, or tagged text, .conll or .crfsuite, or by the names of its files",
		"it holds none of the known kinds of data")
}

// detectFolder says what kind of data the files of a folder are, by their names.
func detectFolder(folder, wanted string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var found, first, others, texts []string
	for _, e := range entries {
		kind := ""
		switch name := e.Name(); {
		case name[0] == '.':
			continue
		case name == predictionsFile && wanted == "":
			return "", &Error{File: folder, Problem: "it holds predictions", Remedy: "give the data that they are of"}
		case strings.HasSuffix(name, ".npz"), name == edgesArray+".npy":
			kind = KindNPZ
		case slices.Contains(imagesFolders, name) && isFolder(filepath.Join(folder, name)): // or a link to one
			kind = KindImages
		case isNodesTable(name):
			kind = KindGraph
		case slices.Contains(textExtensions, filepath.Ext(name)):
			kind, texts = KindText, append(texts, filepath.Join(folder, name))
		case !e.IsDir():
			others = append(others, filepath.Join(folder, name))
		}
		if kind != "" && !slices.Contains(found, kind) {
			found, first = append(found, kind), append(first, filepath.Join(folder, e.Name()))
		}
	}
	switch {
	case len(found) == 0:
		return "", byContent(folder, others)
	case wanted != "":
		return asWanted(folder, found, wanted)
	case len(found) > 1:
		return "", &Error{File: folder, Problem: "it holds data of the kinds " + strings.Join(found, " and ") + ", such as " +
			firstFew(first), Remedy: "say which to read with {kind}"}
	}
	if found[0] == KindText {
		return found[0], ambiguousText(folder, texts, others)
	}
	p := newPeek(first[0])
	if f := p.best(); f.what != "" && f.kind == "" && p.arrays != nil { // that are named otherwise
		return "", f.refuse(p)
	}
	return found[0], nil
}

// byContent is the error of a folder none of whose files has a name to find them by: the first tells what they are.
func byContent(folder string, files []string) error {
	for _, path := range files {
		p := newPeek(path)
		f := p.best()
		switch {
		case f.what == "":
			continue
		case f.kind == "":
			return wrong(folder, 0, "", f.how(p), "%s is %s, which is not read", path, f.what)
		}
		return wrong(folder, 0, "", "name the files to read instead of the folder, or call tables NAME.nodes.csv and "+
			"NAME.edges.csv", "%s looks like %s, and has no name by which a folder is read", path, f.what)
	}
	return unknown(folder)
}

// ambiguousText says that a folder of text holds more that could be meant: text of other names, or predictions.
func ambiguousText(folder string, texts, others []string) error {
	for _, path := range others {
		if newPeek(path).best().kind == KindText {
			return wrong(folder, 0, "", "name the files to read",
				"%s looks like tagged text as %s does, by whose name it is text", path, texts[0])
		}
	}
	for _, path := range texts {
		p := newPeek(path)
		if f := p.best(); f.kind == "" {
			return f.refuse(p)
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
