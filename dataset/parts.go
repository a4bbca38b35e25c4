package dataset

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parted"
)

// addParts makes room, among the arrays of a folder, for the features of a network that was partitioned.
func (c *npzContents) addParts(folder *parted.Folder, expected *parted.Expected, sources []Source) ([]Source, error) {
	var read []parted.File
	for _, s := range sources {
		read = append(read, parted.File{Name: filepath.Base(s.Path), SHA256: s.SHA256, Bytes: s.Bytes})
	}
	if err := expected.Check(read); err != nil {
		return sources, partsError(err)
	}
	if err := expected.Take(folder, c.arrays[parted.BlocksArray].ints); err != nil {
		return sources, partsError(err)
	}
	delete(c.arrays, parted.BlocksArray)
	add := func(name string, m *parted.Matrix, rows int) {
		if m.Columns > 0 {
			c.arrays[name] = array{shape: []int{rows, m.Columns}, data: m.Double, data32: m.Single, owner: m.Owner, later: true}
			c.files = append(c.files, m.Owner)
		}
	}
	add(nodeFeaturesArray, &folder.Node, len(folder.Of))
	add(edgeFeaturesArray, &folder.Edge, c.arrays[edgesArray].shape[0])
	c.parts = folder
	dir := filepath.Dir(sources[0].Path)
	for _, f := range folder.Files() {
		sources = append(sources, Source{Path: filepath.Join(dir, filepath.FromSlash(f.Name)), SHA256: f.SHA256,
			Bytes: f.Bytes})
	}
	return sources, nil
}

// openParts has the features of an instance read, unless that is for later.
func (l *npzLoader) openParts(folder *parted.Folder, in *npzInstance) []error {
	folder.Graph, folder.Allowed = in.graph, l.o.Memory
	folder.Read = func(path string) (map[string]parted.Rows, string, error) {
		contents, source, list := openNPZ(context.Background(), path, memory.NewBudget(folder.Allowed))
		if len(list) > 0 {
			return nil, source.SHA256, firstOf(list)
		}
		arrays := map[string]parted.Rows{}
		for name, m := range contents.arrays {
			if len(m.shape) == 2 && m.ints == nil {
				arrays[name] = parted.Rows{Matrix: parted.Matrix{Columns: m.columns(), Double: m.data, Single: m.data32},
					Rows: m.rows()}
			}
		}
		return arrays, source.SHA256, nil
	}
	if l.alone {
		l.set.Parts = folder
		if l.o.PartsLater {
			return nil
		}
	}
	if err := folder.Hold(0, parted.Sums); err != nil {
		return []error{partsError(err)}
	}
	return nil
}

// partsError is an error about a partitioned network as others of data are.
func partsError(err error) error {
	if e := (*parted.Error)(nil); errors.As(err, &e) {
		return &Error{File: e.File, Place: e.Place, Problem: e.Problem, Remedy: e.Remedy, Cause: e.Cause}
	}
	return err
}
