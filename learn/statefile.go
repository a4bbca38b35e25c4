package learn

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// progressKey is that of State.progress among the metadata of a file.
const progressKey = "progress"

// WriteFile writes the state as a safetensors file, whole or not at all: a file of that
// name stays until the new one is on the disk. A state that was read is in its file already, and refused.
func (s *State) WriteFile(path string) error {
	if s.open != nil {
		return errors.New("learn: a state that was read is in its file already; copy that")
	}
	var tensors []safetensors.Tensor
	for _, a := range s.arrays {
		tensors = append(tensors, safetensors.NewChunks(a.Name, []int{a.Len()}, a.All()))
	}
	metadata := map[string]string{progressKey: string(s.progress), safetensors.ChecksumKey: ""}
	return safetensors.WriteFile(path, metadata, tensors)
}

// ReadState reads what State.WriteFile has written, and checks that it is whole. Fit reads
// the arrays of the state, which may be large, from the file: it must stay as it is until then, or is refused.
func ReadState(path string) (*State, error) {
	return readState(path, func() (*safetensors.File, error) { return openState(path) })
}

func readState(path string, open func() (*safetensors.File, error)) (*State, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := newState(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.open = open
	return s, nil
}

// openState opens a file that is whole.
func openState(path string) (*safetensors.File, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	if err := f.Verify(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// newState takes a state without its arrays from a file.
func newState(f *safetensors.File) (*State, error) {
	metadata := f.Metadata()
	if len(metadata[progressKey]) == 0 {
		return nil, fmt.Errorf("the metadata have no %q: this is not a checkpoint of blockbp", progressKey)
	}
	s := &State{progress: []byte(metadata[progressKey]), checksum: metadata[safetensors.ChecksumKey]}
	in, err := s.parse()
	if err != nil {
		return nil, err
	}
	if !f.Sealed() {
		return nil, errors.New("the metadata have no checksum: the file is damaged")
	}
	var at progress
	if err := in.Progress.Decode("", &at); err != nil {
		return nil, err
	}
	s.Iteration = at.Iterations
	return s, nil
}
