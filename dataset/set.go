package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"sync"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
)

// Set is a data set that has been read and checked. Every instance was made with &Schema.
type Set struct {
	Schema    crf.Schema
	Instances []*crf.Instance
	Recipe    Recipe

	Sources []Source      // the files that were read, in a fixed order
	Images  []ImageSource // of image folders, the picture of every instance
	// Splits names, for graph tables, the split of every node: [instance][node].
	Splits [][]string
	// Names are, for graph tables, the names of the nodes in the tables:
	// [instance][node]; nil for an instance whose nodes are named 0, 1, 2, ….
	Names [][]string
	// Rows are, for graph tables, the nodes of the rows of the table: [instance][row]; nil for an instance whose
	// nodes are numbered as the rows are. Nodes are numbered in the natural order of their names, so that results do
	// not depend on that of rows.
	//
	// Of images with superpixels, rows are pixels: Rows has the superpixel of each, row by row.
	Rows [][]int32
	// RowLabels are, of images with superpixels that have labels, those of the pixels:
	// [instance][row], −1 unobserved. A superpixel has the label of most of its pixels.
	RowLabels [][]int32
	// Means are the mean statistics of the only instance, laid out as the weights, where they are given in place of
	// samples; nil: those of its labels.
	Means        []float64
	MeansWeights []float64 // of how many observations each of Means is, over the weight of the instance; nil: 1
	Warnings     []string  // sentences about what was assumed or left out

	notes []string // the same, with references to options

	given []crf.Features    // of nodes of graph tables
	texts []*formats.Text   // that sentences were read from
	files []*fileio.Mapping // that features lie in
}

// Notes are the warnings with references to options, such as {states}, for a program with names of its own.
func (s *Set) Notes() []string { return s.notes }

// Close gives back the files in which features of a folder of arrays or of pictures lie, as they are used
// there. Instances must not be used any more. Without it files are given back by the garbage collector, once
// nothing refers to any of the features.
func (s *Set) Close() {
	for _, file := range s.files {
		file.Close()
	}
	s.files = nil
}

// WriteTags writes the tagged text that a set was read from for a model, with a tag for each token [sentence][token]:
// in a column behind the others; in CoNLL-U in that of labels, with the one that it had as Gold=LABEL among what else
// is known; in text of attributes alone. All other lines stay as they are.
func (s *Set) WriteTags(w io.Writer, tags [][]string) error {
	return formats.WriteTags(w, s.texts, tags)
}

// ImageSource is the picture behind an instance of an image folder. Node r*Width+c is the pixel in row r and column c.
type ImageSource struct {
	ID            string
	Path          string // the picture itself
	Width, Height int    // pixels

	turned, clear bool // a viewer turns what is stored, or sees through some of it
}

func (s *ImageSource) pixels() float64 { return float64(s.Width) * float64(s.Height) }

// graphCache gives instances with the same edges the same *graph.Graph: topology is kept apart from numbers, once.
type graphCache struct {
	mutex  sync.Mutex
	byHash map[string]*graph.Graph
}

// get returns the graph on n nodes whose edge e joins edges[2e] and edges[2e+1].
func (c *graphCache) get(n int, edges []int32) (*graph.Graph, error) {
	hash := hashOf([]int32{int32(n)}, edges)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if g := c.byHash[hash]; g != nil {
		return g, nil
	}
	u, v := make([]int32, len(edges)/2), make([]int32, len(edges)/2)
	for e := range u {
		u[e], v[e] = edges[2*e], edges[2*e+1]
	}
	if c.byHash == nil {
		c.byHash = map[string]*graph.Graph{}
	}
	g, err := graph.FromEdges(n, u, v)
	if err == nil {
		c.byHash[hash] = g
	}
	return g, err
}

// hashOf is the SHA-256 of integers.
func hashOf(lists ...[]int32) string {
	hash := sha256.New()
	for _, list := range lists {
		data, _ := binary.Append(nil, binary.LittleEndian, list) // integers cannot fail
		hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
