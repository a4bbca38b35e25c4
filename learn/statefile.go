package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// progressKey is that of State.progress among the metadata of a file.
const progressKey = "progress"

// WriteFile writes the state as a safetensors file, whole or not at all: a file of that
// name stays until the new one is on the disk.
func (s *State) WriteFile(path string) error {
	tensors := appendTensors(appendTensors(nil, s.doubles), s.singles)
	return safetensors.WriteFile(path, map[string]string{progressKey: string(s.progress), safetensors.ChecksumKey: ""}, tensors)
}

func appendTensors[T float32 | float64](tensors []safetensors.Tensor, arrays []array[T]) []safetensors.Tensor {
	for _, a := range arrays {
		tensors = append(tensors, safetensors.New(a.name, []int{len(a.values)}, a.values))
	}
	return tensors
}

// ReadState reads what State.WriteFile has written, and checks that it is whole.
func ReadState(path string) (*State, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		return nil, err
	}
	s := &State{progress: []byte(f.Metadata()[progressKey])}
	for _, t := range f.Tensors() {
		if t.DType == safetensors.F32 {
			s.singles, err = appendArray(s.singles, f, t.Name)
		} else {
			s.doubles, err = appendArray(s.doubles, f, t.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.progress) == 0 {
		return nil, fmt.Errorf("%s: the metadata have no %q: this is not a checkpoint of blockbp", path, progressKey)
	}
	in, err := s.parse()
	if err != nil {
		return nil, err
	}
	s.Iteration = in.Progress.Iterations
	return s, nil
}

func appendArray[T float32 | float64](arrays []array[T], f *safetensors.File, name string) ([]array[T], error) {
	values, err := safetensors.Read[T](f, name)
	return append(arrays, array[T]{name, values}), err
}
