package dataset

import (
	"context"
	"slices"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// Open reads data: instance files, folders of them or of arrays, and with Untied tables of samples and alignments; one
// image folder; pairs of tables, by one of the two or a prefix, folders of them, or two tables of any names; files of
// tagged sentences and folders of them. docs/reference/formats.md has the formats.
//
// The first problem is returned, with the number of the others; see Check. Problems with data or options are *Error,
// with the disk *fs.PathError. Reading ends with the error of ctx, once there is one; it looks between files.
func Open(ctx context.Context, paths []string, o Options) (*Set, error) {
	set, list := told(open(ctx, paths, &o))
	return set, firstOf(list)
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
		return nil, []error{option.Wrong("paths", "no data are given")}
	}
	wanted := o.Kind
	if o.Recipe != nil && wanted == "" { // a folder may hold several kinds of data, and text look like another
		wanted = o.Recipe.Kind
	}
	kind, list := formats.KindOf(paths, wanted, o.readsSamples())
	if len(list) > 0 && o.Kind == "" && wanted != "" {
		kind, list = formats.KindOf(paths, "", o.readsSamples())
	}
	if len(list) > 0 {
		return nil, list
	}
	if o.Untied && kind != kindNPZ {
		return nil, []error{option.Wrong("Untied", "it applies to %s data and tables of samples only, and these are of the "+
			"kind %s", kindNPZ, kind)}
	}
	if err := o.validate(kind); err != nil {
		return nil, []error{err}
	}
	set, list := loaders[kind](ctx, paths, o)
	if err := parallel.Ended(ctx); err != nil {
		return nil, []error{err} // the files that were not read are no problems
	}
	if set != nil {
		set.Warnings = slices.Concat(o.overruled(), set.Warnings)
	}
	return set, list
}

var loaders = map[string]func(context.Context, []string, *Options) (*Set, []error){
	kindImages: loadImages, kindGraph: loadTables, kindText: loadText, kindNPZ: loadNPZ}

// Check reads data as Open does and returns all problems at once, up to 20 per file, or else the set. What several
// files have in common is checked of those that are sound by themselves. Once ctx has ended, its error is the only one.
func Check(ctx context.Context, paths []string, o Options) (sound *Set, problems []error) {
	return told(open(ctx, paths, &o))
}
