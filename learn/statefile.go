package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

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
		tensors = append(tensors, safetensors.New(a.name, []int{len(a.values)}, a.values))
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
	syncFolder(filepath.Dir(path))
	removeParts(path, generation)
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
	s := &State{progress: []byte(metadata[progressKey]), checksum: checksumOf(f)}
	in, err := s.parse()
	if err != nil {
		return nil, err
	}
	var at progress
	if err := in.Progress.decode("", &at); err != nil {
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

// checksumOf is what the metadata say.
func checksumOf(f *safetensors.File) string {
	return f.Metadata()[safetensors.ChecksumKey] + f.Metadata()[safetensors.DataChecksumKey]
}

// fillFromFile is fill for a state that is in a file. Nothing is read before all names and
// sizes are right.
func (s *State) fillFromFile(arrays []array) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Metadata()[progressKey] != string(s.progress) || checksumOf(f) != s.checksum {
		return stateErrorf("another run has written it since it was read: see that only one goes on with it")
	}
	have := make(map[string]safetensors.Info, len(f.Tensors()))
	for _, t := range f.Tensors() {
		have[t.Name] = t
	}
	for _, a := range arrays {
		has := 0
		t, ok := have[a.name]
		if ok && t.DType == safetensors.F64 {
			has = t.Elements()
		}
		if !ok || t.DType != safetensors.F64 || has != len(a.values) {
			return wrongArray(a.name, has, len(a.values))
		}
	}
	for _, a := range arrays {
		if err := a.read(f, have[a.name]); err != nil {
			return err
		}
	}
	return nil
}

// wantedTogether is how many values of an array are read if one of them is wanted: a page.
const wantedTogether = 512

// read reads what is wanted of an array, which is as long as a tensor of a file.
func (a *array) read(f *safetensors.File, t safetensors.Info) error {
	for lo, hi := 0, 0; lo < len(a.values); lo = hi {
		is := func(at int) bool { return a.wanted == nil || a.wanted[at/wantedTogether] }
		for hi = min(lo+wantedTogether, len(a.values)); hi < len(a.values) && is(hi) == is(lo); {
			hi = min(hi+wantedTogether, len(a.values))
		}
		if !is(lo) {
			continue
		}
		some := t
		some.Offsets = []int64{t.Offsets[0] + doubleBytes*int64(lo), t.Offsets[0] + doubleBytes*int64(hi)}
		if err := safetensors.ReadInto(f, some, a.values[lo:hi]); err != nil {
			return err
		}
	}
	return nil
}
