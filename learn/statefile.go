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
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := newState(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// newState takes a state from a file that is whole.
func newState(f *safetensors.File) (s *State, err error) {
	metadata := f.Metadata()
	if len(metadata[progressKey]) == 0 {
		return nil, fmt.Errorf("the metadata have no %q: this is not a checkpoint of blockbp", progressKey)
	}
	for key := range metadata {
		if key != progressKey && key != safetensors.ChecksumKey && key != safetensors.DataChecksumKey {
			return nil, fmt.Errorf("metadata %q mean nothing to this blockbp: the file is damaged, or a newer version wrote it", key)
		}
	}
	s = &State{progress: []byte(metadata[progressKey])}
	in, err := s.parse()
	if err != nil {
		return nil, err
	}
	s.Iteration = in.Progress.Iterations
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
	return s, nil
}

func appendArray[T float32 | float64](arrays []array[T], f *safetensors.File, name string) ([]array[T], error) {
	values, err := safetensors.Read[T](f, name)
	return append(arrays, array[T]{name, values}), err
}
