package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/safetensors"
	"github.com/blockbp/blockbp/learn"
)

const progressKey = "progress"

// saveCheckpoint writes the state of a run, whole or not at all: the file before
// it stays until the new one is on the disk.
func saveCheckpoint(path string, s *learn.State) error {
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

// loadCheckpoint reads the state back, nil if the run has none yet.
func loadCheckpoint(path string) (*learn.State, error) {
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, DataError(path, err)
	}
	defer f.Close()
	s, err := readState(f)
	if err != nil {
		return nil, DataError(path, err)
	}
	if len(s.Progress) == 0 {
		return nil, dataf("%s: the metadata have no %q: this is not a checkpoint of blockbp", path, progressKey)
	}
	return s, nil
}

func readState(f *safetensors.File) (*learn.State, error) {
	if err := f.Verify(); err != nil {
		return nil, err
	}
	s := &learn.State{Progress: []byte(f.Metadata()[progressKey])}
	for _, t := range f.Tensors() {
		if t.DType == safetensors.F32 {
			values, err := safetensors.Read[float32](f, t.Name)
			if err != nil {
				return nil, err
			}
			s.Singles = append(s.Singles, learn.Single{Name: t.Name, Values: values})
			continue
		}
		values, err := safetensors.Read[float64](f, t.Name)
		if err != nil {
			return nil, err
		}
		s.Arrays = append(s.Arrays, learn.Array{Name: t.Name, Values: values})
	}
	return s, nil
}
