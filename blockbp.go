// Package blockbp learns the weights of pairwise Markov random fields and conditional random fields on any graph, and
// uses them: to label new data, to fill in hidden labels, and to say how sure it is.
//
//	data, err := blockbp.Open("train")                         // files, as blockbp train takes them; or NewData
//	model, err := blockbp.Train(ctx, data, blockbp.Options{})  // zero Options are good defaults
//	predictions, err := model.Predict(ctx, other)              // states and beliefs
//	report, err := model.Evaluate(ctx, test)
//	err = model.Save("model.safetensors")                      // and blockbp.Load
//
// What is learned is the optimum of convex belief propagation, not of the exact likelihood, which nobody can compute
// on large graphs with loops. Training says how near the weights are to that optimum: the norm of the gradient, and
// the gap of the inference that it was computed with.
//
// The packages below say more of each part: graph and crf describe networks and models, dataset reads files, counting
// chooses the free energy, learn is the block loop, infer answers questions about a network (package mrf) or a model.
package blockbp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/learn"
)

// Options are the choices of a training. The zero value is what the command blockbp
// train does where nothing is asked for.
type Options struct {
	// Method is auto, which goes by the sizes of the networks, bbpl, inner-dual or full; exact, maximum likelihood of
	// narrow networks, composite, of blocks of others; truncated:K, for what K sweeps predict; or pseudo or piecewise,
	// baselines without inference. "" means auto.
	Method learn.Method
	// Counting names the counting numbers of the free energy: convex, cover, trw, near-bethe or bethe.
	// "" or auto means convex for an image folder, else trw.
	Counting string
	// Prior is the standard deviation σ of the normal prior of every weight, of mean 0,
	// beside the sum of the log-likelihoods of all N samples: L2 = 1/(N σ²). 0 stands for 1.
	Prior float64
	// L2 is the weight of (L2/2)‖w‖² beside the mean negative log-likelihood of a
	// sample, in the place of Prior. 0 leaves the choice to Prior; NoL2 leaves the term out.
	L2   float64
	NoL2 bool
	// Standardise learns with features of mean 0 and deviation 1, NoStandardise with features as they are; where neither
	// is set features are standardised unless L2 or NoL2 is. Constants, features that are 0 or 1, and those that sparse
	// rows do not all hold stay. The weights of the model are for features as they are.
	Standardise, NoStandardise bool
	// Physics is ising or potts for samples of a physical system: every node has fields and every edge couplings of its
	// own, learned by exact likelihood or pseudo-likelihood, and Training.Couplings has them with standard errors.
	// Samples are those of an .npz, or the graphs of NewData, which all have the same edges. "" is for all other data.
	Physics string
	// NoEdges learns from node features alone, as a baseline.
	NoEdges bool
	// Edges says how weights of edges come about: "together" (learned with those of nodes), "potts:J", "balanced:S" or
	// "moments:S" (by a rule, beside node weights that are learned without edges), or "", which is together, but where a
	// tenth of the labels of one network are hidden, or more, what predicts best known ones that are held out.
	Edges string
	// Cut says how networks are cut into blocks; the zero value leaves it to the data.
	Cut learn.Cut
	// RelativeTolerance ends the run where the norm of the gradient is at most this share of the first; 0 means 1e-5 or,
	// but with Physics, where the optimum is proved to be within 0.001 of what was gained, whichever comes first.
	RelativeTolerance float64
	// MaxPasses and MaxTime bound the run; 0: 10,000 passes over the data, and no time.
	MaxPasses float64
	MaxTime   time.Duration
	// Seed is of everything random; 0 stands for 1. Threads is how many processors to
	// use, 0: all. The weights do not depend on it.
	Seed    uint64
	Threads int
	// Validation is compared with now and then. Where Patience > 0, training ends when so many comparisons in a row were
	// no better, and Train returns the model of the best accuracy.
	Validation *Data
	Patience   int
	// Folder, unless it is "", is a new folder for metrics, checkpoints, model and
	// report. Resume goes on with the training that was interrupted in it.
	Folder string
	Resume bool
	// Note is told what a user would not expect of data and choices, in words, as it is
	// found; nil: nobody is. Training.Notes has all of it afterwards.
	Note func(text string)
	// Watch is told of every iteration and check; nil: nobody is.
	Watch func(learn.Event)
}

// validationName names Options.Validation in metrics and files.
const validationName = "validation"

func (o *Options) job() job.Options {
	j := job.Options{
		Settings: learn.Settings{Method: o.Method, Cut: o.Cut, RelativeTolerance: o.RelativeTolerance,
			MaxPasses: o.MaxPasses, MaxTime: o.MaxTime, Seed: cmp.Or(o.Seed, 1), Threads: o.Threads},
		Counting: o.Counting, Prior: o.Prior, L2: o.L2, NoL2: o.NoL2, Standardise: o.Standardise,
		NoStandardise: o.NoStandardise, NoEdges: o.NoEdges, Edges: o.Edges, Physics: o.Physics,
	}
	if o.Patience > 0 {
		j.EarlyStop = fmt.Sprintf("accuracy@%s:%d", validationName, o.Patience)
	}
	return j
}

// Train learns a model from labelled data. Labels may be hidden in part. A training that met a limit, or was
// interrupted through ctx, is a model all the same: Model.Training says why it ended. Where the weights got worse
// instead of better the error is a *learn.DivergedError.
func Train(ctx context.Context, data *Data, o Options) (*Model, error) {
	began := time.Now()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if data == nil { // before a folder is made
		return nil, errNoData
	}
	n := notes{tell: o.Note}
	folder := o.folder(data)
	if folder != nil {
		if err := folder.Open(); err != nil {
			return nil, err
		}
		defer folder.Close()
	}
	set, err := data.forTraining(ctx, o.Physics, &n)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	task := job.Task{Set: set, Owned: true, Began: began, HopsOpen: data.options.Hops == 0}
	if o.Validation != nil {
		e, err := o.evaluation(ctx, set, &n)
		if err != nil {
			return nil, err
		}
		defer e.Set.Close()
		task.Evaluations = []*job.Evaluation{e}
	}
	prepared, err := job.Prepare(ctx, o.job(), task)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	n.add(prepared.Notes...)
	result, err := prepared.Train(ctx, folder, job.Watch{Note: func(text string) { n.add(text) }, Iteration: o.Watch})
	if err != nil {
		return nil, err
	}
	n.add(result.Summary.Notes...)
	trained := &Model{inner: result.Model, threads: o.Threads, training: newTraining(result)}
	trained.training.Notes = n.texts
	return trained, nil
}

// validate reports the first choice that cannot be used, by the name of its field.
func (o *Options) validate() error {
	switch {
	case o.NoL2 && o.L2 != 0:
		return fmt.Errorf("blockbp: Options.NoL2 is set beside L2 = %v: want one of them", o.L2)
	case o.Standardise && o.NoStandardise:
		return errors.New("blockbp: Options.Standardise and NoStandardise are both set: want one of them")
	case o.Resume && o.Folder == "":
		return errors.New("blockbp: Options.Resume is set without Folder: name the folder of the training to go on with")
	case o.Patience < 0:
		return fmt.Errorf("blockbp: Options.Patience is %d, want 0 or more", o.Patience)
	case o.Patience > 0 && o.Validation == nil:
		return errors.New("blockbp: Options.Patience is set without Validation: give it data to compare with")
	case o.Threads < 0:
		return fmt.Errorf("blockbp: Options.Threads is %d, want 0 or more", o.Threads)
	}
	return nil
}

// notes are what a user would not expect, each once.
type notes struct {
	tell  func(string)
	texts []string
}

func (n *notes) add(texts ...string) {
	for _, text := range texts {
		text = option.Go(text)
		if slices.Contains(n.texts, text) {
			continue
		}
		n.texts = append(n.texts, text)
		if n.tell != nil {
			n.tell(text)
		}
	}
}

// Load reads a model from the file that Save, or the command blockbp train, wrote, or from the folder of a training.
func Load(path string) (*Model, error) {
	m, err := job.LoadModel(path)
	if err != nil {
		return nil, err
	}
	return &Model{inner: m}, nil
}
