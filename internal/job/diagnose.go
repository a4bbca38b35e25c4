package job

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/stretch"
	"github.com/blockbp/blockbp/learn"
)

const (
	// unequalScales is the ratio of the largest to the smallest root mean square of
	// features that is told: l2 then holds their weights back by its square unequally.
	unequalScales = 100
	// sameDirection is how far two normalised features may be apart and yet count as
	// one: rounding only.
	sameDirection = 1e-9
	// unsettledTold is the change of a message in the last pass of a check that is told
	// of: the check that a limit ends is short, and leaves smaller ones as a rule.
	unsettledTold = 0.01
	// mostNamed bounds how many features or states one text names.
	mostNamed = 3
)

// dataNotes says what in the data will make learning hard or its result meaningless, each
// with what to do about it: features of very different scale, features that are zero,
// constant or copies of others, and, without l2, states without a label, of which
// package dataset warns in any case. It reads every feature once. averaged says that features
// of nodes are means, of which users know nothing: only edges are looked at.
func dataNotes(p learn.Problem, averaged bool) []string {
	return slices.Concat(labelNotes(p), featureNotes(p, averaged))
}

// labelNotes is the part of dataNotes that reads labels alone.
func labelNotes(p learn.Problem) []string { return noOptimum(p) }

// featureNotes is the part of dataNotes that reads features.
func featureNotes(p learn.Problem, averaged bool) (texts []string) {
	add := func(c *featureColumns, copies int, node bool, t int) {
		if copies == 0 {
			c.l2 = p.L2
			c.read(p.Data, node, t)
			texts = append(texts, c.texts()...)
		}
	}
	for a, t := range p.Model.Schema.NodeTypes {
		if averaged {
			break
		}
		add(newFeatureColumns(fmt.Sprintf("node type %q", t.Name), "states", t.FeatureNames, t.Features), t.Copies, true, a)
	}
	for b, t := range p.Model.Schema.EdgeTypes {
		add(newFeatureColumns(fmt.Sprintf("edge type %q", t.Name), "pairs of states", t.FeatureNames, t.Features), t.Copies,
			false, b)
	}
	return texts
}

// featureColumns are statistics of the features of one type.
type featureColumns struct {
	where   string
	states  string // what a weight is of: states of a node, or pairs of them
	l2      float64
	names   []string
	rows    int
	squares []float64
	least   []float64
	most    []float64
	// shadow is the product of each feature with two random vectors: those of copies
	// are equal, up to sign and norm.
	shadow [2][]float64
	hot    bool // one-hot rows: bins, of which nothing is to be said
	// seen counts the entries of sparse rows, which alone are gone through; nil: rows are
	// dense. Features that are 1 in these are indicators: they are rare and not small, and
	// that some always occur together, such as a word and its ending, is no fault.
	seen []int
}

func newFeatureColumns(where, states string, names []string, n int) *featureColumns {
	c := &featureColumns{where: where, states: states, names: names, squares: make([]float64, n), least: make([]float64, n),
		most: make([]float64, n)}
	c.shadow = [2][]float64{make([]float64, n), make([]float64, n)}
	for j := range n {
		c.least[j], c.most[j] = math.Inf(1), math.Inf(-1)
	}
	return c
}

// read goes over all nodes or edges of a type.
func (c *featureColumns) read(data []*crf.Instance, node bool, t int) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := make([]float64, len(c.squares))
	for _, in := range data {
		features, typeOf, rowOf, n := in.EdgeFeatures, in.EdgeType, in.EdgeRow, in.Graph.NumEdges()
		if node {
			features, typeOf, rowOf, n = in.NodeFeatures, in.NodeType, in.NodeRow, in.Graph.NumNodes()
		}
		f := features(t)
		c.hot = c.hot || ground.Tables(f) > 0
		if c.hot || len(row) == 0 {
			return
		}
		if f.Data().Start != nil {
			c.readSparse(f, typeOf, rowOf, n, t, rng)
			continue
		}
		if m, ok := f.Data().Computed.(*stretch.Map); ok { // what is so of all cells is so of what is between
			var scratch []float32
			for cell := range int32(m.NumCells()) {
				m.Read(row, []int32{cell}, &scratch)
				c.add(row, rng)
			}
			continue
		}
		for i := range int32(n) {
			if typeOf(i) == t {
				f.Row(row, rowOf(i))
				c.add(row, rng)
			}
		}
	}
}

// add takes in a row of features.
func (c *featureColumns) add(row []float64, rng *rand.Rand) {
	c.rows++
	first, second := rng.NormFloat64(), rng.NormFloat64()
	for j, x := range row {
		c.least[j], c.most[j] = min(c.least[j], x), max(c.most[j], x)
		if x != 0 {
			c.squares[j] += x * x
			c.shadow[0][j] += first * x
			c.shadow[1][j] += second * x
		}
	}
}

// readSparse goes over the entries that are kept.
func (c *featureColumns) readSparse(f *crf.Features, typeOf func(int32) int, rowOf func(int32) int, n, t int, rng *rand.Rand) {
	if c.seen == nil {
		c.seen = make([]int, len(c.squares))
	}
	for i := range int32(n) {
		if typeOf(i) != t {
			continue
		}
		c.rows++
		first, second := rng.NormFloat64(), rng.NormFloat64()
		for j, x := range f.Entries(rowOf(i)) {
			c.seen[j]++
			c.least[j], c.most[j] = min(c.least[j], x), max(c.most[j], x)
			c.squares[j] += x * x
			c.shadow[0][j] += first * x
			c.shadow[1][j] += second * x
		}
	}
}

func (c *featureColumns) texts() []string {
	if c.hot || c.rows < 2 {
		return nil
	}
	for j, seen := range c.seen {
		if c.least[j] == 1 && c.most[j] == 1 {
			c.shadow[0][j], c.shadow[1][j] = 0, 0
		}
		if seen < c.rows {
			c.least[j], c.most[j] = min(c.least[j], 0), max(c.most[j], 0)
		}
	}
	var texts []string
	for _, text := range []string{c.unequal(), c.zero(), c.constants(), c.copies()} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// name is how users know a feature.
func (c *featureColumns) name(j int) string {
	if j < len(c.names) {
		return fmt.Sprintf("%q", c.names[j])
	}
	return fmt.Sprintf("number %d", j)
}

func (c *featureColumns) scale(j int) float64 {
	if c.seen != nil {
		return math.Sqrt(c.squares[j] / float64(max(1, c.seen[j])))
	}
	return math.Sqrt(c.squares[j] / float64(c.rows))
}

func (c *featureColumns) constant(j int) bool { return c.least[j] == c.most[j] }

// unequal tells of features of very different scale. Constants are left out: a bias
// of 1 beside small features is no fault.
func (c *featureColumns) unequal() string {
	small, large := -1, -1
	for j := range c.squares {
		if c.squares[j] == 0 || c.constant(j) {
			continue
		}
		if small < 0 || c.scale(j) < c.scale(small) {
			small = j
		}
		if large < 0 || c.scale(j) > c.scale(large) {
			large = j
		}
	}
	if small < 0 || !(c.scale(large) > unequalScales*c.scale(small)) {
		return ""
	}
	return fmt.Sprintf("features of %s differ in scale: %s has root mean square %.3g, %s has %.3g. Automatic steps "+
		"cope, but the same l2 holds the weights of the smallest back %.2g times as hard: divide each feature by its "+
		"standard deviation",
		c.where, c.name(large), c.scale(large), c.name(small), c.scale(small), math.Pow(c.scale(large)/c.scale(small), 2))
}

// zero tells of features that are zero everywhere.
func (c *featureColumns) zero() string {
	var list []int
	for j, x := range c.squares {
		if x == 0 {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("of %s the feature %s is zero everywhere: nothing can be learned of it, and its weights stay as "+
		"they are; leave it out", c.where, c.list(list))
}

// constants tells of features that have one value everywhere. One that is 1 is meant as a
// bias, and of two of them copies tells.
func (c *featureColumns) constants() string {
	var list []int
	for j := range c.squares {
		if c.constant(j) && c.least[j] != 0 && c.least[j] != 1 {
			list = append(list, j)
		}
	}
	if len(list) != 1 || c.constantBeside(list[0]) {
		return ""
	}
	j, held := list[0], ""
	if square := c.least[j] * c.least[j]; c.l2 > 0 && square != 1 {
		held = fmt.Sprintf(", and the same l2 holds them back %.2g times as hard as those of a feature of 1", 1/square)
	}
	return fmt.Sprintf("of %s the feature %s is %.3g everywhere: its weights can only say how frequent %s are%s; make "+
		"it 1 if it is meant for that, and look where it comes from if it is not", c.where, c.name(j), c.least[j],
		c.states, held)
}

// constantBeside reports whether a feature before or after j is constant, too.
func (c *featureColumns) constantBeside(j int) bool {
	for i := range c.squares {
		if i != j && c.constant(i) && c.least[i] != 0 {
			return true
		}
	}
	return false
}

func (c *featureColumns) list(all []int) string {
	var names []string
	for _, j := range all {
		names = append(names, c.name(j))
	}
	return some(names, " (and %d more)")
}

// some lists the first of some names, and then how many more there are.
func some(names []string, more string) string {
	text := strings.Join(names[:min(mostNamed, len(names))], ", ")
	if n := len(names) - mostNamed; n > 0 {
		text += fmt.Sprintf(more, n)
	}
	return text
}

// copies tells of features that are multiples of others.
func (c *featureColumns) copies() string {
	var pairs []string
	// Copies have the same cosine with the first random vector, so only neighbours in the
	// order of cosines are compared: there may be many features.
	used, cosine := make([]int, 0, len(c.squares)), make([]float64, len(c.squares))
	for j, square := range c.squares {
		if square > 0 && (c.shadow[0][j] != 0 || c.shadow[1][j] != 0) { // not of indicators
			used, cosine[j] = append(used, j), math.Abs(c.shadow[0][j])/math.Sqrt(square)
		}
	}
	byCosine := slices.Clone(used)
	slices.SortStableFunc(byCosine, func(i, j int) int { return cmp.Compare(cosine[i], cosine[j]) })
	for _, j := range used {
		reach := 2 * sameDirection * (1 + cosine[j])
		first, _ := slices.BinarySearchFunc(byCosine, cosine[j]-reach,
			func(i int, x float64) int { return cmp.Compare(cosine[i], x) })
		for _, i := range byCosine[first:] {
			if cosine[i] > cosine[j]+reach {
				break
			}
			if i >= j || !c.same(i, j) {
				continue
			}
			text := "%s is a multiple of %s"
			if c.constant(i) {
				text = "%s is constant, as %s is"
			}
			pairs = append(pairs, fmt.Sprintf(text, c.name(j), c.name(i)))
			break
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprintf("of %s the feature %s: the data cannot tell their weights apart, and only l2 decides how they "+
		"share; leave one of them out", c.where, some(pairs, " (and %d more)"))
}

// same reports whether a feature is a multiple of another.
func (c *featureColumns) same(i, j int) bool {
	if c.squares[i] == 0 || c.squares[j] == 0 {
		return false
	}
	size := math.Sqrt(c.squares[i]) * math.Sqrt(c.squares[j])
	sign := 1.0
	if c.shadow[0][i]*c.shadow[0][j] < 0 {
		sign = -1
	}
	for _, s := range c.shadow {
		x, y := s[i]*math.Sqrt(c.squares[j]), sign*s[j]*math.Sqrt(c.squares[i])
		if math.Abs(x-y) > sameDirection*(size+math.Abs(x)) {
			return false
		}
	}
	return true
}

// noOptimum tells of states that no label has where nothing regularises: the likelihood
// grows for ever as their weights fall.
func noOptimum(p learn.Problem) []string {
	if p.L2 > 0 {
		return nil
	}
	var names []string
	for a, t := range p.Model.Schema.NodeTypes {
		for _, u := range unseen(p.Data, a, &t) {
			name := fmt.Sprintf("state %q of node type %q", t.States[u.state], t.Name)
			if t.Copies > 0 {
				name += fmt.Sprintf(" at its node %d", u.row)
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("{l2=0}, and no label has %s: nothing keeps their weights from falling without end; "+
		"give {l2} a positive value, or leave such states out of the data", some(names, " and %d more"))}
}

// unseenState is a state that no label has.
type unseenState struct {
	row   int // of untied weights, else 0
	state int
}

// unseen lists the states of a node type, of each of its copies, that no label has. Of
// nodes without any label nothing is asked.
func unseen(data []*crf.Instance, nodeType int, t *crf.NodeType) (list []unseenState) {
	if t.Features == 0 {
		return nil
	}
	counts := make([]int, max(1, t.Copies)*len(t.States)) // [copy][state]
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y == crf.Unobserved || in.NodeType(int32(s)) != nodeType {
					continue
				}
				at := int(y)
				if t.Copies > 0 {
					at += in.NodeRow(int32(s)) * len(t.States)
				}
				counts[at]++
			}
		}
	}
	for row := range max(1, t.Copies) {
		labels := counts[row*len(t.States):][:len(t.States)]
		for state, n := range labels {
			if n == 0 && slices.Max(labels) > 0 {
				list = append(list, unseenState{row, state})
			}
		}
	}
	return list
}

func quotedNames(names []string) (texts []string) {
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%q", name))
	}
	return texts
}

// resultNotes says what a result shows to be wrong with data or settings, each with what to
// do about it.
func resultNotes(r *learn.Result) []string {
	var texts []string
	if r.Separable {
		texts = append(texts, fmt.Sprintf("l2 is 0 and the data are separable: the model gives every sample of labels "+
			"more than half of its probability (objective %.3g), so that the objective would fall for ever as the weights "+
			"grow, and these weights are only where the run stopped; give l2 a positive value", r.Objective))
	}
	if len(r.Seeded) > 0 {
		texts = append(texts, fmt.Sprintf("labels leave some states of node type %s alike, as states that no label has: "+
			"their weights began at small random numbers of {seed}, which decides what each state comes to stand for, and "+
			"may decide which of several optima is reached; compare the objectives of a few seeds",
			some(quotedNames(r.Seeded), " and %d more")))
	}
	if r.AtStart {
		texts = append(texts, atStart(r))
	}
	switch {
	case r.Unsettled == "" || r.Residual <= unsettledTold:
	case r.Status == learn.TimeLimit:
		texts = append(texts, fmt.Sprintf("the time limit ended the final check while messages in %s still changed by "+
			"%.3g, so that the objective and what is said of it are approximate; go on with a longer {max-time}",
			r.Unsettled, r.Residual))
	default:
		remedy := "use counting numbers that are convex"
		switch {
		case r.ConvexCounting && (r.Status == learn.PassLimit || r.Status == learn.IterationLimit):
			remedy = "messages need more passes: raise {max-passes}"
		case r.ConvexCounting: // it has ended by a rule of its own
			remedy = "messages need more passes: {rtol=1e-5} makes them"
		}
		texts = append(texts, fmt.Sprintf("inference did not settle: messages in %s still changed by %.3g, so that values "+
			"and beliefs there are approximate; %s, or use a larger l2 or smaller features", r.Unsettled, r.Residual, remedy))
	}
	if r.Damping > 0 {
		texts = append(texts, fmt.Sprintf("messages circled instead of settling, and were damped by %.2g; counting "+
			"numbers without negative c_s need no damping and learn faster here", r.Damping))
	}
	return texts
}

// atStart says that a run has not left the weights that it began with.
func atStart(r *learn.Result) string {
	remedy := map[learn.Status]string{
		learn.TimeLimit:      "go on with a longer {max-time}",
		learn.PassLimit:      "go on with more {max-passes}",
		learn.IterationLimit: "go on with a larger {max-iter}",
	}[r.Status]
	if r.Iterations == 0 {
		return "a limit ended the run before its first step, so that the model has the weights that the run began with; " +
			"" + remedy
	}
	if !r.ConvexCounting {
		remedy += ", or use counting numbers that are convex"
	}
	return fmt.Sprintf("a limit ended the run after %d iterations, none of which is known to have made the objective "+
		"smaller, so that the model has the weights that the run began with; %s", r.Iterations, remedy)
}
