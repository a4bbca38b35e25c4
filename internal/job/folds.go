package job

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
)

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
	case len(data) > 1:
		for k := range min(mostFolds, len(data)) {
			left, held := part(data, k)
			c.add(left, &Evaluation{Instances: held})
		}
	case len(samples) > 1:
		what = "samples"
		for k := range min(mostFolds, len(samples)) {
			left, held := part(samples, k)
			if err := c.addLabels(data[0], left, &Evaluation{Labels: [][][]int32{held}}); err != nil {
				return err
			}
		}
	default:
		n, err := c.holdOut(data[0])
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

// addLabels adds a fold of one instance, which learns from other labels of it than it predicts.
func (c *selection) addLabels(in *crf.Instance, left [][]int32, held *Evaluation) error {
	data, err := relabelled(in, left)
	if err == nil {
		held.Instances = []*crf.Instance{in}
		c.add([]*crf.Instance{data}, held)
	}
	return err
}

// holdOut adds folds of the labels of a single sample, of which it returns the number. In large networks one of them
// is all there is time for, where edges are chosen, unless it has so few labels that it would tell nothing.
func (c *selection) holdOut(in *crf.Instance) (n int, err error) {
	labels, parts := in.Samples()[0], dealLabels(in, c.p.Options.Seed)
	if c.p.choosing && c.p.large() && len(parts[0]) >= leastLabels {
		parts = parts[:1]
	} else if len(parts) < 2 {
		return 0, nil
	}
	for _, part := range parts {
		left, count := slices.Clone(labels), make([]bool, len(labels))
		for _, s := range part {
			left[s], count[s] = crf.Unobserved, true
		}
		n += len(part)
		err := c.addLabels(in, [][]int32{left}, &Evaluation{Labels: [][][]int32{{labels}}, Held: [][]int32{left},
			Count: [][]bool{count}})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// dealLabels divides the labels that are compared into up to mostFolds parts: shuffled, and
// dealt out anew for each state, so that every part has its share of all states, and what is left of a
// few labels is as balanced as all are.
func dealLabels(in *crf.Instance, seed uint64) [][]int32 {
	labels, known := in.Samples()[0], comparedLabels(in)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	parts, dealt := make([][]int32, mostFolds), map[[2]int]int{}
	for _, s := range known {
		state := [2]int{in.NodeType(s), int(labels[s])}
		parts[dealt[state]%mostFolds] = append(parts[dealt[state]%mostFolds], s)
		dealt[state]++
	}
	return slices.DeleteFunc(parts, func(part []int32) bool { return len(part) == 0 })
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

// relabelled is the instance with other labels.
func relabelled(in *crf.Instance, labels [][]int32) (*crf.Instance, error) {
	spec := in.Spec()
	spec.Labels = labels
	return crf.NewInstance(in.Schema(), spec)
}
