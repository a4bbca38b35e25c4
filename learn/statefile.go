package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// progressKey is that of State.progress among the metadata of a file.
const progressKey = "progress"

// WriteFile writes the state as a safetensors file, whole or not at all: a file of that
// name stays until the new one is on the disk. Where blocks are dealt over several processes, each of
// them writes files of its parts beside it, first. A state that was read is in its file already, and refused.
func (s *State) WriteFile(path string) error {
	if s.open != nil {
		return errors.New("learn: a state that was read is in its file already; copy that")
	}
	var tensors []safetensors.Tensor
	for _, a := range s.arrays {
		tensors = append(tensors, safetensors.New(a.Name, []int{len(a.Values)}, a.Values))
	}
	metadata, generation := map[string]string{progressKey: string(s.progress), safetensors.ChecksumKey: ""}, 0
	if s.dealt != nil {
		parts, err := s.dealt.orderParts(path)
		if err != nil {
			return err
		}
		text, err := json.Marshal(parts)
		if err != nil {
			return err
		}
		metadata[partsKey], generation = string(text), parts.Generation
	}
	if err := safetensors.WriteFile(path, metadata, tensors); err != nil {
		return err
	}
	runstate.SyncFolder(filepath.Dir(path))
	runstate.RemoveParts(path, generation)
	return nil
}

// ReadState reads what State.WriteFile has written, and checks that it is whole. Fit reads
// the arrays of the state, which may be large, from the file, and from those of its parts: they
// must stay as they are until then, or are refused.
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
	s.open, s.path = open, path
	return s, s.eachPart(false, everyPart, nothing)
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
	for key := range metadata {
		if key != progressKey && key != partsKey && key != safetensors.ChecksumKey && key != safetensors.DataChecksumKey {
			return nil, fmt.Errorf("metadata %q mean nothing to this blockbp: the file is damaged, or a newer version wrote it", key)
		}
	}
	s := &State{progress: []byte(metadata[progressKey]), checksum: runstate.Checksum(f)}
	in, err := s.parse()
	if err != nil {
		return nil, err
	}
	var at progress
	if err := in.Progress.Decode("", &at); err != nil {
		return nil, err
	}
	s.Iteration = at.Iterations
	if text, ok := metadata[partsKey]; ok {
		if err := s.parseParts(text); err != nil {
			return nil, err
		}
	}
	for _, t := range f.Tensors() {
		if t.DType != safetensors.F64 {
			return nil, fmt.Errorf("tensor %q has dtype %s, want %s", t.Name, t.DType, safetensors.F64)
		}
	}
	return s, nil
}
