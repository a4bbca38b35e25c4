package job

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
)

// manyInstances are enough for folds of whole ones; of fewer, each holds out labels, but where l2 is chosen.
const manyInstances = 2*mostFolds - 1

// fold is a part of the data to learn from, and another to predict.
type fold struct {
	data []*crf.Instance
	held *Evaluation
}

// divide makes the folds: the first evaluation set against all data, where l2 is chosen, or else parts of the data
// against the others, which are instances, samples of a single one, or labels of a single sample.
func (c *selection) divide(data []*crf.Instance) error {
	c.folds, c.nodes = nil, map[float64][]*crf.Model{}
	if sets := c.p.Evaluations; c.p.Options.AutoL2 && len(sets) > 0 {
		c.metric, c.folds = "log_loss on "+sets[0].Name, []fold{{data, sets[0]}}
		return nil
	}
	samples, what := data[0].Samples(), "instances"
	switch {
	case len(data) >= manyInstances || len(data) > 1 && c.p.Options.AutoL2:
		for k := range min(mostFolds, len(data)) {
			left, held := part(data, k)
			c.add(left, &Evaluation{Instances: held})
		}
	case len(samples) > 1:
		what = "samples"
		for k := range min(mostFolds, len(samples)) {
			left, held := part(samples, k)
			weights, _ := part(data[0].Spec().SampleWeights, k)
			in, err := relabelled(data[0], left, weights)
			if err != nil {
				return err
			}
			c.add([]*crf.Instance{in}, &Evaluation{Instances: data, Labels: [][][]int32{held}})
		}
	default:
		n, err := c.holdOut(data)
		if err != nil {
			return err
		}
		what = fmt.Sprintf("%d labels", n)
	}
	c.metric = fmt.Sprintf("log_loss by %d folds of %s", len(c.folds), what)
	if len(c.folds) == 1 {
		c.metric = "log_loss by one fold of " + what
	}
	if len(c.folds) == 0 {
		return usagef("{l2=auto}: there are no two parts of the data with labels, and nothing to hold out; " +
			"give labelled data with {eval!--eval NAME=PATH}")
	}
	return nil
}

// part holds out the kth of mostFolds parts.
func part[T any](all []T, k int) (left, held []T) {
	for i, x := range all {
		if i%mostFolds == k {
			held = append(held, x)
		} else {
			left = append(left, x)
		}
	}
	return left, held
}

// add adds a fold, unless it has no label to predict.
func (c *selection) add(data []*crf.Instance, held *Evaluation) {
	held.Set = &dataset.Set{Schema: *data[0].Schema()}
	for i := len(held.Labels); i < len(held.Instances); i++ {
		held.Labels = append(held.Labels, held.Instances[i].Samples())
	}
	if held.labelled() > 0 {
		c.folds = append(c.folds, fold{data, held})
	}
}

// holdOut adds folds of the labels of single samples, of which it returns the number. In large networks one of them
// is all there is time for, where edges are chosen, unless it has so few labels that it would tell nothing.
func (c *selection) holdOut(data []*crf.Instance) (n int, err error) {
	parts := dealLabels(data, c.p.Options.Seed)
	if c.p.choosing && c.p.large() && len(parts[0]) >= leastLabels {
		parts = parts[:1]
	} else if len(parts) < 2 {
		return 0, nil
	}
	for _, part := range parts {
		left, held := slices.Clone(data), &Evaluation{Instances: data}
		for i, in := range data {
			known, count := slices.Clone(in.Samples()[0]), make([]bool, in.Graph.NumNodes())
			for _, label := range part {
				if label.instance == i {
					known[label.node], count[label.node] = crf.Unobserved, true
					n++
				}
			}
			if left[i], err = relabelled(in, [][]int32{known}, nil); err != nil {
				return 0, err
			}
			held.Held, held.Count = append(held.Held, known), append(held.Count, count)
		}
		c.add(left, held)
	}
	return n, nil
}

// label is one of a single sample.
type label struct {
	instance int
	node     int32
}

// dealLabels divides the labels that are compared into up to mostFolds parts: shuffled, and dealt out anew for each
// state, so that every part has its share of all states, and what is left of a few labels is as balanced as all are.
func dealLabels(data []*crf.Instance, seed uint64) [][]label {
	var known []label
	for i, in := range data {
		for _, s := range comparedLabels(in) {
			known = append(known, label{i, s})
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	parts, dealt := make([][]label, mostFolds), map[[2]int]int{}
	for _, l := range known {
		in := data[l.instance]
		state := [2]int{in.NodeType(l.node), int(in.Samples()[0][l.node])}
		parts[dealt[state]%mostFolds] = append(parts[dealt[state]%mostFolds], l)
		dealt[state]++
	}
	return slices.DeleteFunc(parts, func(part []label) bool { return len(part) == 0 })
}

// comparedLabels are the nodes whose labels are held out by turns: a state that has one label
// alone keeps it, as nothing would tell of the state without.
func comparedLabels(in *crf.Instance) []int32 {
	labels, known := in.Samples()[0], knownLabels(in)
	count := map[[2]int32]int{} // of node type and state
	of := func(s int32) [2]int32 { return [2]int32{int32(in.NodeType(s)), labels[s]} }
	for _, s := range known {
		count[of(s)]++
	}
	return slices.DeleteFunc(known, func(s int32) bool { return count[of(s)] < 2 })
}

func knownLabels(in *crf.Instance) (known []int32) {
	for s, y := range in.Samples()[0] {
		if y != crf.Unobserved {
			known = append(known, int32(s))
		}
	}
	return known
}

// relabelled is the instance with other samples, of these weights.
func relabelled(in *crf.Instance, labels [][]int32, weights []float64) (*crf.Instance, error) {
	spec := in.Spec()
	spec.Labels, spec.SampleWeights = labels, weights
	return crf.NewInstance(in.Schema(), spec)
}
