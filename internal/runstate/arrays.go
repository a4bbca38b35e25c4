package runstate

import (
	"errors"
	"fmt"
	"iter"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// Err is the error of states that cannot be gone on with.
var Err = errors.New("checkpoint")

// Errorf says why a state cannot be gone on with.
func Errorf(format string, a ...any) error {
	return option.Errorf("%w: %s", Err, option.Text(fmt.Sprintf(format, a...)))
}

// Array is numbers of a state, with their name: a slice, or pieces of slices.
type Array struct {
	Name   string
	Values []float64
	Pieces iter.Seq[[]float64] // one after another, Length numbers in all; nil: Values are all
	Length int
}

// Len is how many numbers the array has.
func (a *Array) Len() int {
	if a.Pieces != nil {
		return a.Length
	}
	return len(a.Values)
}

// All are the pieces of the array.
func (a *Array) All() iter.Seq[[]float64] {
	if a.Pieces != nil {
		return a.Pieces
	}
	return func(yield func([]float64) bool) { yield(a.Values) }
}

// Read puts into each array what a file has under its name. Nothing is read before all names and sizes are right.
func Read(f *safetensors.File, arrays []Array) error {
	tensors := make([]safetensors.Info, len(arrays))
	for i, a := range arrays {
		t, ok := f.Find(a.Name)
		if has := t.Shape; !ok || t.DType != safetensors.F64 || len(has) != 1 || has[0] != a.Len() {
			return Errorf("array %q has the shape %v, want [%d] of %s: it belongs to other data or another model",
				a.Name, has, a.Len(), safetensors.F64)
		}
		tensors[i] = t
	}
	for i, a := range arrays {
		if err := safetensors.ReadChunks(f, tensors[i], a.All()); err != nil {
			return err
		}
	}
	return nil
}
