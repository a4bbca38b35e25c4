//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/safetensors"
)

var numbers = attack{
	name: "numbers", about: "answers and objectives against enumeration", full: 500, short: 24, share: 3,
	setup: func(*campaign, string) (func(t *trial), error) {
		return func(t *trial) {
			if t.n%6 == 5 {
				trainOnTrees(t)
			} else {
				inferNetwork(t)
			}
		}, nil
	},
}

// network is a small network with explicit tables.
type network struct {
	card    []int
	scopes  [][]int
	tables  [][]float64
	held    map[int]int
	isATree bool // no two paths between variables
}

// drawNetwork draws a network of at most 12 variables: a forest or not, with factors of
// one to three variables, zeros in some, and observed variables in some.
func drawNetwork(rng *rand.Rand) *network {
	n := &network{held: map[int]int{}, isATree: rng.IntN(2) == 0}
	for range 2 + rng.IntN(11) {
		n.card = append(n.card, 1+rng.IntN(3)+rng.IntN(2))
	}
	zeros := rng.IntN(3) == 0
	for v := range n.card {
		if rng.IntN(2) == 0 {
			n.add(rng, zeros, v)
		}
		if v > 0 && rng.IntN(8) > 0 {
			scope := []int{rng.IntN(v), v}
			if rng.IntN(2) == 0 {
				slices.Reverse(scope)
			}
			n.add(rng, zeros, scope...)
		}
		if v > 1 && !n.isATree && rng.IntN(2) == 0 {
			scope := rng.Perm(v + 1)[:2+rng.IntN(2)]
			n.add(rng, zeros, scope...)
		}
		if rng.IntN(6) == 0 {
			n.held[v] = rng.IntN(n.card[v])
		}
	}
	return n
}

func (n *network) add(rng *rand.Rand, zeros bool, scope ...int) {
	size := 1
	for _, v := range scope {
		size *= n.card[v]
	}
	table := make([]float64, size)
	for i := range table {
		if table[i] = math.Exp(1.5 * rng.NormFloat64()); zeros && rng.IntN(10) == 0 {
			table[i] = 0
		}
	}
	n.scopes, n.tables = append(n.scopes, scope), append(n.tables, table)
}

// uai is the network as a file.
func (n *network) uai() string {
	var out strings.Builder
	fmt.Fprintf(&out, "MARKOV\n%d\n%s\n%d\n", len(n.card), plain(n.card), len(n.scopes))
	for _, scope := range n.scopes {
		fmt.Fprintf(&out, "%d %s\n", len(scope), plain(scope))
	}
	for _, table := range n.tables {
		fmt.Fprintf(&out, "%d\n%s\n", len(table), plain(table))
	}
	return out.String()
}

func plain[T any](values []T) string { return strings.Trim(fmt.Sprint(values), "[]") }

// evidence is what is held, as a file.
func (n *network) evidence() string {
	var out strings.Builder
	fmt.Fprint(&out, len(n.held))
	for v, s := range n.held {
		fmt.Fprintf(&out, " %d %d", v, s)
	}
	return out.String() + "\n"
}

// score is the product of all factors at a joint state, 0 where it is not what is held.
func (n *network) score(x []int) float64 {
	for v, s := range n.held {
		if x[v] != s {
			return 0
		}
	}
	product := 1.0
	for f, scope := range n.scopes {
		at := 0
		for _, v := range scope {
			at = at*n.card[v] + x[v]
		}
		product *= n.tables[f][at]
	}
	return product
}

// each goes through all joint states.
func each(card []int, visit func(x []int)) {
	x := make([]int, len(card))
	for {
		visit(x)
		v := len(x) - 1
		for ; v >= 0 && x[v] == card[v]-1; v-- {
			x[v] = 0
		}
		if v < 0 {
			return
		}
		x[v]++
	}
}

// sum enumerates Z, all marginals and the largest score.
func (n *network) sum() (z, best float64, marginals [][]float64) {
	for _, k := range n.card {
		marginals = append(marginals, make([]float64, k))
	}
	each(n.card, func(x []int) {
		p := n.score(x)
		z, best = z+p, max(best, p)
		for v, s := range x {
			marginals[v][s] += p
		}
	})
	for _, m := range marginals {
		for s := range m {
			m[s] /= z
		}
	}
	return z, best, marginals
}

// answer is what infer --json says.
type answer struct {
	LogZ      *float64 `json:"log_z"`
	ZIsZero   bool     `json:"z_is_zero"`
	Bound     string
	Converged bool
	Convex    bool
	Marginals [][]float64
	States    []int
	Energy    *float64
	Optimal   bool
}

const exactly, nearly = 1e-9, 1e-5

// inferNetwork holds every method of infer against enumeration.
func inferNetwork(t *trial) {
	n := drawNetwork(t.rng)
	t.write("net.uai", []byte(n.uai()))
	t.write("net.evid", []byte(n.evidence()))
	z, best, marginals := n.sum()
	ask := func(args ...string) *answer {
		r := t.run(append([]string{"infer", "net.uai", "--json", "--evidence", "net.evid"}, args...)...)
		if z == 0 && r.code != 0 {
			return nil
		}
		a := &answer{}
		if err := json.Unmarshal([]byte(r.stdout), a); r.code != 0 || err != nil {
			t.failf("%s: exit code %d, want 0: %v %s", r.line, r.code, err, cut(r.stderr, 300))
		}
		if z == 0 && !a.ZIsZero && (a.Bound == "exact" || a.Bound == "lower" || a.Optimal) {
			t.failf("%s: there is no state of positive probability, and it says %s", r.line, cut(r.stdout, 300))
		}
		return a
	}
	if z == 0 {
		ask("--method", "exact")
		ask()
		ask("--task", "MPE")
		return
	}
	logZ := math.Log(z)
	near := func(what string, got *float64, want, tolerance float64) {
		if got == nil || math.Abs(*got-want) > tolerance*max(1, math.Abs(want)) {
			t.failf("%s is %v, want %v by enumeration", what, show(got), want)
		}
	}
	sameMarginals := func(what string, got [][]float64, tolerance float64) {
		for v := range marginals {
			for s, want := range marginals[v] {
				if v >= len(got) || s >= len(got[v]) || !(math.Abs(got[v][s]-want) <= tolerance) {
					t.failf("%s: the marginal of state %d of variable %d is another than %v by enumeration: %v", what, s, v, want, got)
				}
			}
		}
	}
	near("log Z by exact inference", ask("--method", "exact").LogZ, logZ, exactly)
	sameMarginals("exact inference", ask("--task", "MAR", "--method", "exact").Marginals, exactly)
	counting := []string{"convex", "trw", "bethe"}[t.rng.IntN(3)]
	bp := ask("--counting", counting)
	holds(t, "bp with "+counting+" counting numbers", bp, logZ)
	if n.isATree && bp.Converged && counting != "convex" {
		near("log Z by bp with "+counting+" counting numbers on a forest", bp.LogZ, logZ, nearly)
		sameMarginals("bp on a forest", ask("--task", "MAR", "--counting", counting).Marginals, nearly)
	}
	if n.pairwise() {
		holds(t, "mean field", ask("--method", "mean-field", "--seed", strconv.Itoa(t.n)), logZ)
	}
	mpe := ask("--task", "MPE")
	if len(mpe.States) != len(n.card) {
		t.failf("the most probable state has %d variables, want %d", len(mpe.States), len(n.card))
	}
	got := n.score(mpe.States)
	switch {
	case got == 0:
		t.failf("the most probable state %v has probability 0", mpe.States)
	case mpe.Optimal && got < best*(1-exactly):
		t.failf("the most probable state %v is called optimal, and has %v of the probability of the best", mpe.States, got/best)
	case mpe.Energy != nil && math.Abs(math.Abs(*mpe.Energy)-math.Abs(math.Log(got))) > exactly*max(1, math.Abs(math.Log(got))):
		t.failf("the energy of the most probable state %v is %v, want ±%v", mpe.States, *mpe.Energy, math.Log(got))
	}
}

func (n *network) pairwise() bool {
	return !slices.ContainsFunc(n.scopes, func(scope []int) bool { return len(scope) > 2 })
}

// holds compares a bound with what it bounds.
func holds(t *trial, what string, a *answer, logZ float64) {
	slack := nearly * max(1, math.Abs(logZ))
	switch {
	case a.LogZ == nil:
		t.failf("%s gives no log Z, and it is %v", what, logZ)
	case a.Bound == "upper" && *a.LogZ < logZ-slack:
		t.failf("%s: log Z ≤ %v, and by enumeration it is %v", what, *a.LogZ, logZ)
	case a.Bound == "lower" && *a.LogZ > logZ+slack:
		t.failf("%s: log Z ≥ %v, and by enumeration it is %v", what, *a.LogZ, logZ)
	case a.Bound == "exact" && math.Abs(*a.LogZ-logZ) > slack:
		t.failf("%s: log Z = %v, and by enumeration it is %v", what, *a.LogZ, logZ)
	}
}

func show(x *float64) any {
	if x == nil {
		return "null"
	}
	return *x
}

// trainOnTrees learns on small forests, where belief propagation is exact, and holds the
// objective against enumeration, at the weights that were learned.
func trainOnTrees(t *trial) {
	const d = 2
	states, l2 := 2+t.rng.IntN(2), []float64{0.01, 0.1, 1}[t.rng.IntN(3)]
	var all []*labelled
	for i := range 1 + t.rng.IntN(3) {
		one := drawLabelled(t.rng, states, d)
		all = append(all, one)
		t.write(fmt.Sprintf("data/%d.npz", i), one.file(states))
	}
	method := []string{"bbpl", "full", "inner-dual"}[t.rng.IntN(3)]
	t.works("train", "data", "-o", "r", "-q", "--report=false", "--counting", "bethe", "--method", method, "--l2", fmt.Sprint(l2), "--rtol", "1e-8")
	node, edge := weights(t, "r/model.safetensors")
	squares, sum := 0.0, 0.0
	for _, w := range slices.Concat(node, edge) {
		squares += w * w
	}
	for _, one := range all {
		sum += one.loss(node, edge, states, d)
	}
	var got struct{ Objective float64 }
	t.must(json.Unmarshal(t.read("r/result.json"), &got))
	want := sum/float64(len(all)) + l2/2*squares
	if math.Abs(got.Objective-want) > nearly*max(1, math.Abs(want)) {
		t.failf("the objective of --method %s on forests is %v, want %v by enumeration", method, got.Objective, want)
	}
}

// labelled is a forest with features and labels.
type labelled struct {
	edges  []int
	x      []float64
	labels []int
}

func drawLabelled(rng *rand.Rand, states, d int) *labelled {
	n := 2 + rng.IntN(7)
	one := &labelled{x: features(rng, n, d)}
	for v := range n {
		one.labels = append(one.labels, rng.IntN(states))
		if v > 0 {
			one.edges = append(one.edges, rng.IntN(v), v)
		}
	}
	return one
}

func (l *labelled) file(states int) []byte {
	n := len(l.labels)
	return npz(ints("edges", []int{len(l.edges) / 2, 2}, l.edges), floats("node_features", []int{n, len(l.x) / n}, l.x),
		ints("labels", []int{n}, l.labels), ints("states", nil, []int{states}))
}

// loss is log Z less the score of the labels.
func (l *labelled) loss(node, edge []float64, states, d int) float64 {
	score := func(x []int) (sum float64) {
		for v, s := range x {
			for i := range d {
				sum += node[s*d+i] * l.x[v*d+i]
			}
		}
		for e := 0; e < len(l.edges); e += 2 {
			sum += edge[x[l.edges[e]]*states+x[l.edges[e+1]]]
		}
		return sum
	}
	card := make([]int, len(l.labels))
	for i := range card {
		card[i] = states
	}
	z := 0.0
	each(card, func(x []int) { z += math.Exp(score(x)) })
	return math.Log(z) - score(l.labels)
}

// weights reads a model of one type of nodes and one of edges.
func weights(t *trial, name string) (node, edge []float64) {
	f, err := safetensors.Open(filepath.Join(t.dir, name))
	t.must(err)
	defer f.Close()
	node, err = safetensors.Read[float64](f, "node.node")
	t.must(err)
	edge, err = safetensors.Read[float64](f, "edge.edge")
	t.must(err)
	return node, edge
}
