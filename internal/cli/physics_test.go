package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/job"
	arrayfile "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// couplingsOf reads the table of a run: value and error by the names in front of them.
func couplingsOf(t *testing.T, dir string) map[string][2]float64 {
	t.Helper()
	found := map[string][2]float64{}
	for _, row := range strings.Split(strings.TrimSuffix(readFile(t, dir, "couplings.tsv"), "\n"), "\n")[1:] {
		cells := strings.Split(row, "\t")
		var x [2]float64
		for j, cell := range cells[len(cells)-2:] {
			x[j] = math.NaN()
			if cell != "" {
				x[j] = oracle.Must(strconv.ParseFloat(cell, 64))(t)
			}
		}
		found[strings.Join(cells[:len(cells)-2], " ")] = x
	}
	return found
}

// TestCouplingsOfExample: of the example, by default, couplings have a slope of 0.95 to 1.05 on
// the truth, and 90 to 99 % of intervals of 95 % hold it.
func TestCouplingsOfExample(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	ising, out := filepath.Join(folder, "ising"), filepath.Join(folder, "run")
	mustRun(t, "example", "ising", "-o", ising)
	spins := filepath.Join(ising, "spins.npz")
	o := mustRun(t, "train", spins, "--model", "ising", "-o", out, "--reference", filepath.Join(ising, "truth.safetensors"), "-q")
	o.prints(t, "auto → pseudo: pseudo-likelihood", filepath.Join(out, "couplings.tsv"))
	couplings := couplingsOf(t, out)
	inside, products, squares, all := 0.0, 0.0, 0.0, 0.0
	for _, line := range strings.Split(strings.TrimSpace(readFile(t, ising, "couplings.tsv")), "\n")[1:] {
		cells := strings.Split(line, "\t")
		truth := oracle.Must(strconv.ParseFloat(cells[2], 64))(t)
		x, ok := couplings["edge "+cells[0]+" "+cells[1]]
		if !ok {
			t.Fatalf("no coupling of %s", line)
		}
		products += truth * x[0]
		squares += truth * truth
		all++
		if math.Abs(x[0]-truth) <= 1.96*x[1] {
			inside++
		}
	}
	if slope := products / squares; !(slope > 0.95 && slope < 1.05) {
		t.Errorf("slope %v", slope)
	}
	if inside /= all; !(inside > 0.90 && inside < 0.99) {
		t.Errorf("%v inside", inside)
	}
	if info := mustRun(t, "info", out, "--weights", "2").stdout; !strings.Contains(info, "largest couplings") || strings.Count(info, "\nJ ") != 2 {
		t.Errorf("info says:\n%s", info)
	}
	oracle.Contains(t, readFile(t, filepath.Join(out, "report.html")), "Largest couplings", "standard error")
	before := readFile(t, filepath.Join(out, "couplings.tsv"))
	mustRun(t, "train", out, "--resume", "-q")
	oracle.Equal(t, readFile(t, filepath.Join(out, "couplings.tsv")), before, "couplings of a resumed run")
}

// ring writes samples of a ring of four nodes, each equal to a neighbour more often than not.
func ring(t *testing.T, dir string, states int32, minus bool, stay float64, hide int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 1))
	a := dataset.Arrays{Edges: [][2]int32{{0, 1}, {1, 2}, {2, 3}, {0, 3}}}
	if !minus {
		a.States = []int32{states}
	}
	last := make([]int32, 4)
	for i := range 300 {
		labels := make([]int32, 4)
		for s := range labels {
			if labels[s] = rng.Int32N(states); s > 0 && rng.Float64() < 0.5 {
				labels[s] = labels[s-1]
			}
		}
		if rng.Float64() < stay {
			labels = append([]int32(nil), last...)
		}
		last = append([]int32(nil), labels...)
		if i < hide {
			labels[2] = -1
		}
		for s := range labels {
			if minus {
				labels[s] = 2*labels[s] - 1
			}
		}
		a.Labels = append(a.Labels, labels)
	}
	path := filepath.Join(dir, "ring.npz")
	oracle.OK(t, a.WriteFile(path))
	return path
}

// TestCouplingsByLikelihood: a small network is learned by the likelihood; spins of −1 and 1 are
// labels 0 and 1, and Potts models of two states have the couplings of Ising models.
func TestCouplingsByLikelihood(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	o := mustRun(t, "train", ring(t, t.TempDir(), 2, false, 0, 0), "--model", "ising", "-o", in("plain"), "-q")
	o.prints(t, "auto → exact: the likelihood itself")
	spins := ring(t, t.TempDir(), 2, true, 0, 0)
	mustRun(t, "train", spins, "--model", "ising", "-o", in("spins"), "-q")
	mustRun(t, "train", ring(t, t.TempDir(), 2, false, 0, 0), "--model", "potts", "-o", in("potts"), "-q")
	plain, spin, potts := couplingsOf(t, in("plain")), couplingsOf(t, in("spins")), couplingsOf(t, in("potts"))
	if len(plain) != 8 || len(potts) != 4*2+4*3+4 { // the last are scores of pairs
		t.Errorf("%d terms of ising, %d of potts", len(plain), len(potts))
	}
	for name, x := range plain {
		oracle.Equal(t, spin[name], x, "%s, of spins", name)
		with := name + " 1 1"
		if strings.HasPrefix(name, "node") {
			with = name + " 1 "
		}
		if y := potts[with]; math.Abs(y[0]-x[0]) > 1e-7 || math.Abs(y[1]-x[1]) > 1e-7 {
			t.Errorf("%s is %v, of potts %v", name, x, y)
		}
	}
	oracle.Equal(t, evaluate(t, spins, "-m", in("spins"))[0].Nodes, 1200, "labels of spins count")
	hidden := mustRun(t, "train", ring(t, t.TempDir(), 3, false, 0, 40), "--model", "potts", "-o", in("hidden"), "-q")
	if x := couplingsOf(t, in("hidden")); len(x) != 4*3+4*6+4 || math.IsNaN(x["edge 0 1 0 0"][1]) {
		t.Errorf("hidden labels: %v\n%s", x, hidden.stderr)
	}
}

// TestErrorsOfChains: correlated samples are told of, and resampling by blocks gives larger
// errors, as much larger as the chain is slower.
func TestErrorsOfChains(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	chain := ring(t, t.TempDir(), 2, false, 0.6, 0)
	if o := mustRun(t, "train", chain, "--model", "ising", "-o", in("curve"), "-q"); !strings.Contains(o.stderr, "samples are correlated with the one before (0.") {
		t.Errorf("train notes:\n%s", o.stderr)
	}
	mustRun(t, "train", chain, "--model", "ising", "--errors=bootstrap:200", "-o", in("drawn"), "-q").says(t,
		"standard errors are of blocks of")
	curve, drawn := couplingsOf(t, in("curve")), couplingsOf(t, in("drawn"))
	ratio := 0.0
	for name, x := range curve {
		ratio += drawn[name][1] / x[1] / float64(len(curve))
	}
	if !(ratio > 1.5 && ratio < 2.3) { // √((1 + 0.6)/(1 − 0.6)) = 2, of which blocks miss some
		t.Errorf("errors by resampling are %v as large", ratio)
	}
	mustRun(t, "train", chain, "--model", "ising", "--errors=none", "-o", in("none"), "-q")
	if x := couplingsOf(t, in("none"))["edge 0 1"]; !math.IsNaN(x[1]) {
		t.Errorf("errors that were not asked for: %v", x)
	}
}

// TestWeightsAreNoCorrelation: rows that are drawn independently, and weigh differently, are not called correlated; a
// hidden label is a missing cell, where -1 is a state.
func TestWeightsAreNoCorrelation(t *testing.T) {
	t.Parallel()
	random, table := rand.New(rand.NewPCG(1, 2)), strings.Builder{}
	table.WriteString("a,b,c,weight\nNA,-1,1,1\n")
	for range 400 {
		for range 3 {
			fmt.Fprintf(&table, "%d,", 2*(random.IntN(5)/3)-1)
		}
		fmt.Fprintln(&table, 1+random.IntN(2))
	}
	path := filepath.Join(t.TempDir(), "votes.csv")
	oracle.OK(t, os.WriteFile(path, []byte(table.String()), 0o666))
	o := mustRun(t, "train", path, "--model", "ising", "--sample-weights", "weight", "-o", path+"-run", "-q")
	if strings.Contains(o.stderr, "correlated") || !strings.Contains(o.stderr, "1 of 1203 labels are hidden (empty cells") {
		t.Errorf("train says:\n%s", o.stderr)
	}
}

// TestManyMissing: of independent columns, most cells of which are missing, couplings are next to nothing, and fields
// those of frequencies; a resumed run ends in the same bytes.
func TestManyMissing(t *testing.T) {
	t.Parallel()
	random, table, n, folder := rand.New(rand.NewPCG(1, 3)), "a,b,c,d,e,f\n", [2]float64{}, t.TempDir()
	for i := range 1200 {
		if x := random.IntN(3) / 2; random.Float64() < 0.3 {
			table += strconv.Itoa(x)
			n[x] += float64(max(0, 1-i%6)) // of column a
		}
		table += ",,,,,\n"[i%6:][:1]
	}
	path, out, short := filepath.Join(folder, "votes.csv"), filepath.Join(folder, "run"), filepath.Join(folder, "short")
	oracle.OK(t, os.WriteFile(path, []byte(table), 0o666))
	args := []string{"train", path, "--model", "ising", "--method", "pseudo", "-q", "-o"}
	mustRun(t, append(args, out)...)
	for name, x := range couplingsOf(t, out) {
		if strings.HasPrefix(name, "edge") && !(math.Abs(x[0]) < 0.02) {
			t.Errorf("%s is %v", name, x[0])
		} else if name == "node a " {
			oracle.Near(t, x[0], math.Log(n[1]/n[0])/2, 0.02, "field")
		}
	}
	mustRun(t, append(args, short, "--max-iter", "5")...)
	mustRun(t, "train", short, "--resume", "--max-iter", "1000", "-q").says(t, "that of fields is 1")
	oracle.Equal(t, readFile(t, short, "model.safetensors"), readFile(t, out, "model.safetensors"), "the resumed model")
}

// TestErrorsOfWeights: errors of any model, in the run folder, in info and in its JSON; a method without says so.
func TestErrorsOfWeights(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	chain := ring(t, t.TempDir(), 3, false, 0, 0)
	mustRun(t, "train", chain, "--method", "pseudo", "--errors", "-o", in("pseudo"), "-q")
	oracle.Contains(t, mustRun(t, "info", in("pseudo")).stdout, "error")
	mustRun(t, "train", chain, "--errors", "-o", in("bbpl"), "-q").says(t, "no standard errors: method bbpl has none")
	mustRun(t, "train", chain, "--errors=bootstrap:5", "-o", in("drawn"), "-q")
	mustRun(t, "info", in("drawn")).prints(t, "error")
}

// TestSpinsElsewhere: labels of -1 are known where a model is one of spins; and verbs that have
// another --model, or none, name the one that reads spins.
func TestSpinsElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	spins, out := ring(t, folder, 2, true, 0, 0), filepath.Join(folder, "run")
	mustRun(t, "train", spins, "--model", "ising", "-o", out, "-q", noReport)
	for _, args := range [][]string{{"predict", "-o", filepath.Join(folder, "predicted")}, {"sample", "-o", filepath.Join(folder, "drawn")}} {
		if o := mustRun(t, append(args, spins, "-m", out, "-q")...); strings.Contains(o.stderr, "known") {
			t.Errorf("%s says:\n%s", args[0], o.stderr)
		}
	}
	for _, verb := range []string{"check", "info"} {
		if o := run(t, verb, spins); o.code != 3 || !strings.Contains(o.stdout+o.stderr, "if they are spins, use blockbp train --model ising, or write 0 and 1") {
			t.Errorf("%s: code %d, and says:\n%s%s", verb, o.code, o.stdout, o.stderr)
		}
	}
}

// TestSelectEdges: the edge that samples tell nothing of goes, by either rule; files with all edges go with the model.
func TestSelectEdges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := ring(t, dir, 3, false, 0, 0)
	for _, rule := range []string{"ebic", "stability:5"} {
		out := filepath.Join(dir, strings.ReplaceAll(rule, ":", "-"))
		o := mustRun(t, "train", path, "--model", "potts", "--select-edges", rule, "-o", out, "-q")
		o.prints(t, "3 of 4, by ")
		o.says(t, "3 of 4 edges stay", "standard errors")
		found := couplingsOf(t, out)
		if _, kept := found["edge 2 3 0 0"]; !kept || len(found) != 4*3+3*6+3 {
			t.Errorf("%s: the table has %d rows", rule, len(found))
		}
		mustRun(t, "sample", path, "-m", out, "-o", out+".npz", "--samples", "10", "-q")
		mustRun(t, "eval", path, "-m", out, "-q")
	}
}

// TestPriorOfAlignments: an alignment's prior is that of contacts, unless one is given.
func TestPriorOfAlignments(t *testing.T) {
	t.Parallel()
	path, out := filepath.Join(t.TempDir(), "family.fa"), filepath.Join(t.TempDir(), "run")
	oracle.OK(t, os.WriteFile(path, []byte(">a\nARNDARND\n>b\nA-NDARN-\n>c\nCRNEAR-D\n>d\nCR-ECRNE\n"), 0o600))
	for option, want := range map[string]float64{"--tol=1": 1 / math.Sqrt(2*0.01*20*7), "--prior=2": 2} {
		o := mustRun(t, "train", path, "--model", "potts", "--errors=none", option, "-q", "--force", "--json", "-o", out)
		var got struct{ Prior float64 }
		oracle.OK(t, json.Unmarshal([]byte(o.stdout), &got))
		if math.Abs(got.Prior-want) > 1e-12 || strings.Contains(o.stderr, "prior of an alignment") != (want < 1) {
			t.Errorf("%s: %v, want %v; it says\n%s", option, got.Prior, want, o.stderr)
		}
	}
}

// means writes those of the samples of an instance file of nodes of three states, with a change to the first table.
func means(t *testing.T, samples, path string, change, observations float64) {
	t.Helper()
	in := oracle.Must(dataset.Open(t.Context(), []string{samples}, dataset.Options{Untied: true}))(t).Instances[0]
	m := in.Graph.NumEdges()
	edges, tables := []int32(nil), make([]float64, 9*m)
	for e := range int32(m) {
		u, v := in.Graph.U(e), in.Graph.V(e)
		edges = append(edges, u, v)
		for _, labels := range in.Samples() {
			tables[9*e+3*labels[u]+labels[v]] += observations / float64(len(in.Samples()))
		}
	}
	tables[0] += change * observations
	tables[8] -= change * observations
	oracle.OK(t, arrayfile.WriteArchive(path, arrayfile.ArrayOf("edges", edges, m, 2),
		arrayfile.ArrayOf("edge_means", tables, m, 3, 3)))
}

// TestStatistics: means of samples give the weights of the samples; what is not known has none, and what contradicts
// itself is refused, or noted where it may be chance.
func TestStatistics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	samples, path, out := ring(t, dir, 3, false, 0, 0), filepath.Join(dir, "means.npz"), filepath.Join(dir, "run")
	means(t, samples, path, 0, 300)
	how := strings.Fields("--method exact --tol 1e-10 -q --force -o ")
	mustRun(t, append(append([]string{"train", samples, "--untied"}, how...), out)...)
	want := oracle.Must(job.LoadModel(out))(t).Model.Weights
	mustRun(t, append(append([]string{"train", "--statistics", path, "--model", "potts"}, how...), out)...)
	for i, w := range oracle.Must(job.LoadModel(out))(t).Model.Weights {
		oracle.MustNear(t, w, want[i], 1e-8, "weight %d by means, and by samples", i)
	}
	for _, c := range []struct {
		change, observations float64
		code                 int
		says                 string
	}{
		{0, 300, 0, "[a, b] and [b, a] differ by 0.0"},
		{math.NaN(), 300, 0, "means are missing of 1 of 8 nodes and edges"}, {0.05, 100, 0,
			"contradict those of nodes by 0.0"},
		{0.05, 1e6, 3, "state 0 of node"}, {-0.5, 100, 3, "edge_means[0]: has entries from"},
		{0, 0, 3, "write nan where nothing is known"}, {0, 0.7, 3, "0.7 in all, want probabilities, which are 1 in all"},
		{0, 1, 0, "of how many observations"}, {0, 0.97, 0, ""}, // as rounded to two decimals
	} {
		means(t, samples, path, c.change, c.observations)
		o := run(t, "train", "--statistics", path, "--model", "potts", "-q", "--force", "-o", out)
		if c.code != 0 {
			o.wantFailure(t, c.code, c.says)
			continue
		}
		o.says(t, c.says)
		mustRun(t, "sample", samples, "-m", out, "-q", "-o", filepath.Join(dir, "drawn.npz"), "--samples", "5", "--force")
		on := filepath.Join(dir, "on") // from these weights, which edges without a mean have none of
		mustRun(t, "train", "--statistics", path, "--model", "potts", "-q", "--force", "--init", out, "-o", on)
	}
	means(t, samples, path, math.NaN(), 300)
	run(t, "train", "--statistics", path, "--model", "potts", "-q", "--force", "--init", out, "-o", out+"less").
		wantFailure(t, 3, "there are means of 3 edges, and the model has weights of 4")
	mustRun(t, "train", "--statistics", path, "--model", "potts", "-q", "--force", "-o", out)
	means(t, samples, path, 0, 300)
	mustRun(t, "train", "--statistics", path, "--model", "potts", "-q", "--init", out, "--force", "-o", out+"less").
		says(t, "the initial model has weights of 3 of 4 edges: means of others are left out")
}

// TestWeightsOfStatistics: the gradient of the objective that the how-to gives is zero where statistics of different
// numbers of observations end, in which the prior of each counts as that of its own.
func TestWeightsOfStatistics(t *testing.T) {
	t.Parallel()
	dir, table, of := t.TempDir(), []float64{0.25, 0.15, 0.15, 0.45}, []float64{1, 500, 1}
	path, out := filepath.Join(dir, "means.npz"), filepath.Join(dir, "run")
	tables := slices.Repeat(table, 3)
	write := func(more ...arrayfile.Array) {
		oracle.OK(t, arrayfile.WriteArchive(path, append(more, arrayfile.ArrayOf("edges", []int32{0, 1, 1, 2, 2, 3}, 3, 2),
			arrayfile.ArrayOf("edge_means", tables, 3, 2, 2), arrayfile.ArrayOf("directed", []int32{1}))...))
	}
	train := []string{"train", "--statistics", path, "--model", "potts", "--tol", "1e-9", "-q", "--force", "-o", out}
	weights := []float64{30, 0, 2, 700}
	write(arrayfile.ArrayOf("edge_weights", of, 3), arrayfile.ArrayOf("node_weights", weights, 4),
		arrayfile.ArrayOf("node_means", slices.Repeat([]float64{0.4, 0.6}, 4), 4, 2))
	for _, method := range []string{"exact", "bbpl", "inner-dual"} {
		if o := mustRun(t, append(train, "--method", method)...); strings.Contains(o.stderr, "of how many") {
			t.Errorf("weights are given, and it says\n%s", o.stderr)
		}
		theta := oracle.Must(job.LoadModel(out))(t).Model.Weights
		nodes, edges := oracle.Marginals(&mrf.Pairwise{
			Graph: oracle.Must(graph.FromEdges(4, []int32{0, 1, 2}, []int32{1, 2, 3}))(t), Card: []int32{2, 2, 2, 2},
			Node: theta[:8], NodeAt: []int{0, 2, 4, 6, 8}, Edge: theta[8:], EdgeAt: []int{0, 4, 8, 12}})
		at := 0
		check := func(marginals, means []float64, of float64) {
			for x, p := range marginals {
				if d := p - means[x] + theta[at]/of; math.Abs(d) > 1e-8 {
					t.Errorf("%s: derivative %d is %v", method, at, d)
				}
				at++
			}
		}
		for s, p := range nodes {
			check(p, []float64{0.4, 0.6}, cmp.Or(weights[s], max(of[max(0, s-1)], of[min(2, s)])))
		}
		for e, p := range edges {
			check(p, table, of[e])
		}
	}
	copy(tables, []float64{0.4, 0, 0, 0.6, 0.25, 0.15, 0.15, 0.45, 0.35, 0.1, 0.1, 0.45}) // the last differs by chance
	write(arrayfile.ArrayOf("edge_weights", []float64{1e4, 1, 1}, 3))
	mustRun(t, append(train, "--method", "exact")...)
	best := oracle.Must(job.LoadModel(out))(t).Model.Weights
	var found trainResult
	mustRun(t, append(train, "--method", "exact", "--max-passes", "40", "--json")...).json(t, &found)
	far := numeric.RelativeDistance(oracle.Must(job.LoadModel(out))(t).Model.Weights, best) * numeric.Norm(best)
	if !(far < found.WeightsWithin && found.WeightsWithin < 1000*far) {
		t.Errorf("the weights are %v from the optimum, said to be within %v", far, found.WeightsWithin)
	}
	write(arrayfile.ArrayOf("node_weights", []float64{1, 1, 1, 1}, 4))
	run(t, train...).wantFailure(t, 3, "there are no node_means")
}
