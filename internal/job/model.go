package job

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
)

// Keys of a model file's metadata, beside dataset.RecipeKey.
const (
	MetaCounting = "counting" // a name, or the path of a file
	MetaSeed     = "seed"     // of counting numbers that are drawn
	MetaEdges    = "edges"    // none: trained on node features alone
	MetaTraining = "training" // a summary, as JSON
	edgesNone    = "none"
)

// Model is a model with what is known of how data are read for it and how it was
// trained.
type Model struct {
	Path   string // of its file; "" where it has none yet
	Model  *crf.Model
	Recipe *dataset.Recipe
	Meta   map[string]string // of its file, the recipe included
}

// LoadModel reads a model from a file or a run folder. A file that is no model, or
// says nothing of how to read data, is an *Error of kind Data.
func LoadModel(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if err := CheckRunFolder(path, ModelFile); err != nil {
			return nil, err
		}
		path = filepath.Join(path, ModelFile)
	}
	model, meta, err := crf.Load(path)
	if err != nil {
		if _, statErr := os.Stat(path); statErr != nil {
			return nil, statErr
		}
		if filepath.Ext(path) != filepath.Ext(ModelFile) {
			return nil, dataf("%s; want a %s, or the folder of a run", withPath(path, err), ModelFile)
		}
		return nil, DataError(path, err)
	}
	m := &Model{Path: path, Model: model, Meta: meta}
	m.Recipe, err = RecipeOf(path, meta)
	return m, err
}

// RecipeOf reads how data are read for the model at path from its metadata.
func RecipeOf(path string, meta map[string]string) (*dataset.Recipe, error) {
	text, ok := meta[dataset.RecipeKey]
	if !ok {
		return nil, dataf("%s: the metadata have no %q, so it is not known how to read data for this model; train it with blockbp train", path, dataset.RecipeKey)
	}
	recipe, err := dataset.ParseRecipe(text)
	if err != nil {
		return nil, dataf("%s: metadata %s: %v", path, dataset.RecipeKey, err)
	}
	return recipe, nil
}

// Save writes the model into a file, whole or not at all.
func (m *Model) Save(path string) error { return crf.Save(path, m.Model, m.Meta) }

// Counting returns the counting numbers to use with the model: those of its
// training unless others are asked for, as in Options.
func (m *Model) Counting(asked string) (counting.Func, error) {
	spec := m.Meta[MetaCounting]
	if asked != "" {
		spec = asked
	}
	if spec == "" {
		spec = counting.Names[0]
	}
	seed, err := strconv.ParseUint(m.Meta[MetaSeed], 10, 64)
	if err != nil {
		seed = 1
	}
	numbers, err := Counting(spec, seed, false)
	if err != nil && asked == "" {
		return nil, fmt.Errorf("%s was trained with the counting numbers of the file %s: %w; name it, or others, with --counting", m.Path, spec, err)
	}
	return numbers, err
}

// Instances returns the instances of a set as the model wants them: without edges
// if it was trained without.
func (m *Model) Instances(set *dataset.Set) []*crf.Instance {
	return Instances(set, m.Meta[MetaEdges] == edgesNone)
}

// Instances returns the instances of a set, or the same without their edges.
func Instances(set *dataset.Set, noEdges bool) []*crf.Instance {
	if !noEdges {
		return set.Instances
	}
	alone := make([]*crf.Instance, len(set.Instances))
	for i, in := range set.Instances {
		alone[i] = in.WithoutEdges()
	}
	return alone
}

// HashWeights returns the SHA-256 of the weights' bits, little-endian.
func HashWeights(weights []float64) string {
	h := sha256.New()
	var word [8]byte
	for _, w := range weights {
		binary.LittleEndian.PutUint64(word[:], math.Float64bits(w))
		h.Write(word[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CheckRunFolder looks whether a folder has a file that a run leaves in it.
func CheckRunFolder(dir, file string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
		return dataf("%s has no %s: it is no run folder, or its run has not come so far", dir, file)
	} else if err != nil {
		return err
	}
	return nil
}

// DataError says what is wrong with the file at path.
func DataError(path string, err error) error { return dataf("%s", withPath(path, err)) }

// withPath puts the path in front of an error that does not name it yet.
func withPath(path string, err error) string {
	if message := err.Error(); strings.Contains(message, path) {
		return message
	}
	return fmt.Sprintf("%s: %v", path, err)
}
