package dataset

import "github.com/blockbp/blockbp/crf"

// Set is a data set that has been read and checked. Every instance was made
// with &Schema.
type Set struct {
	Schema    crf.Schema
	Instances []*crf.Instance
	Recipe    Recipe

	// Sources are the files that were read, in a fixed order.
	Sources []Source
	// Images describes, for image folders, the picture of every instance.
	Images []ImageSource
	// Splits names, for graph tables, the split of every node: [instance][node].
	Splits [][]string
	// Names are, for graph tables, the names of the nodes in the tables:
	// [instance][node]; nil for an instance whose nodes are named 0, 1, 2, ….
	Names [][]string
	// Warnings are sentences about what was assumed or left out.
	Warnings []string
}

// ImageSource is the picture behind an instance of an image folder. Node
// r*Width+c is the pixel in row r and column c.
type ImageSource struct {
	ID            string
	Path          string // the picture itself
	Width, Height int    // pixels
}
