package runstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// State is everything that a run needs to go on as if it had never stopped.
type State struct {
	// Progress is JSON, of a Saved.
	Progress []byte
	Arrays   []Array

	// Open opens the file that has the arrays instead, of a state that was read: so they are in memory once, in the
	// run that goes on. Checksum is the file's.
	Open     func() (*safetensors.File, error)
	Checksum string
}

// Saved is what State.Progress holds: counters, the random source, and what the run is of, which a resumed one must
// share.
type Saved struct {
	Format    int               `json:"format"`
	Iteration int               `json:"iteration"`
	Run       map[string]string `json:"run"` // the traits of the run
	Progress  Values            `json:"progress"`
	Rule      Values            `json:"rule"` // of what makes the steps
	Random    []byte            `json:"random"`
	HasBest   bool              `json:"has_best"`
}

// Format grows with every change of what a state has.
const Format = 25

// ProgressKey is that of State.Progress among the metadata of a file.
const ProgressKey = "progress"

// New returns a state of this format.
func New(s Saved, arrays []Array) (State, error) {
	s.Format = Format
	text, err := json.Marshal(s)
	return State{Progress: text, Arrays: arrays}, err
}

// Parse reads the progress of a state of this format.
func (s *State) Parse() (*Saved, error) {
	var in Saved
	// The format first: fields of another one are unknown.
	if err := json.Unmarshal(s.Progress, &struct{ Format *int }{&in.Format}); err == nil && in.Format != Format {
		return nil, Errorf("format %d, this version reads %d: start a new run, to which {init} gives the model of "+
			"this one, or resume with the version that wrote it", in.Format, Format)
	}
	decoder := json.NewDecoder(bytes.NewReader(s.Progress))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return nil, Errorf("progress: %v", err)
	}
	return &in, nil
}

// Fill puts into each array what the state has under its name.
func (s *State) Fill(arrays []Array) error {
	if s.Open == nil {
		return Errorf("it is none that ReadState has read")
	}
	f, err := s.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Metadata()[ProgressKey] != string(s.Progress) || f.Metadata()[safetensors.ChecksumKey] != s.Checksum {
		return Errorf("another run has written it since it was read: see that only one goes on with it")
	}
	return Read(f, arrays)
}

// WriteFile writes the state as a safetensors file, whole or not at all.
func (s *State) WriteFile(path string) error {
	if s.Open != nil {
		return errors.New("learn: a state that was read is in its file already; copy that")
	}
	var tensors []safetensors.Tensor
	for _, a := range s.Arrays {
		tensors = append(tensors, safetensors.NewChunks(a.Name, []int{a.Len()}, a.All()))
	}
	metadata := map[string]string{ProgressKey: string(s.Progress), safetensors.ChecksumKey: ""}
	return safetensors.WriteFile(path, metadata, tensors)
}

// ReadFile reads what WriteFile has written but for the arrays, and checks that it is whole.
func ReadFile(path string) (State, *Saved, error) {
	return ReadFrom(path, func() (*safetensors.File, error) {
		f, err := safetensors.Open(path)
		if err != nil {
			return nil, err
		}
		if err := f.Verify(); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return f, nil
	})
}

// ReadFrom is ReadFile of a file that open opens.
func ReadFrom(path string, open func() (*safetensors.File, error)) (s State, in *Saved, err error) {
	f, err := open()
	if err != nil {
		return s, nil, err
	}
	defer f.Close()
	metadata := f.Metadata()
	s = State{Progress: []byte(metadata[ProgressKey]), Checksum: metadata[safetensors.ChecksumKey], Open: open}
	if len(s.Progress) == 0 {
		err = fmt.Errorf("the metadata have no %q: this is not a checkpoint of blockbp", ProgressKey)
	} else if in, err = s.Parse(); err == nil && s.Checksum == "" {
		err = errors.New("the metadata have no checksum: the file is damaged")
	}
	if err != nil {
		return State{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, in, nil
}
