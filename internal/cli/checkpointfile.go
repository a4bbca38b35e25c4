package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/safetensors"
	"github.com/blockbp/blockbp/learn"
)

// checkpointFile is the place of the checkpoint inside a run folder.
var checkpointFile = filepath.Join("checkpoint", "state.safetensors")

const progressKey = "progress"

// saveCheckpoint writes the state of a run, whole or not at all: the file before
// it stays until the new one is on the disk.
func saveCheckpoint(dir string, s *learn.State) error {
	path := filepath.Join(dir, checkpointFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	for _, a := range s.Arrays {
		tensors = append(tensors, safetensors.New(a.Name, []int{len(a.Values)}, a.Values))
	}
	for _, a := range s.Singles {
		tensors = append(tensors, safetensors.New(a.Name, []int{len(a.Values)}, a.Values))
	}
	return safetensors.WriteFile(path, map[string]string{progressKey: string(s.Progress), safetensors.ChecksumKey: ""}, tensors)
}

// loadCheckpoint reads the state back. ok is false if the run has none yet.
func loadCheckpoint(dir string) (s *learn.State, ok bool, err error) {
	path := filepath.Join(dir, checkpointFile)
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, dataf("%s", withPath(path, err))
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		return nil, false, dataf("%s", withPath(path, err))
	}
	s = &learn.State{Progress: []byte(f.Metadata()[progressKey])}
	for _, t := range f.Tensors() {
		if t.DType == safetensors.F32 {
			values, err := safetensors.Read[float32](f, t.Name)
			if err != nil {
				return nil, false, dataf("%s", withPath(path, err))
			}
			s.Singles = append(s.Singles, learn.Single{Name: t.Name, Values: values})
			continue
		}
		values, err := safetensors.Read[float64](f, t.Name)
		if err != nil {
			return nil, false, dataf("%s", withPath(path, err))
		}
		s.Arrays = append(s.Arrays, learn.Array{Name: t.Name, Values: values})
	}
	if len(s.Progress) == 0 {
		return nil, false, dataf("%s: the metadata have no %q: this is not a checkpoint of blockbp", path, progressKey)
	}
	return s, true, nil
}
