package formats

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
)

// KindOf finds out what the paths are, or checks that they are what they are said to be; samples: tables are such.
func KindOf(paths []string, wanted string, samples bool) (kind string, list []error) {
	if wanted != "" && !slices.Contains(Kinds, wanted) {
		return "", []error{option.Wrong("Kind", "it is %q; %s", wanted, option.DidYouMean(wanted, Kinds))}
	}
	for _, path := range paths {
		found, err := detect(path, wanted, samples)
		switch {
		case err != nil:
		case wanted != "" && !slices.Contains(found, wanted):
			err = option.Wrong("Kind", "%s is %s data, not %s", path, strings.Join(found, " or "), wanted)
		case wanted != "":
			kind = wanted
		case kind != "" && found[0] != kind:
			err = option.At(path, 0, "", "give data of one kind; tables are called .csv or .tsv",
				"it is %s data, the paths before it are %s", found[0], kind)
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
	_, tableErr := os.Stat(path + "." + NodesStem + ExtensionBehind(path))
	if errors.Is(err, fs.ErrNotExist) && tableErr == nil {
		return []string{kindGraph}, nil
	}
	if err != nil {
		return nil, err
	}
	if stat.IsDir() {
		return detectFolder(path, wanted)
	}
	p := Look(path)
	switch {
	case samples && (IsSamples(path) || IsPairs(path)):
		return []string{kindNPZ}, nil
	case wanted == kindText && p.extension != ".npz" && p.extension != ".csv", wanted == kindGraph && IsTable(path),
		wanted == kindNPZ && p.extension == ".npz" && !p.isPrediction():
		return []string{wanted}, nil
	case strings.HasPrefix(p.start, "\xff\xfe"): // UTF-16, as Windows and Excel write it
		return nil, NotText(path, []byte(p.start))
	}
	f := p.Best()
	return []string{f.Kind}, f.refuse(p)
}

// refuse is the error of a file that is no data, or not read at all.
func (f *Format) refuse(p *Peek) error {
	switch {
	case f.What == "":
		return unknown(p.path)
	case f.Kind == "":
		return option.At(p.path, 0, "", p.Advise(f.What), "it is %s, which is not read", option.Text(f.What))
	case f.Kind == KindNetwork:
		return option.At(p.path, 0, "", p.Advise(f.What), "it is %s, where data are wanted", option.Text(f.What))
	}
	return nil
}

// unknown is the error of what nothing is known of.
func unknown(path string) error {
	return option.At(path, 0, "", Look("").Advise("nothing known"), "it holds none of the known kinds of data")
}

// detectFolder says what kinds of data the files of a folder are, by name. Unless one is wanted, it must be sure.
func detectFolder(folder, wanted string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found, named, others, arrays []string
	for _, e := range entries {
		path, kind := filepath.Join(folder, e.Name()), ""
		switch name := e.Name(); {
		case name[0] == '.':
			continue
		case name == predictionsFile && wanted == "":
			return nil, &option.Error{File: folder, Problem: "it holds predictions", Remedy: "give the data that they are of"}
		case strings.HasSuffix(name, ".npz"), name == npy.Edges+".npy":
			kind, arrays = kindNPZ, append(arrays, path)
		case slices.Contains(ImagesFolders, name) && IsFolder(path), name == ColoursFile: // or a link to one
			kind = kindImages
		case IsNodesTable(name):
			kind = kindGraph
		case slices.Contains(TextExtensions, filepath.Ext(name)):
			kind = kindText
		default:
			others = append(others, path)
			continue
		}
		if !slices.Contains(found, kind) {
			found, named = append(found, kind), append(named, path)
		} else if kind == kindText {
			named = append(named, path)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(others), IsPicture)
	switch {
	case len(found) == 0 && 2*len(rest) < len(others): // pictures with labels that are named, or to be labelled
		return []string{kindImages}, doubt(folder, rest, "")
	case len(found) == 0:
		return nil, cmp.Or(doubt(folder, append(rest, others...), ""), unknown(folder))
	case wanted == kindNPZ: // which may be predictions
	case wanted != "":
		return found, nil
	case len(found) > 1:
		return nil, &option.Error{File: folder, Problem: "it holds data of the kinds " + strings.Join(found, " and ") +
			", such as " + option.FirstFew(named), Remedy: "say which to read with {kind}"}
	case found[0] == kindText:
		err = doubt(folder, others, kindText)
	}
	for _, path := range slices.Concat(named, arrays) { // what a file holds tells more than its name
		if p := Look(path); err == nil && p.Best().Kind == "" && (found[0] == kindText || p.arrays != nil) {
			err = p.Best().refuse(p)
		}
	}
	return found, err
}

// doubt is the error of a folder with files that look like data of a kind, "" for any, and have no name that tells.
func doubt(folder string, files []string, kind string) error {
	for _, path := range files {
		p := Look(path)
		switch f := p.Best(); {
		case f.What == "", kind != "" && f.Kind != kind:
		case f.Kind == "":
			return option.At(folder, 0, "", p.Advise(f.What), "%s is %s, which is not read", path, f.What)
		default:
			return option.At(folder, 0, "", "name the files to read instead of the folder, or call tables NAME.nodes.csv and "+
				"NAME.edges.csv", "%s looks like %s, and has no name by which a folder is read", path, f.What)
		}
	}
	return nil
}
