package crf

import (
	"fmt"
	"strings"
)

// Error locates what is wrong with features, or with an instance.
type Error struct {
	// Array is what is wrong: "node_features", "edge_features", "weight", "labels",
	// or "" for the matrix that a constructor of Features was given.
	Array string
	// Index is the entry at fault, a row or a row and a column; nil: the whole.
	Index  []int
	Reason string
}

// Error implements error: array[index]: reason.
func (e *Error) Error() string {
	place := e.Array
	if e.Index != nil {
		place += strings.ReplaceAll(fmt.Sprint(e.Index), " ", ",")
	}
	return place + ": " + e.Reason
}
