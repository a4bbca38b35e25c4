package job

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// network is one whose nodes have labels and no features.
type network struct {
	states  int
	labels  []int32
	edges   [][2]int32
	weights []float64 // of edges; nil: they have none
	noise   int       // columns of features that tell nothing
}

// planted draws a network of equal classes, whose edges join different ones with a part of the chance.
func planted(states, size, degree int, part float64, seed uint64) network {
	r := rand.New(rand.NewPCG(seed, 1))
	net, seen := network{states: states, labels: make([]int32, states*size)}, map[[2]int32]bool{}
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

// weighed gives edges within classes three times the weight of others, in the mean.
func (n network) weighed(seed uint64) network {
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

// some draws so many labels of each class.
func (n *network) some(each int, seed uint64) (known []bool) {
	known = make([]bool, len(n.labels))
	count := make([]int, n.states)
	for _, s := range rand.New(rand.NewPCG(seed, 2)).Perm(len(n.labels)) {
		if y := n.labels[s]; count[y] < each {
			count[y]++
			known[s] = true
		}
	}
	return known
}

// task reads the network as tables.
func (n *network) task(t *testing.T, known []bool) Task {
	t.Helper()
	var nodes, edges strings.Builder
	fmt.Fprint(&nodes, "id,label,split")
	for j := range n.noise {
		fmt.Fprintf(&nodes, ",x%d", j)
	}
	r := rand.New(rand.NewPCG(1, 8))
	for s, y := range n.labels {
		fmt.Fprintf(&nodes, "\nn%d,s%d,%s", s, y, map[bool]string{true: "train", false: "test"}[known[s]])
		for range n.noise {
			fmt.Fprintf(&nodes, ",%.3f", r.NormFloat64())
		}
	}
	fmt.Fprintln(&edges, "source,target"+map[bool]string{true: ",Weight"}[n.weights != nil])
	for i, e := range n.edges {
		fmt.Fprintf(&edges, "n%d,n%d", e[0], e[1])
		if n.weights != nil {
			fmt.Fprintf(&edges, ",%v", n.weights[i])
		}
		fmt.Fprintln(&edges)
	}
	return fewOf(t, writeTables(t, nodes.String(), edges.String()), dataset.Options{Observed: "train"}, true)
}

// TestFewLabelsResumed: a run goes on with the edges that were made for it.
func TestFewLabelsResumed(t *testing.T) {
	net, dir := planted(2, 17, 5, .1, 1), filepath.Join(t.TempDir(), "run")
	task := net.task(t, net.some(1, 1))
	folder := &Folder{Dir: dir, NoReport: true, Config: Config{Options: map[string]Option{"edges": {nil, SourceDefault}}}}
	want := train(t, Options{}, task, folder).Summary
	config := oracle.Must(ReadConfig(dir))(t)
	got := train(t, Options{Edges: want.Edges, Prior: evenPrior}, task,
		&Folder{Dir: dir, NoReport: true, Resume: true, Config: *config}).Summary
	oracle.Equal(t, got.ThetaSHA256, want.ThetaSHA256, "weights")
}

// TestFewLabelsOfOthers: few labels tell that neighbours differ, where they do, and one of each class does not.
// Features that tell nothing are left out, of fewer labels nearly: with them 58 % were right, and 56 %.
func TestFewLabelsOfOthers(t *testing.T) {
	sides := network{states: 2, labels: make([]int32, 24)} // guests of one side meet all hosts but one of the other
	for s := range int32(24) {
		sides.labels[s] = s % 2
		for v := s + 1; v < 24; v += 2 {
			if v != s+11 {
				sides.edges = append(sides.edges, [2]int32{s, v})
			}
		}
	}
	noisy := planted(4, 60, 8, .15, 3)
	noisy.noise = 6
	few := planted(2, 60, 8, .15, 3)
	few.noise = 6
	for name, c := range map[string]struct {
		net   network
		each  int
		edges string
		right float64
	}{
		"sides": {sides, 3, "balanced:-1", 1}, "sides, one pair": {sides, 1, "balanced:1^", 0},
		"alike": {planted(2, 17, 5, .1, 1), 3, "balanced:1^", .85}, "noise": {noisy, 5, "balanced:", .7},
		"noise, few": {few, 2, "balanced:1^", .7}, "most known": {planted(2, 7, 5, .1, 1), 4, "balanced:", .8},
	} {
		r := train(t, Options{}, c.net.task(t, c.net.some(c.each, 1)), nil)
		if got := r.Scores[0].Score.Accuracy(); !strings.HasPrefix(r.Summary.Edges, c.edges) || got < c.right {
			t.Errorf("%s: %s, accuracy %v", name, r.Summary.Edges, got)
		}
	}
}

// TestBalancedFeaturesAreFinite: the largest number that a feature may be stays one when a coupling multiplies it.
func TestBalancedFeaturesAreFinite(t *testing.T) {
	schema := crf.Homogeneous([]string{"a", "b"}, 1, 1)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{
		Graph: oracle.Must(graph.FromEdges(2, []int32{0}, []int32{1}))(t), NodeFeat: []crf.Features{crf.Constant(2, 1)},
		EdgeFeat: []crf.Features{oracle.Must(crf.Dense([]float64{-math.MaxFloat64}, 1))(t)},
	}))(t)
	row := make([]float64, 1)
	allBalanced([]*crf.Instance{in})[0].EdgeFeatures(0).Row(row, 0)
	oracle.Equal(t, row[0], -math.MaxFloat64, "a feature times %v", couplings(in))
}

// TestCouplings: with what each edge hands on as entries, or half of it where a triangle is closed, the matrix of paths
// that do not turn back has the largest eigenvalue 0.8: with hubs and no triangles, and on a torus of triangles, whose
// edges weigh the same. Models of the rule predict as those of potts do where all degrees are equal, and read back from
// their file they predict as in training.
func TestCouplings(t *testing.T) {
	hubs, torus := network{states: 3, labels: planted(3, 20, 0, 0, 7).labels}, network{states: 3}
	r := rand.New(rand.NewPCG(7, 1))
	for u := range int32(60) { // even nodes join odd ones, and two of them most
		for v := u + 1; v < 60; v += 2 {
			if u < 2 || r.IntN(8) == 0 {
				hubs.edges = append(hubs.edges, [2]int32{u, v})
			}
		}
	}
	const side = 6
	for s := range int32(side * side) {
		torus.labels = append(torus.labels, s%3)
		x, y := s%side, s/side
		for _, to := range [][2]int32{{x + 1, y}, {x, y + 1}, {x + 1, y + 1}} {
			torus.edges = append(torus.edges, [2]int32{s, to[0]%side + to[1]%side*side})
		}
	}
	torus.weights = slices.Repeat([]float64{2.5}, len(torus.edges))
	for name, net := range map[string]network{"hubs": hubs, "triangles": torus} {
		in := net.task(t, net.some(3, 1)).Set.Instances[0]
		js := couplings(in)
		us, vs := in.Graph.Ends()
		n := len(us)
		paths := mat.NewDense(2*n, 2*n, nil) // e leads from u to v, and n + e back
		from, to := slices.Concat(us, vs), slices.Concat(vs, us)
		for a := range 2 * n {
			for b := range 2 * n {
				grown, ends := math.Expm1(js[b%n]), [2]int32{min(from[a], to[b]), max(from[a], to[b])}
				handed := grown / (grown + 3)
				if slices.Contains(in.Graph.Pairs(), ends) { // a triangle is closed
					handed /= 2
				}
				if to[a] == from[b] && a%n != b%n {
					paths.Set(a, b, handed)
				}
			}
		}
		var eigen mat.Eigen
		eigen.Factorize(paths, mat.EigenNone)
		largest := 0.0
		for _, x := range eigen.Values(nil) {
			largest = max(largest, cmplx.Abs(x))
		}
		if math.Abs(largest-.8) > 1e-9 {
			t.Errorf("%s: largest eigenvalue %v, want .8", name, largest)
		}
	}

	ring := network{states: 2, labels: make([]int32, 12)}
	for s := range int32(12) {
		ring.labels[s] = s / 6
		ring.edges = append(ring.edges, [2]int32{s, (s + 1) % 12})
	}
	known := ring.some(2, 1)
	folder := &Folder{Dir: filepath.Join(t.TempDir(), "run"), NoReport: true}
	task := ring.task(t, known)
	each := train(t, Options{Edges: "balanced:0.5^2"}, task, folder)
	all := train(t, Options{Edges: fmt.Sprintf("potts:%v^2", math.Log1p(2*.8/.2)/2)}, task, nil)
	if a, b := each.Scores[0].Score.MeanLogLoss(), all.Scores[0].Score.MeanLogLoss(); math.Abs(a-b) > 1e-9 {
		t.Errorf("log loss %v, of potts %v", a, b)
	}
	m := oracle.Must(LoadModel(folder.Dir))(t)
	e := oracle.Must(NewEvaluation("", task.Set, m.Instances(task.Evaluations[0].Set), "", ""))(t)
	e.Held, e.Count = task.Evaluations[0].Held, task.Evaluations[0].Count
	w := Inference{Model: m.Model, Counting: oracle.Must(m.Counting(t.Context(), ""))(t), Temperature: m.Temperature()}
	again := oracle.Must(w.Score(t.Context(), e, false))(t).Score.MeanLogLoss()
	oracle.Equal(t, again, each.Scores[0].Score.MeanLogLoss(), "log loss from the file")
}

// TestBorneOut: edges of a ring whose arcs are classes bear out stronger couplings than degrees justify, and those of
// many blocks weaker ones, which predict better; the power falls as strength grows. Where classes have no edges between
// them all strengths explain these as well, and nothing changes; nor where the gain is too little, in a small network,
// nor where a network is large, of which the note says nothing of edges.
func TestBorneOut(t *testing.T) {
	arcs, parts := network{states: 4, labels: make([]int32, 160)}, planted(2, 20, 0, 0, 1)
	r := rand.New(rand.NewPCG(3, 6))
	for s := range int32(160) {
		arcs.labels[s] = s / 40
		for step := range int32(4) {
			to := (s + 1 + step) % 160
			if r.IntN(10) == 0 {
				to = r.Int32N(160)
			}
			if to != s {
				arcs.edges = append(arcs.edges, [2]int32{s, to})
			}
		}
	}
	for s := range int32(40) {
		for v := s + 2; v < min(40, s+8); v += 2 {
			parts.edges = append(parts.edges, [2]int32{s, v})
		}
	}
	for name, c := range map[string]struct {
		net   network
		each  int
		seed  uint64 // of the labels
		edges string
		gain  float64
	}{
		"arcs": {arcs, 1, 3, "balanced:2^1.6", .05}, "folds": {planted(6, 15, 8, .1, 2), 2, 2, "balanced:0.71^", .03},
		"blocks": {planted(10, 15, 8, .1, 5), 1, 5, "balanced:0.71^4.5", .05},
		"parts":  {parts, 1, 1, "balanced:1^2.7", 0}, "little": {planted(3, 8, 4, .1, 19), 1, 19, "balanced:1^2.9", 0},
		"large": {planted(40, 15, 8, .1, 5), 1, 5, "balanced:1^", 0},
	} {
		task := c.net.task(t, c.net.some(c.each, c.seed))
		r := train(t, Options{}, task, nil)
		usual := train(t, Options{Edges: "balanced:1", Prior: evenPrior}, task, nil).Scores[0].Score.Accuracy()
		if got := r.Scores[0].Score.Accuracy(); !strings.HasPrefix(r.Summary.Edges, c.edges) || got < usual+c.gain {
			t.Errorf("%s: %s, accuracy %v, %v with what degrees justify", name, r.Summary.Edges, got, usual)
		}
		said := strings.Contains(strings.Join(r.Summary.Notes, "\n"), "bear")
		oracle.Equal(t, said, name != "large", "%s: edges are said to bear it out", name)
	}
}

// TestLabelsAgainstEdges: few labels have to be 1/e² times as likely for the strength that edges bear out not to be
// taken, and the note says why it is.
func TestLabelsAgainstEdges(t *testing.T) {
	net := planted(3, 8, 4, .1, 19)
	c := &selection{p: prepare(t, Options{}, net.task(t, net.some(2, 1)))}
	made := func(strength, loss float64) *trial {
		of := Candidate{Edges: edgeRule{edgesBalanced, strength, 2}, Loss: runfolder.Float(loss)}
		return &trial{Candidate: of, asked: of, losses: slices.Repeat([]float64{loss}, 6)}
	}
	for more, want := range map[float64]float64{.2: 2, .3: 1} { // with .375 of six labels' 2, by which the priors differ
		got := c.decide([]*trial{made(1, 1), made(2, 1+more)})
		oracle.Equal(t, got.Chosen.Edges.strength, want, "strength at a log loss of %v more", more)
		oracle.Equal(t, strings.Contains(got.note(), "edges bear this strength out"), want == 2, "%v: noted", more)
	}
}

// TestTinyWeights: couplings are finite where weights are hardly numbers, all of them or those of a pair of nodes.
func TestTinyWeights(t *testing.T) {
	pairs := network{states: 2, labels: []int32{0, 1, 0, 1}, edges: [][2]int32{{0, 1}, {2, 3}}}
	for _, pairs.weights = range [][]float64{{1e-310, 1e-310}, {1, 1e-200}} {
		in := pairs.task(t, []bool{true, true, true, false}).Set.Instances[0]
		for e, j := range couplings(in) {
			if !(j >= 0 && j < 10) || e == 0 && j == 0 {
				t.Errorf("weights %v: the coupling of edge %d is %v", pairs.weights, e, j)
			}
		}
	}
}

// TestForestsHandOn: edges of a forest hand on seven tenths, however many meet at a node; one more edge makes a cycle,
// and the edges of its hub hand on less.
func TestForestsHandOn(t *testing.T) {
	star := network{states: 3, labels: make([]int32, 12)}
	for v := int32(1); v < 12; v++ {
		star.labels[v] = v % 3
		star.edges = append(star.edges, [2]int32{0, v})
	}
	for range 2 {
		forest := len(star.edges) < 12
		for e, j := range couplings(star.task(t, star.some(3, 1)).Set.Instances[0]) {
			handed := math.Expm1(j) / (math.Expm1(j) + 3)
			if math.Abs(handed-.7) < 1e-12 != forest {
				t.Errorf("forest: %v, edge %d hands on %v", forest, e, handed)
			}
		}
		star.edges = append(star.edges, [2]int32{1, 2})
	}
}

// TestGrouping: by definition. Edges that weigh w are so many draws of two ends by degree, of which those of one group
// are drawn as often as they occur, and not as chance has it.
func TestGrouping(t *testing.T) {
	net := planted(3, 15, 5, .3, 2).weighed(4)
	in := net.task(t, net.some(2, 1)).Set.Instances[0]
	weights, degrees, total := edgeWeights(in), make([]float64, len(net.labels)), 0.
	for e, of := range in.Graph.Pairs() {
		degrees[of[0]], degrees[of[1]] = degrees[of[0]]+weights[e], degrees[of[1]]+weights[e]
		total += weights[e]
	}
	chance, within, want := 0., 0., 0.
	for u, a := range net.labels {
		for v, b := range net.labels {
			if a == b {
				chance += degrees[u] * degrees[v] / (4 * total * total)
			}
		}
	}
	for e, of := range in.Graph.Pairs() {
		if net.labels[of[0]] == net.labels[of[1]] {
			within += weights[e] / total
		}
	}
	for e, of := range in.Graph.Pairs() {
		if net.labels[of[0]] == net.labels[of[1]] {
			want += weights[e] * math.Log(within/chance)
		} else {
			want += weights[e] * math.Log((1-within)/(1-chance))
		}
	}
	oracle.Near(t, grouping(in, weights, net.labels), want, 1e-9, "groups that edges are within")
	oracle.Near(t, grouping(in, weights, make([]int32, len(net.labels))), 0, 1e-9, "one group")
	apart := make([]int32, len(net.labels)) // the ends of some edges in two groups, and no edge within one
	for s := range apart {
		apart[s] = int32(s)
	}
	if got := grouping(in, weights, apart); got >= 0 {
		t.Errorf("no edges within groups: %v, want less than 0", got)
	}
}

// TestPowerOfBeliefs: the model has the temperature of the rule's power, and predicts by it.
func TestPowerOfBeliefs(t *testing.T) {
	net := planted(2, 17, 5, .1, 1)
	task := net.task(t, net.some(2, 1))
	even, sure := train(t, Options{Edges: "potts:0.3"}, task, nil), train(t, Options{Edges: "potts:0.3^4"}, task, nil)
	if got := sure.Model.Temperature(); got != .25 || even.Model.Temperature() != 1 {
		t.Errorf("temperatures %v and %v, want 1/4 and 1", got, even.Model.Temperature())
	}
	a, b := even.Scores[0].Score, sure.Scores[0].Score
	if a.Accuracy() != b.Accuracy() || a.MeanLogLoss() <= b.MeanLogLoss() || sure.Summary.Edges != "potts:0.3^4" {
		t.Errorf("accuracy %v and %v, log loss %v and %v", a.Accuracy(), b.Accuracy(), a.MeanLogLoss(), b.MeanLogLoss())
	}
	for edges, want := range map[string]string{"potts:1^0": "a power of beliefs above 0", "moments:1^x": "a power", "auto^2": `"auto^2": want auto or together`} {
		wantError(t, refused(Options{Edges: edges}), Usage, want)
	}
}

// TestWeightsOfEdges: equal states of neighbours count by the weight of their edge over the mean, whatever scale is
// learned with; features with another meaning, or weights below 0, are told of.
func TestWeightsOfEdges(t *testing.T) {
	net := planted(2, 20, 4, .3, 5).weighed(5)
	mean := 0.0
	for _, w := range net.weights {
		mean += w / float64(len(net.weights))
	}
	for _, o := range []Options{{Edges: "potts:0.3"}, {Edges: "potts:0.3", L2: 1}} {
		r := train(t, o, net.task(t, net.some(2, 1)), nil)
		m := r.Model.Model
		got := m.Weights[m.Layout.Edge[0].At:][:8] // of the feature, and of the constant
		want, said := []float64{.3 / mean, 0, 0, .3 / mean, 0, 0, 0, 0}, strings.Join(r.Summary.Notes, "\n")
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }
		if !slices.EqualFunc(got, want, near) || !strings.Contains(said, "{columns=ignore=Weight}") {
			t.Errorf("%+v: weights of edges %v, notes %q", o, got, said)
		}
	}
	r := train(t, Options{Edges: "moments:1"}, net.task(t, net.some(2, 1)), nil)
	oracle.Contains(t, strings.Join(r.Summary.Notes, "\n"), "{edges=potts:1} counts")
	net.weights[3] = -1
	r = train(t, Options{Edges: "potts:0.3"}, net.task(t, net.some(2, 1)), nil)
	m := r.Model.Model
	if got := m.Weights[m.Layout.Edge[0].At:][:8]; math.Abs(got[0]) > 0 || got[4] != .3 ||
		!strings.Contains(strings.Join(r.Summary.Notes, "\n"), `"Weight" of edges: only weights that are numbers from 0 on`) {
		t.Errorf("weights below 0: %v, notes %q", got, r.Summary.Notes)
	}
}

// TestDependenceIsSymmetric: to the bit, as weights of a symmetric type are one.
func TestDependenceIsSymmetric(t *testing.T) {
	const k = 7
	schema := crf.Homogeneous(crf.NumberedStates(k), 1, 1)
	schema.EdgeTypes[0].Symmetric = true
	m := oracle.Must(crf.NewModel(schema))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		table := make([]float64, k*k)
		for i := range table {
			table[i] = rng.ExpFloat64() * float64(rng.IntN(2))
		}
		dependence(m, 0, table)
		for a := range k {
			for b := range a {
				if table[a*k+b] != table[b*k+a] {
					t.Fatalf("states %d and %d: %v, the other way round %v", a, b, table[a*k+b], table[b*k+a])
				}
			}
		}
	}
}

// TestClassesJoinOthers: where a joins b and c joins d, neighbours are neither alike nor merely different.
func TestClassesJoinOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	net, seen := network{states: 4, labels: make([]int32, 300)}, map[[2]int32]bool{}
	for s := range net.labels {
		net.labels[s] = int32(s % 4)
	}
	for len(net.edges) < 1500 {
		e := [2]int32{int32(r.IntN(300)), int32(r.IntN(300))}
		if e[0] < e[1] && !seen[e] && (net.labels[e[0]]^net.labels[e[1]] == 1 || r.Float64() < .05) {
			seen[e] = true
			net.edges = append(net.edges, e)
		}
	}
	chosen := train(t, Options{}, net.task(t, net.some(12, 1)), nil)
	if got := chosen.Scores[0].Score.Accuracy(); got < .95 {
		t.Errorf("%s: accuracy %v", chosen.Summary.Edges, got)
	}
}

// TestComparedLabels: the only label of a state is never held out.
func TestComparedLabels(t *testing.T) {
	schema := crf.Homogeneous(crf.NumberedStates(3), 1, 1)
	g := oracle.Must(graph.Grid(1, 6, graph.GridOptions{}))(t)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{crf.Constant(6, 1)}, EdgeFeat: []crf.Features{crf.Constant(5, 1)},
		Labels: [][]int32{{0, 1, crf.Unobserved, 0, 2, 2}},
	}))(t)
	oracle.Equal(t, fmt.Sprint(comparedLabels(in)), "[0 3 4 5]", "nodes that are held out by turns")
}

// TestTriangles: by definition, of each edge and each other node that both of its ends join.
func TestTriangles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	const n = 14
	var between [n][n]float64
	var us, vs []int32
	var weights []float64
	for u := range int32(n) {
		for v := range u {
			if r.IntN(5) < 2 || v == 0 {
				w := 1 + r.Float64()
				between[u][v], between[v][u] = w, w
				us, vs, weights = append(us, u), append(vs, v), append(weights, w)
			}
		}
	}
	shared := triangles(oracle.Must(graph.FromEdges(n, us, vs))(t), weights)
	for e, got := range shared {
		var want [2]float64
		for s := range n {
			if a, b := between[us[e]][s], between[vs[e]][s]; a > 0 && b > 0 {
				want[0], want[1] = want[0]+a, want[1]+b
			}
		}
		oracle.Near(t, got[0], want[0], 1e-12, "edge %d, first end", e)
		oracle.Near(t, got[1], want[1], 1e-12, "edge %d, second end", e)
	}
}
