package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/learn"
)

// Keys of a model file's metadata.
const (
	MetaRecipe   = "recipe"   // how data are read for it
	MetaCounting = "counting" // a name, or countingOwn
	MetaSeed     = "seed"     // of counting numbers that are drawn
	MetaEdges    = "edges"    // none: trained on node features alone; balanced: by that rule
	MetaTraining = "training" // a summary, as JSON
	// MetaTemperature is the key of the temperature of its beliefs.
	MetaTemperature = "temperature"

	edgesNone = "none"
	// countingOwn stands for the numbers in the model.
	countingOwn = "numbers"
	// countingExact stands for exact inference, where that is cheap, and else for countingBeside.
	countingExact, countingBeside = "exact", "trw"
	// metaOrigin is what package synthetic says of the models that it draws.
	metaOrigin = "synthetic"
)

// metaKeys are all of them. Another one would change what a model means without this program knowing how.
var metaKeys = []string{MetaRecipe, MetaCounting, MetaSeed, MetaEdges, MetaTraining, MetaTemperature, metaOrigin}

// Model is a model with what is known of how data are read for it and how it was trained.
type Model struct {
	Path   string // of its file; "" where it has none yet
	Model  *crf.Model
	Recipe *dataset.Recipe
	Meta   map[string]string // of its file, the recipe included
	Notes  []string          // what its reader should know of the file
}

// Temperature is that of the model's beliefs, as infer.Predictor.Temperature; 1 where none was chosen.
func (m *Model) Temperature() float64 {
	if t, err := strconv.ParseFloat(m.Meta[MetaTemperature], 64); err == nil {
		return t
	}
	return 1
}

// LoadModel reads a model from a file or a run folder. A file that is no model, or
// says nothing of how to read data, is an *Error of kind Data.
func LoadModel(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir := path
		path = filepath.Join(dir, ModelFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, dataf("%s has no %s: it is no run folder, or its run has not come so far", dir, ModelFile)
		}
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
	if err := checkMeta(meta); err != nil {
		return nil, DataError(path, err)
	}
	if m.Recipe, err = recipeOf(meta); err != nil {
		return nil, DataError(path, err)
	}
	if own := meta[MetaCounting] == countingOwn; own != (model.NodeCounts != nil) {
		return nil, dataf("%s: metadata %q are %q, and it has tensors of counting numbers: %v: the file is damaged",
			option.Place(path, 0, ""), MetaCounting, meta[MetaCounting], !own)
	}
	if text := m.unfinished(); text != "" {
		m.Notes = []string{text}
	}
	return m, nil
}

// checkMeta refuses metadata that this program would have to guess the meaning of.
func checkMeta(meta map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if !slices.Contains(metaKeys, key) {
			return dataf("metadata %q mean nothing to this blockbp: the file is damaged, or a newer version wrote it", key)
		}
	}
	if edges, ok := meta[MetaEdges]; ok && edges != edgesNone && edges != edgesBalanced {
		return dataf("metadata %q are %q, want %q, %q or none at all: the file is damaged", MetaEdges, edges, edgesNone,
			edgesBalanced)
	}
	if spec, ok := meta[MetaCounting]; ok && spec != countingOwn && spec != countingExact &&
		!slices.Contains(counting.Names, spec) {
		return dataf("metadata %q are %q, which are no counting numbers: the file is damaged", MetaCounting, spec)
	}
	text, ok := meta[MetaTemperature]
	if t, err := strconv.ParseFloat(text, 64); ok && (err != nil || !(t > 0) || math.IsInf(t, 0)) {
		return dataf("metadata %q are %q, want a number above 0: the file is damaged", MetaTemperature, text)
	}
	if seed, ok := meta[MetaSeed]; ok {
		if _, err := strconv.ParseUint(seed, 10, 64); err != nil {
			return dataf("metadata %q are %q, want a whole number: the file is damaged", MetaSeed, seed)
		}
	}
	return nil
}

// unfinished says that a limit or an interruption ended the training; "": none did, or the file does not say.
func (m *Model) unfinished() string {
	var training struct {
		Status learn.Status `json:"status"`
	}
	if json.Unmarshal([]byte(m.Meta[MetaTraining]), &training) != nil {
		return ""
	}
	ended := map[learn.Status]string{
		learn.IterationLimit: "at {max-iter}", learn.PassLimit: "at {max-passes}", learn.TimeLimit: "at {max-time}",
		learn.Interrupted: "when it was interrupted",
	}[training.Status]
	if ended == "" {
		return ""
	}
	remedy := "train again, with a higher limit"
	if _, err := os.Stat(m.beside(filepath.Dir(checkpointFile))); err == nil {
		remedy = string(Resumes(filepath.Dir(m.Path))) + " goes on, with a higher limit"
	}
	if training.Status == learn.Interrupted {
		remedy = strings.TrimSuffix(remedy, ", with a higher limit")
	}
	return fmt.Sprintf("{note=ended}%s: the training ended %s, before the optimum; %s", option.Place(m.Path, 0, ""), ended,
		remedy)
}

// recipeOf reads how data are read for a model from its metadata.
func recipeOf(meta map[string]string) (*dataset.Recipe, error) {
	text, ok := meta[MetaRecipe]
	if !ok {
		return nil, dataf("the metadata have no %q, so it is not known how to read data for this model; train it with "+
			"blockbp train", MetaRecipe)
	}
	recipe, err := dataset.ParseRecipe(text)
	if err != nil {
		return nil, dataf("metadata %s: %v", MetaRecipe, err)
	}
	return recipe, nil
}

// Save writes the model into a file, whole or not at all.
func (m *Model) Save(path string) error { return crf.Save(path, m.Model, m.Meta) }

// beside returns the path of another file of the run folder that the model is in; "": it is in none.
func (m *Model) beside(name string) string {
	if filepath.Base(m.Path) != ModelFile {
		return ""
	}
	return filepath.Join(filepath.Dir(m.Path), name)
}

// Errors returns the standard errors of the weights that the model's run has found, nil where
// there are none of these weights.
func (m *Model) Errors() ([]float64, error) {
	path := m.beside(ErrorsFile)
	if _, err := os.Stat(path); path == "" || err != nil {
		return nil, nil
	}
	found, meta, err := crf.Load(path)
	if err != nil {
		return nil, DataError(path, err)
	}
	if meta[MetaErrorsOf] != HashWeights(m.Model.Weights) || len(found.Weights) != len(m.Model.Weights) {
		return nil, nil
	}
	return found.Weights, nil
}

// Couplings returns those that the model's run has written, largest first.
func (m *Model) Couplings() ([]CouplingRow, error) { return ReadCouplings(m.beside(CouplingsFile)) }

// exact reports whether the model predicts by exact inference, where that is cheap: it was trained by it.
func (m *Model) exact() bool { return m.Meta[MetaCounting] == countingExact }

// Inference is how the model predicts, unless other counting numbers are asked for: exactly, or by as many sweeps as it
// has learned with, or until beliefs are settled.
func (m *Model) Inference(ctx context.Context, asked string) (Inference, error) {
	var training struct{ Method string }
	_ = json.Unmarshal([]byte(m.Meta[MetaTraining]), &training)
	sweeps, _ := strconv.Atoi(strings.TrimPrefix(training.Method, string(learn.Truncated)+":")) // 0 of others
	numbers, err := m.Counting(ctx, asked)
	return Inference{Model: m.Model, Counting: numbers, Exact: asked == "" && m.exact(), Temperature: m.Temperature(),
		Truncated: max(0, sweeps)}, err
}

// Counting returns the counting numbers to use with the model: those of its
// training unless others are asked for, as in Options.
func (m *Model) Counting(ctx context.Context, asked string) (counting.Func, error) {
	spec := cmp.Or(m.Meta[MetaCounting], counting.Names[0])
	seed, err := strconv.ParseUint(m.Meta[MetaSeed], 10, 64)
	if err != nil {
		seed = 1
	}
	switch {
	case asked != "":
		return Counting(ctx, asked, seed)
	case spec == countingExact:
		return Counting(ctx, countingBeside, seed)
	case spec != countingOwn:
		return Counting(ctx, spec, seed)
	}
	c := m.Model
	numbers := counting.Given(countingOwn, c.NodeCounts, c.EdgeCounts)
	return func(g *graph.Graph) (*counting.Numbers, error) {
		if len(c.NodeCounts) != g.NumNodes() || len(c.EdgeCounts) != g.NumEdges() {
			return nil, dataf("the model has counting numbers for a network of %d nodes and %d edges, this one has %d and "+
				"%d: give others with {counting}", len(c.NodeCounts), len(c.EdgeCounts), g.NumNodes(), g.NumEdges())
		}
		n, err := numbers(g)
		if err != nil {
			err = &Error{Data, err}
		}
		return n, err
	}, nil
}

// Instances returns the instances of a set as the model wants them: without edges, or balanced, if it was trained so.
func (m *Model) Instances(set *dataset.Set) []*crf.Instance {
	if m.Meta[MetaEdges] == edgesBalanced {
		return allBalanced(set.Instances)
	}
	return Instances(set, m.Meta[MetaEdges] == edgesNone)
}

// Instances returns the instances of a set, or the same without their edges.
func Instances(set *dataset.Set, noEdges bool) []*crf.Instance {
	if !noEdges {
		return set.Instances
	}
	return withoutEdges(set.Instances)
}

func withoutEdges(data []*crf.Instance) []*crf.Instance {
	return numeric.Map(data, (*crf.Instance).WithoutEdges)
}

// HashWeights returns the SHA-256 of the weights' bits, little-endian.
func HashWeights(weights []float64) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, weights) // a hash takes all
	return hex.EncodeToString(h.Sum(nil))
}

// DataError says what is wrong with the file at path.
func DataError(path string, err error) error { return dataf("%s", withPath(path, err)) }

// withPath puts the path in front of an error that does not name it yet.
func withPath(path string, err error) option.Text {
	text := " " + option.References(err)
	at := strings.LastIndex(text, " "+path+": ") // a path may be a word of the message, too
	if at < 0 {
		return option.Place(path, 0, "") + option.Text(":"+text)
	}
	return option.Text(text[1:at+1]) + option.Place(path, 0, "") + option.Text(text[at+1+len(path):])
}
