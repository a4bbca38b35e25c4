package hard

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/learn"
)

// Problems is the number of problems of the suite: every number below it is one.
const Problems = 480

// Spec says what kind of problem a number stands for. All of it is drawn from the number.
type Spec struct {
	Number    int
	Graph     string
	Nodes     int
	Instances int
	Samples   int    // of each instance
	States    []int  // of each node type
	Features  string // of nodes
	Edges     string // features of edges
	Labels    string
	Hidden    float64 // share of labels that are missing
	Masked    bool
	Untied    bool
	Counting  string
	L2        float64
	Method    learn.Method
	Random    bool // order of blocks
}

// Choices that problems are drawn from. Where one is listed twice it is drawn as often
// again.
var (
	graphKinds   = []string{"grid", "grid", "ba", "tree", "complete", "cycle", "star", "disconnected", "chain", "pair"}
	nodeFeatures = []string{"dense", "dense", "scaled", "scaled", "correlated", "correlated and scaled", "constant",
		"binned", "none", "rare"}
	edgeFeatures = []string{"constant", "constant", "binned", "dense", "scaled"}
	labelKinds   = []string{"model", "model", "model", "noise", "regions", "same"}
	countings    = []string{"convex", "trw", "bethe", "convex", "file", "trw", "bent file"}
	levels       = []float64{0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10}
	methods      = []learn.Method{learn.BBPL, learn.InnerDual, learn.Full}
)

// source returns a source of random numbers of problem number, for one of its parts.
func source(number int, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(number), 0x68617264<<8|part))
}

// of draws one of the choices.
func of[T any](rng *rand.Rand, choices []T) T { return choices[rng.IntN(len(choices))] }

// SpecOf draws what problem number is like. Methods, levels of l2 and counting numbers go
// round, so that every combination of them is there; the rest is left to chance.
func SpecOf(number int) Spec {
	rng := source(number, 0)
	s := Spec{
		Number: number, Graph: of(rng, graphKinds), Features: of(rng, nodeFeatures), Edges: of(rng, edgeFeatures),
		Labels: of(rng, labelKinds),
		Method: methods[number%len(methods)], L2: levels[number/len(methods)%len(levels)],
		Counting: countings[(number+number/(len(methods)*len(levels)))%len(countings)],
		Random:   rng.Float64() < 0.25, Masked: rng.Float64() < 0.15, Instances: 1, Samples: 1,
	}
	types := 1
	if rng.Float64() < 0.3 {
		types += 1 + rng.IntN(2)
	}
	for range types {
		s.States = append(s.States, 2+min(rng.IntN(11), rng.IntN(11))) // 2 to 12, mostly few
	}
	switch rng.IntN(4) {
	case 0:
		s.Samples = 2 + rng.IntN(6)
	case 1:
		s.Instances = 2 + rng.IntN(4)
	}
	if rng.Float64() < 0.2 {
		s.Hidden = of(rng, []float64{0.1, 0.3, 0.6})
	}
	if types == 1 && !s.Masked && rng.Float64() < 0.08 {
		s.Untied, s.Features, s.Edges, s.States[0] = true, "constant", "constant", 2+rng.IntN(2)
	}
	s.Nodes = s.room(rng)
	return s
}

// most is how many entries the messages of a problem may have, about, so that a dense
// solver takes a fraction of a second.
const most = 420

// room draws a number of nodes for which all messages have at most so many entries.
func (s *Spec) room(rng *rand.Rand) int {
	states := 0.0
	for _, k := range s.States {
		states += float64(k) / float64(len(s.States))
	}
	edges := most / (2 * states * float64(s.Instances))
	limit := edges / 1.9
	switch s.Graph {
	case "tree", "star", "chain", "cycle", "disconnected":
		limit = edges
	case "complete":
		limit = math.Sqrt(2*edges) + 1
	case "pair":
		return 2
	}
	limit = math.Min(limit, 40)
	return max(4, int(limit*(0.4+0.6*rng.Float64())))
}

// String names the problem for a reader.
func (s Spec) String() string {
	text := fmt.Sprintf("%s of %d, states %v, %s and %s features, labels by %s, %s, l2 %g, %s",
		s.Graph, s.Nodes, s.States, s.Features, s.Edges, s.Labels, s.Counting, s.L2, s.Method)
	for _, x := range []struct {
		on   bool
		text string
	}{
		{s.Instances > 1, fmt.Sprintf("%d instances", s.Instances)}, {s.Samples > 1, fmt.Sprintf("%d samples", s.Samples)},
		{s.Hidden > 0, fmt.Sprintf("%g of the labels missing", s.Hidden)}, {s.Masked, "masked"}, {s.Untied, "untied"},
		{s.Random, "random order"},
	} {
		if x.on {
			text += ", " + x.text
		}
	}
	return text
}
