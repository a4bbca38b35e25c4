package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
)

// labelled is a network whose nodes have labels and no features.
type labelled struct {
	states  int
	labels  []int32
	edges   [][2]int32
	weights []float64 // of edges; nil: they have none
	noBias  bool      // nodes have not even a constant feature
}

// karate are the members of a club, who is a friend of whom, and where each went when it split
// (Zachary, 1977).
func karate() labelled {
	friends := [][]int32{
		{1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31}, {2, 3, 7, 13, 17, 19, 21, 30}, {3, 7, 8, 9, 13, 27, 28, 32}, {7, 12, 13},
		{6, 10}, {6, 10, 16}, {16}, {}, {30, 32, 33}, {33}, {}, {}, {}, {33}, {32, 33}, {32, 33}, {}, {}, {32, 33}, {33}, {32, 33}, {},
		{32, 33}, {25, 27, 29, 32, 33}, {25, 27, 31}, {31}, {29, 33}, {33}, {31, 33}, {32, 33}, {32, 33}, {32, 33}, {33}, {},
	}
	net := labelled{states: 2, labels: make([]int32, len(friends))}
	for u, of := range friends {
		net.labels[u] = 1
		for _, v := range of {
			net.edges = append(net.edges, [2]int32{int32(u), v})
		}
	}
	for _, u := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21} {
		net.labels[u] = 0
	}
	return net
}

// planted draws a network of equal classes, whose edges join different ones with a part of the chance.
func planted(states, size, degree int, part float64, seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 1))
	net, seen := labelled{states: states, labels: make([]int32, states*size)}, map[[2]int32]bool{}
	for s := range net.labels {
		net.labels[s] = int32(s % states)
	}
	for len(net.edges) < states*size*degree/2 {
		e := [2]int32{int32(r.IntN(states * size)), int32(r.IntN(states * size))}
		if e[0] < e[1] && !seen[e] && (net.labels[e[0]] == net.labels[e[1]] || r.Float64() < part) {
			seen[e] = true
			net.edges = append(net.edges, e)
		}
	}
	return net
}

// sides draws a network of two equal classes, of which each edge joins both.
func sides(size, degree int, seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 5))
	net, seen := planted(2, size, 0, 0, seed), map[[2]int32]bool{}
	for len(net.edges) < size*degree {
		if e := [2]int32{2 * int32(r.IntN(size)), 1 + 2*int32(r.IntN(size))}; !seen[e] {
			seen[e] = true
			net.edges = append(net.edges, e)
		}
	}
	return net
}

// hubs draws a network of such classes in which some nodes have many times the neighbours of others.
func hubs(states, size, degree int, part float64, seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 4))
	net, seen := planted(states, size, 0, part, seed), map[[2]int32]bool{}
	node := func() int32 { // the nth is drawn as often as n^-0.7 says, about
		return int32(float64(states*size) * math.Pow(r.Float64(), 1/(1-0.7)))
	}
	for len(net.edges) < states*size*degree/2 {
		a, b := node(), node()
		e := [2]int32{min(a, b), max(a, b)}
		if a != b && !seen[e] && (net.labels[a] == net.labels[b] || r.Float64() < part) {
			seen[e] = true
			net.edges = append(net.edges, e)
		}
	}
	return net
}

// ring draws a network of nodes that know the next four on both sides, but for one in ten, which is anyone (Watts and
// Strogatz, 1998): classes are arcs, and many edges close triangles.
func ring(states, size int, seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 6))
	n := int32(states * size)
	net, seen := labelled{states: states}, map[[2]int32]bool{}
	for s := range n {
		net.labels = append(net.labels, s/int32(size))
		for step := range int32(4) {
			to := (s + 1 + step) % n
			if r.IntN(10) == 0 {
				to = r.Int32N(n)
			}
			if e := [2]int32{min(s, to), max(s, to)}; s != to && !seen[e] {
				seen[e] = true
				net.edges = append(net.edges, e)
			}
		}
	}
	return net
}

// papers draws a network of authors, all of a paper joined, who write most of them with others of their class.
func papers(states, size, number int, seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 7))
	net, seen := planted(states, size, 0, 0, seed), map[[2]int32]bool{}
	for range number {
		class, authors := int32(r.IntN(states)), []int32{}
		for most := 2 + r.IntN(5); len(authors) < most; {
			s := int32(r.IntN(states * size))
			if !slices.Contains(authors, s) && (net.labels[s] == class || r.IntN(20) == 0) {
				authors = append(authors, s)
			}
		}
		for i, a := range authors {
			for _, b := range authors[:i] {
				if e := [2]int32{min(a, b), max(a, b)}; !seen[e] {
					seen[e] = true
					net.edges = append(net.edges, e)
				}
			}
		}
	}
	return net
}

// weighed gives edges within classes three times the weight of others, in the mean.
func (n labelled) weighed(seed uint64) labelled {
	r := rand.New(rand.NewPCG(seed, 3))
	for _, e := range n.edges {
		w := r.ExpFloat64()
		if n.labels[e[0]] == n.labels[e[1]] {
			w += r.ExpFloat64() + r.ExpFloat64()
		}
		n.weights = append(n.weights, w)
	}
	return n
}

// some draws so many labels of each class, or, for a negative number, so many whatever their classes are.
func (n *labelled) some(each int, seed uint64) (known []bool) {
	known = make([]bool, len(n.labels))
	count := make([]int, n.states)
	for i, s := range rand.New(rand.NewPCG(seed, 2)).Perm(len(n.labels)) {
		if y := n.labels[s]; count[y] < each || i < -each {
			count[y]++
			known[s] = true
		}
	}
	return known
}

// propagated is the share of hidden labels that label propagation has right: each node has the mean of
// its neighbours' beliefs, by weight, with the known labels held (harmonic functions: Zhu, Ghahramani and Lafferty, 2003).
func (n *labelled) propagated(known []bool) float64 {
	near, beliefs := make([]map[int32]float64, len(n.labels)), make([][]float64, len(n.labels))
	for s := range near {
		near[s] = map[int32]float64{}
	}
	for i, e := range n.edges {
		w := 1.0
		if n.weights != nil {
			w = n.weights[i]
		}
		near[e[0]][e[1]], near[e[1]][e[0]] = w, w
	}
	for s, y := range n.labels {
		if beliefs[s] = slices.Repeat([]float64{1 / float64(n.states)}, n.states); known[s] {
			clear(beliefs[s])
			beliefs[s][y] = 1
		}
	}
	right, hidden := 0, 0
	for range 2000 {
		right, hidden = 0, 0
		for s, y := range n.labels {
			if known[s] {
				continue
			}
			for k := range beliefs[s] {
				sum, all := 0.0, 0.0
				for t, w := range near[s] {
					sum, all = sum+w*beliefs[t][k], all+w
				}
				beliefs[s][k] = sum / max(1e-300, all)
			}
			if hidden++; beliefs[s][y] == slices.Max(beliefs[s]) {
				right++
			}
		}
	}
	return float64(right) / float64(hidden)
}

func (n labelled) withoutBias() labelled {
	n.noBias = true
	return n
}

// task reads the network as tables, with the labels to learn from, and an evaluation on all others.
func (n *labelled) task(t *testing.T, known []bool) job.Task {
	t.Helper()
	var nodes, edges strings.Builder
	fmt.Fprintln(&nodes, "id,label,split")
	for s, y := range n.labels {
		fmt.Fprintf(&nodes, "n%d,s%d,%s\n", s, y, map[bool]string{true: "train", false: "test"}[known[s]])
	}
	fmt.Fprintln(&edges, "source,target"+map[bool]string{true: ",Weight"}[n.weights != nil])
	for i, e := range n.edges {
		fmt.Fprintf(&edges, "n%d,n%d", e[0], e[1])
		if n.weights != nil {
			fmt.Fprintf(&edges, ",%v", n.weights[i])
		}
		fmt.Fprintln(&edges)
	}
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "edges.csv")}
	for i, text := range []string{nodes.String(), edges.String()} {
		oracle.OK(t, os.WriteFile(paths[i], []byte(text), 0o666))
	}
	o := dataset.Options{Observed: "train", NoBias: n.noBias}
	set := oracle.Must(dataset.Open(t.Context(), paths, o))(t)
	task := job.Task{Set: set, HopsOpen: true}
	e := oracle.Must(task.OpenEvaluation(t.Context(), paths, o, "test", "test", false))(t)
	task.Evaluations = []*job.Evaluation{e}
	return task
}

// TestFewLabels: with a handful of labels and no features, predictions are about as good as those of
// label propagation or better, beliefs are not surer than they may be, and a note says what is assumed.
func TestFewLabels(t *testing.T) {
	t.Parallel()
	const splits = 10
	for name, c := range map[string]struct {
		net      labelled
		each     []int
		atLeast  float64 // by how much the mean is above that of label propagation
		eachOver float64 // and every single one
	}{
		"karate club":    {karate(), []int{1, 5}, -.02, -.045},
		"two of a club":  {karate(), []int{2}, -.02, -.07}, // one of ten splits has two nodes fewer
		"club by chance": {karate(), []int{-3, -5, -8}, -.02, -.1},
		"by chance":      {planted(4, 75, 6, .2, 5), []int{-8, -15, -30}, .02, -.1},
		"three classes":  {planted(3, 60, 8, .15, 1), []int{1, 2}, .02, -.1},
		"no constant":    {planted(3, 60, 8, .15, 1).withoutBias(), []int{1, 2}, .02, -.1},
		"twelve classes": {planted(12, 10, 10, .04, 2), []int{2}, -.02, -.1},
		"sixteen":        {planted(16, 12, 14, .06, 11), []int{1}, .05, -.1},
		"weights":        {planted(3, 60, 8, .4, 4).weighed(4), []int{5, 12}, -.02, -.1},
		"hubs":           {hubs(4, 60, 6, .1, 6), []int{1, 2, 5}, .02, -.1},
		"degree 27":      {planted(2, 100, 27, .3, 3), []int{2}, .05, -.1},
		"sides":          {sides(40, 6, 8), []int{3, 5}, .2, -.1},
		"ring":           {ring(4, 50, 9), []int{1, 2, 5}, .03, -.15},
		"papers":         {papers(4, 50, 150, 10), []int{1, 2, 5}, 0, -.15},
		"all differ":     {planted(11, 18, 4, 1, 7), []int{1}, -.02, -.1}, // neighbours tell nothing
	} {
		for _, each := range c.each {
			mean, loss, worst := 0.0, 0.0, 1.0
			for split := range uint64(splits) {
				known := c.net.some(each, split)
				p := oracle.Must(job.Prepare(t.Context(), job.Options{}, c.net.task(t, known)))(t)
				r := oracle.Must(p.Train(t.Context(), nil, job.Watch{}))(t)
				gain := r.Scores[0].Score.Accuracy() - c.net.propagated(known)
				mean, worst = mean+gain/splits, min(worst, gain)
				loss += r.Scores[0].Score.MeanLogLoss() / splits
				few := slices.ContainsFunc(r.Summary.Notes, func(text string) bool {
					return strings.Contains(text, "few labels: ")
				})
				if few == (r.Summary.Choice != nil) {
					t.Errorf("%s, %d: chosen is %v, and notes are %q", name, each, r.Summary.Choice, r.Summary.Notes)
				}
			}
			t.Logf("%s, %d of each class: %+.3f, at worst %+.3f; log loss %.3f", name, each, mean, worst, loss)
			if mean < c.atLeast || worst < c.eachOver || loss > math.Log(float64(c.net.states))+.15 {
				t.Errorf("%s, %d of each class: accuracy %+.3f against label propagation, at worst %+.3f; log loss %.3f",
					name, each, mean, worst, loss)
			}
		}
	}
}
