package dataset

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/blockbp/blockbp/internal/parallel"
)

// Check reads data as Open does and returns all problems at once, up to 20 per
// file, or else the warnings of the set. Once ctx has ended, its error is the only
// problem.
//
// What is checked of several files together can only be checked of those that are
// sound by themselves. So instance files with problems are put aside, as is a
// dataset.json that cannot be read, and the others are looked at again, until
// nothing new is found.
func Check(ctx context.Context, paths []string, o Options) (warnings []string, problems []error) {
	known := map[string]bool{}
	for {
		set, found := load(ctx, paths, &o)
		if err := parallel.Ended(ctx); err != nil {
			return nil, []error{err}
		}
		if set != nil && len(problems) == 0 {
			warnings = set.Warnings
		}
		for _, err := range found {
			if !known[err.Error()] {
				known[err.Error()] = true
				problems = append(problems, err)
			}
		}
		if !o.putAside(found) {
			return warnings, problems
		}
	}
}

// putAside leaves out the files that problems are about. It reports false where
// there is nothing more to leave out.
func (o *Options) putAside(found []error) (more bool) {
	for _, err := range found {
		var at *Error
		if !errors.As(err, &at) {
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
