package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// Where blocks are dealt over processes, each writes what it alone has, a file for each of its parts. Then process 0
// writes the state's file, which names those by a number that grows, and by their checksums. So a kill at any moment
// leaves the state before or the new one, whole. Parts are the same for any number of processes, and any number goes
// on from them: each reads its own, and those beside them.

// partsKey is that of partFiles among the metadata of a state's file, and partKey that of the number
// of a part among those of its own, which has one tensor.
const (
	partsKey   = "parts"
	partKey    = "part"
	partTensor = "numbers"
)

// partFiles says which files have the rest of a state.
type partFiles struct {
	Generation int      `json:"generation"`
	Checksums  []string `json:"checksums"` // [mostParts] empty where there is no file
}

// eachOfPart calls do for all that a state has of the blocks of a part.
func (l *learner) eachOfPart(part int32, do func([]float64)) {
	for _, b := range l.bundles {
		for at, of := range b.part {
			if of == part {
				l.eachOwned(b, at, true, do)
			}
		}
	}
}

// partSize returns how many numbers that are.
func (l *learner) partSize(part int32) (n int) {
	l.eachOfPart(part, func(x []float64) { n += len(x) })
	return n
}

// writtenTogether is how many numbers of a part are written at a time: pieces have a few each.
const writtenTogether = 1 << 13

// writePart writes the file of a part, if it has blocks, through a buffer, and returns its checksum.
func (l *learner) writePart(path string, part int32, buffer []float64) (checksum string, err error) {
	n := l.partSize(part)
	if n == 0 {
		return "", nil
	}
	numbers := safetensors.NewChunks(partTensor, []int{n}, func(yield func([]float64) bool) {
		buffer, more := buffer[:0], true
		l.eachOfPart(part, func(x []float64) {
			for len(x) > 0 && more {
				k := min(len(x), cap(buffer)-len(buffer))
				if buffer, x = append(buffer, x[:k]...), x[k:]; len(buffer) == cap(buffer) {
					more = yield(buffer)
					buffer = buffer[:0]
				}
			}
		})
		if more {
			yield(buffer)
		}
	})
	metadata := map[string]string{partKey: strconv.Itoa(int(part)), safetensors.ChecksumKey: ""}
	if err := safetensors.WriteFile(path, metadata, []safetensors.Tensor{numbers}); err != nil {
		return "", err
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return "", err
	}
	return runstate.Checksum(f), f.Close()
}

// What process 0 tells the others while its state is saved: a generation and a path, for all to write
// their parts, or that this is over.
const savedWell, savedBadly = 0, -1

// save implements executor.
func (r *ranks) save(write func(*State) error) error {
	for r.me > 0 {
		number, text, _ := strings.Cut(string(r.group.Bytes(nil)[0]), " ")
		switch generation, _ := strconv.Atoi(number); generation { // as it was written
		case savedWell:
			return nil
		case savedBadly:
			return errors.New(text)
		default:
			// On another machine the folder may not be seen yet.
			_ = os.MkdirAll(filepath.Dir(text), 0o777)
			_, _ = r.writeParts(text, generation) // process 0 knows
		}
	}
	state, err := r.l.snapshot()
	if err == nil {
		state.dealt = r
		err = write(state)
	}
	if err != nil {
		r.group.Bytes(fmt.Appendf(nil, "%d %v", savedBadly, err))
	} else {
		r.group.Bytes(fmt.Appendf(nil, "%d ", savedWell))
	}
	return err
}

// orderParts has all processes write their parts of the state at path.
func (r *ranks) orderParts(path string) (*partFiles, error) {
	r.l.generation++
	r.group.Bytes(fmt.Appendf(nil, "%d %s", r.l.generation, path))
	checksums, err := r.writeParts(path, r.l.generation)
	return &partFiles{r.l.generation, checksums}, err
}

// writeParts writes the parts of this process, and returns the checksums of all when all are on the
// disk. Where a process cannot, none of them stays.
func (r *ranks) writeParts(path string, generation int) (checksums []string, err error) {
	own, buffer := make([]string, mostParts), make([]float64, writtenTogether)
	for part := range mostParts {
		if r.owns(int32(part)) && err == nil {
			own[part], err = r.l.writePart(runstate.PartPath(path, part, generation), int32(part), buffer)
		}
	}
	runstate.SyncFolder(filepath.Dir(path))
	said := []byte(strings.Join(own, " "))
	if err != nil {
		said = fmt.Appendf(nil, "!%v", err)
	}
	checksums = make([]string, mostParts)
	for p, text := range r.group.Bytes(said) {
		if problem, failed := bytes.CutPrefix(text, []byte("!")); failed {
			if p != r.me {
				err = fmt.Errorf("process %d: %s", p, problem)
			}
			break
		}
		for part, sum := range strings.Split(string(text), " ") {
			if r.owner(int32(part)) == p {
				checksums[part] = sum
			}
		}
	}
	if err != nil {
		for part := range mostParts {
			if r.owns(int32(part)) {
				_ = os.Remove(runstate.PartPath(path, part, generation)) // there may be none
			}
		}
		return nil, err
	}
	return checksums, nil
}

// parseParts takes what a state's file says of its parts.
func (s *State) parseParts(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var p partFiles
	if err := decoder.Decode(&p); err != nil || len(p.Checksums) != mostParts || p.Generation < 1 {
		return fmt.Errorf("the metadata %q are no list of the files of %d parts: the file is damaged, or a newer version wrote it", partsKey, mostParts)
	}
	s.parts = &p
	return nil
}

// eachPart calls do for the files of wanted parts, which are of this state, and whole if that is asked for.
func (s *State) eachPart(whole bool, wanted func(part int32) bool, do func(part int32, f *safetensors.File) error) error {
	if s.parts == nil {
		return nil
	}
	for part, sum := range s.parts.Checksums {
		if sum == "" || !wanted(int32(part)) {
			continue
		}
		f, err := s.openPart(part)
		if err != nil {
			return err
		}
		if whole {
			if err = f.Verify(); err != nil {
				err = runstate.Errorf("%s: %v", runstate.PartPath(s.path, part, s.parts.Generation), err)
			}
		}
		if err == nil {
			err = do(int32(part), f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// openPart opens a part that is of this state.
func (s *State) openPart(part int) (*safetensors.File, error) {
	path, want := runstate.PartPath(s.path, part, s.parts.Generation), s.parts.Checksums[part]
	const next = "bring back all files of one checkpoint, or start a new run"
	f, err := safetensors.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, runstate.Errorf("%s is missing, which %s asks for: %s", path, s.path, next)
	case err != nil:
		return nil, runstate.Errorf("%v: %s", err, next)
	}
	if has := runstate.Checksum(f); has != want {
		f.Close()
		return nil, runstate.Errorf("%s is of another checkpoint, or damaged: its checksum is %q, and %s asks for %q: %s", path, has, s.path, want, next)
	}
	return f, nil
}

func everyPart(int32) bool { return true }

func nothing(int32, *safetensors.File) error { return nil }

// Verify checks the files that ReadState has left to Fit: those of parts, where several processes have written them.
func (s *State) Verify() error { return s.eachPart(true, everyPart, nothing) }

// fillParts reads the parts that this process needs.
func (l *learner) fillParts(s *State) error {
	for part := range int32(mostParts) {
		if s.parts.Checksums[part] == "" && l.executor.needs(part) && l.partSize(part) > 0 {
			return runstate.Errorf("no file has part %d: it belongs to other data or another model", part)
		}
	}
	return s.eachPart(true, l.executor.needs, func(part int32, f *safetensors.File) error {
		name, want, has := runstate.PartPath(s.path, int(part), s.parts.Generation), l.partSize(part), 0
		t, ok := f.Find(partTensor)
		if ok {
			has = t.Elements()
		}
		if !ok || t.DType != safetensors.F64 || has != want {
			return runstate.Errorf("%s has %d numbers, want %d: it belongs to other data or another model", name, has, want)
		}
		err := safetensors.ReadChunks(f, t, func(yield func([]float64) bool) {
			more := true
			l.eachOfPart(part, func(x []float64) { more = more && yield(x) })
		})
		if err != nil {
			return runstate.Errorf("%s: %v", name, err)
		}
		return nil
	})
}

// markNeeded says what of arrays that all processes share is wanted here: the rest would take memory.
func (l *learner) markNeeded(arrays []runstate.Array) {
	if _, whole := l.executor.(threads); whole {
		return
	}
	want := runstate.Want(arrays)
	for part := range int32(mostParts) {
		if l.executor.needs(part) {
			l.eachOfPart(part, want)
		}
	}
}
