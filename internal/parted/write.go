package parted

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
)

// Network is what is written into a folder.
type Network struct {
	Cut
	Graph      *graph.Graph
	Node, Edge Matrix
	Arrays     []npy.Array // but for edges and blocks
	Manifest   string      // the name and ...
	Text       []byte      // ... text of a file beside them; nil: there is none
	Found      any         // becomes JSON
	Files      int         // of parts, Sums at most
}

// FeatureBytes is what the features take.
func (n *Network) FeatureBytes() int64 {
	return 8*int64(len(n.Node.Double)+len(n.Edge.Double)) + 4*int64(len(n.Node.Single)+len(n.Edge.Single))
}

// Names are those of the files that are written, but for parts.
func (n *Network) Names() []string {
	names := []string{BlocksArray + ".npy", EdgesArray + ".npy", Description}
	for _, a := range n.Arrays {
		names = append(names, a.Name+".npy")
	}
	if n.Text != nil {
		names = append(names, n.Manifest)
	}
	return names
}

// SharedEdges counts the edges that are in two files.
func (n *Network) SharedEdges() (shared int) {
	of := fileOf(n.Part, n.Files)
	u, v := n.Graph.Ends()
	for e := range u {
		if of[n.Of[u[e]]] != of[n.Of[v[e]]] {
			shared++
		}
	}
	return shared
}

// Write writes the folder: write makes a file of that name, whole or not at all. The last one is what
// makes the folder one of data.
func (n *Network) Write(ctx context.Context, write func(name string, fill func(path string) error) error) error {
	d := description{
		Format: format, Nodes: n.Graph.NumNodes(), Edges: n.Graph.NumEdges(),
		Blocks: n.Blocks, Sums: Sums, BlockParts: n.Part,
		NodeFeatures: n.Node.description(), EdgeFeatures: n.Edge.description(),
	}
	var err error
	if d.Found, err = json.Marshal(n.Found); err != nil {
		return err
	}
	summed := func(name string, fill func(path string) error) (f File, err error) {
		err = write(name, func(path string) error {
			err := fill(path)
			if err == nil {
				f, err = sumOf(path, name)
			}
			return err
		})
		return f, err
	}
	if d.Parts, err = n.writeParts(ctx, summed); err != nil {
		return err
	}
	for _, a := range append([]npy.Array{npy.ArrayOf(BlocksArray, n.Of, len(n.Of))}, n.Arrays...) {
		one, err := summed(a.Name+".npy", func(path string) error { return atomicfile.Write(path, a.Write) })
		if err != nil {
			return err
		}
		d.Arrays = append(d.Arrays, one)
	}
	if n.Text != nil {
		one, err := summed(n.Manifest, func(path string) error { return atomicfile.Write(path, writing(n.Text)) })
		if err != nil {
			return err
		}
		d.Arrays = append(d.Arrays, one)
	}
	// The description has the sum of the array that is written after it.
	u, v := n.Graph.Ends()
	edges := npy.RowsOf(EdgesArray, func(row []int32, e int) { row[0], row[1] = u[e], v[e] }, len(u), 2)
	hash, size := sha256.New(), counter(0)
	if err := edges.Write(io.MultiWriter(hash, &size)); err != nil {
		return err
	}
	d.Arrays = append(d.Arrays, File{EdgesArray + ".npy", fmt.Sprintf("%x", hash.Sum(nil)), int64(size)})
	if d.SHA256, err = d.sum(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	fill := func(path string) error { return atomicfile.Write(path, writing(append(text, '\n'))) }
	if err := write(Description, fill); err != nil {
		return err
	}
	return write(EdgesArray+".npy", func(path string) error { return atomicfile.Write(path, edges.Write) })
}

// writeParts writes the features of every part, and returns the files.
func (n *Network) writeParts(
	ctx context.Context, write func(name string, fill func(path string) error) (File, error),
) (parts []File, err error) {
	lists := listsOf(n.Graph, n.Of, fileOf(n.Part, n.Files), slices.Repeat([]bool{true}, n.Files))
	for f := range n.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		arrays := append(n.Node.rows(NodeFeatures, lists.nodes[f]), n.Edge.rows(EdgeFeatures, lists.edges[f])...)
		one, err := write(partName(f), func(path string) error { return npy.WriteArchive(path, arrays...) })
		if err != nil {
			return nil, err
		}
		parts = append(parts, one)
	}
	return parts, nil
}

func writing(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// sumOf describes a file.
func sumOf(path, name string) (File, error) {
	file, _, err := infile.Open(path, "a file of a partitioned network")
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	return File{name, fmt.Sprintf("%x", hash.Sum(nil)), size}, err
}

func (m *Matrix) description() *features {
	switch {
	case m.Single != nil:
		return &features{"float32", m.Columns}
	case m.Double != nil:
		return &features{"float64", m.Columns}
	}
	return nil
}

// rows are some rows on their way into a file; nothing where there are no features.
func (m *Matrix) rows(name string, rows []int32) []npy.Array {
	d := m.Columns
	switch {
	case m.Single != nil:
		row := func(row []float32, i int) { copy(row, m.Single[int(rows[i])*d:]) }
		return []npy.Array{npy.RowsOf(name, row, len(rows), d)}
	case m.Double != nil:
		row := func(row []float64, i int) { copy(row, m.Double[int(rows[i])*d:]) }
		return []npy.Array{npy.RowsOf(name, row, len(rows), d)}
	}
	return nil
}
