package job

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/standardise"
)

// The values of Options.Edges, the last three with a strength.
const (
	edgesAuto     = "auto"
	edgesTogether = "together"
	edgesPotts    = "potts"
	edgesBalanced = "balanced"
	edgesMoments  = "moments"
	noEdges       = edgesPotts + ":0"
)

// edgeRule makes the weights of edges, on their constant feature, of a model of nodes. With potts, the strength is
// the weight of equal states, of edges that weigh as much as the mean, and grows with what they weigh. With balanced,
// it is the factor of that weight which couplings justifies for each edge. With moments, weights are those with which
// beliefs of edges would be the mean ones that labels and the model of nodes tell of (pseudo-moment matching:
// Wainwright, Jaakkola and Willsky, 2003), that is log p(a, b)/(p(a) p(b)), but for a factor: the strength is the
// largest weight less the smallest. Means of uncertain beliefs are closer to independence than states are, so that the
// factor is not known.
type edgeRule struct {
	name     string // edgesPotts, edgesBalanced or edgesMoments; else weights are learned, or as they are
	strength float64
	power    float64 // that beliefs are taken to, and normalised; 0: 1
}

// parseEdges reads Options.Edges.
func parseEdges(text string) (rule edgeRule, err error) {
	asked := text
	text, power, powered := strings.Cut(text, "^")
	if powered {
		if rule.power, err = strconv.ParseFloat(power, 64); err != nil || !(rule.power > 0 && rule.power < math.MaxFloat64) {
			return edgeRule{}, usagef("{edges} %s^%s: want a power of beliefs above 0, such as %s^2", text, power, text)
		}
	}
	name, number, _ := strings.Cut(text, ":")
	if rule.name = name; text == edgesAuto && !powered || text == edgesTogether {
		return rule, nil
	}
	rule.strength, err = strconv.ParseFloat(number, 64)
	finite := err == nil && !math.IsInf(rule.strength, 0) && !math.IsNaN(rule.strength)
	if !rule.makes() || !finite || name == edgesMoments && rule.strength < 0 {
		return edgeRule{}, usagef("{edges} %q: want auto or together; or potts:J with the weight of equal states, such as "+
			"potts:0.5, or balanced:S, S times what the degrees of an edge's ends justify, such as balanced:1, "+
			"or moments:S with how far weights are apart, such as moments:1, and behind these ^P for beliefs to the power P",
			asked)
	}
	return rule, nil
}

// makes reports whether the rule makes weights of edges, which are learned otherwise.
func (r edgeRule) makes() bool {
	return slices.Contains([]string{edgesPotts, edgesBalanced, edgesMoments}, r.name)
}

// validateEdges refuses rules for edges beside what needs edges that are learned.
func (o *Options) validateEdges() error {
	rule, err := parseEdges(o.Edges)
	if err != nil || !rule.makes() {
		return err
	}
	for _, c := range []struct {
		name option.Text
		used bool
	}{{"{no-edges}", o.NoEdges}, {option.Text("{model=" + o.Physics + "}"), o.Physics != ""},
		{option.Text("{errors=" + o.Errors + "}"), o.Errors != errorsNone}} {
		if c.used {
			return usagef("{edges=%s} and %s do not go together: weights of edges are made by a rule, not learned", o.Edges,
				c.name)
		}
	}
	return nil
}

// String is the rule as Options.Edges has it.
func (r edgeRule) String() string {
	if r.name == edgesAuto { // nothing was chosen, and edges are learned
		return ""
	}
	text := r.name
	if r.makes() {
		text += ":" + strconv.FormatFloat(r.strength, 'g', -1, 64)
	}
	if r.power != 0 && r.power != 1 {
		text += "^" + strconv.FormatFloat(r.power, 'g', -1, 64)
	}
	return text
}

// bare reports whether nodes have no features but a constant one.
func (p *Prepared) bare() bool {
	for a, t := range p.Problem.Model.Schema.NodeTypes {
		features := func(in *crf.Instance) *crf.Features { return in.NodeFeatures(a) }
		if t.Features > 1 || t.Features == 1 && len(constantOf(1, p.Problem.Data, features)) == 0 {
			return false
		}
	}
	return true
}

// justified is the rule for labels that are too few to choose one by, of neighbours that are alike. Its couplings have
// the order of beliefs right, and these are too even: hence the power. It lets one labelled neighbour, over an edge as
// the mean is, claim no more than exp(2.5), 12 to 1: where states are many and degrees small, couplings are large, and
// beliefs would be far too sure if neighbours differ.
func justified(data []*crf.Instance, scale *standardise.Map) edgeRule {
	const mostPower, mostOdds = 4, 2.5
	return edgeRule{edgesBalanced, 1, rounded(min(mostPower, mostOdds/meanCoupling(data, scale)), 2)}
}

// meanCoupling is the mean of couplings; 0 without edges.
func meanCoupling(data []*crf.Instance, scale *standardise.Map) float64 {
	sum, edges := 0.0, 0
	for _, in := range data {
		edges += in.Graph.NumEdges()
		for _, coupling := range couplings(in, scale) {
			sum += coupling
		}
	}
	return sum / float64(max(1, edges))
}

// couplings are the weights of equal states, of each edge of a network on a scale, that neighbours who are alike
// justify:
//
//	(exp(J) − 1)/(exp(J) − 1 + K) = θ,   θ = 0.8 w/√(w_u w_v),
//
// of K states, an edge that weighs w, and other edges of its ends u and v that weigh w_u and w_v, at least w. θ is how
// much of a small message an edge hands on. Were it w/√(w_u w_v), the matrix that hands on messages, along paths that
// never turn back, would have the largest eigenvalue 1, and sum-product would be about to give one state to all nodes
// (Decelle, Krzakala, Moore and Zdeborová, 2011). One J for all edges, that is no larger in the midst of hubs, is too
// small elsewhere.
func couplings(in *crf.Instance, scale *standardise.Map) []float64 {
	const spare = 0.8
	weights, around := slices.Repeat([]float64{1}, in.Graph.NumEdges()), make([]float64, in.Graph.NumNodes())
	found := weighings(in.Schema(), []*crf.Instance{in}, scale)
	us, vs := in.Graph.Ends()
	for e := range weights {
		if b := in.EdgeType(int32(e)); found[b] != (weighing{}) {
			weights[e] = max(0, found[b].of(in.EdgeFeatures(b), in.EdgeRow(int32(e))))
		}
		around[us[e]] += weights[e]
		around[vs[e]] += weights[e]
	}
	for e, w := range weights {
		if w > 0 {
			theta := spare * w / math.Sqrt(max(w, around[us[e]]-w)*max(w, around[vs[e]]-w))
			weights[e] = math.Log1p(float64(in.States(us[e])) * theta / (1 - theta))
		}
	}
	return weights
}

// balanced is the instance on a scale with features of edges times their couplings, as models of that rule take it.
func balanced(in *crf.Instance, scale *standardise.Map) (*crf.Instance, error) {
	spec, factors := in.Spec(), couplings(in, scale)
	rows := make([][]float64, len(spec.EdgeFeat))
	for b := range rows {
		f := in.EdgeFeatures(b)
		rows[b] = make([]float64, f.Rows()*f.Dim())
		for r := range f.Rows() {
			f.Row(rows[b][r*f.Dim():][:f.Dim()], r)
		}
	}
	for e, factor := range factors {
		b := in.EdgeType(int32(e))
		dim := in.EdgeFeatures(b).Dim()
		for j := range dim {
			rows[b][in.EdgeRow(int32(e))*dim+j] *= factor
		}
	}
	for b := range rows {
		var err error
		if spec.EdgeFeat[b], err = crf.Dense(rows[b], in.EdgeFeatures(b).Dim()); err != nil {
			return nil, err
		}
	}
	return crf.NewInstance(in.Schema(), spec)
}

// allBalanced are instances with features as they are, balanced.
func allBalanced(instances []*crf.Instance) (all []*crf.Instance, err error) {
	all = slices.Clone(instances)
	for i, in := range instances {
		if all[i], err = balanced(in, nil); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return all, nil
}

// fewLabels has edges made by what is justified where labels are too few for folds, and nothing else
// tells of nodes. It says so.
func (p *Prepared) fewLabels() string {
	if !p.hides() || !p.mostHidden() || !p.tooFew() || !p.bare() ||
		len(constantColumns(&p.Problem.Model.Schema, p.Problem.Data, edgesBalanced)) == 0 {
		return ""
	}
	chosen := Candidate{Edges: justified(p.Problem.Data, p.scale).String()}
	if p.asked.Prior == 0 && !p.asked.givesL2() {
		chosen.Prior = evenPrior
		p.Options.Prior = evenPrior
		p.Problem.L2 = p.Options.l2(sampleCount(p.Problem.Data))
	}
	p.Options.Edges = chosen.Edges
	return fmt.Sprintf("few labels: %d are too few to choose by, neighbours are taken to be alike, as far as degrees and "+
		"the number of states justify, and classes to be equally frequent: %s", len(knownLabels(p.Problem.Data[0])), chosen)
}

// separate has node weights learned without edges, where those are made by a rule.
func (p *Prepared) separate() error {
	var err error
	if p.rule, err = parseEdges(p.Options.Edges); err != nil || !p.rule.makes() {
		return err
	}
	if p.rule.strength != 0 && len(constantColumns(&p.Problem.Model.Schema, p.Problem.Data, p.rule.name)) == 0 {
		return usagef("{edges=%s}: no type of edges has weights that it could make: it needs a constant feature, tied "+
			"weights, and with potts or balanced one type of nodes at both ends", p.Options.Edges)
	}
	if p.rule.name == edgesBalanced {
		p.Evaluations = slices.Clone(p.Evaluations)
		for i, e := range p.Evaluations {
			own := *e
			if own.Instances, err = allBalanced(e.Instances); err != nil {
				return err
			}
			p.Evaluations[i] = &own
		}
	}
	p.whole, p.numbers = p.Problem.Data, p.Problem.Counting
	p.Problem.Counting = nil
	p.Problem.Data, err = onlyNodes(p.whole)
	return err
}

// onlyNodes are instances without edges. Of nodes most of whose labels may be hidden only those with one are left.
func onlyNodes(data []*crf.Instance) (alone []*crf.Instance, err error) {
	tied := !slices.ContainsFunc(data[0].Schema().NodeTypes, func(t crf.NodeType) bool { return t.Copies > 0 })
	for _, in := range data {
		nodes, s := in.WithoutEdges(), in.Samples()
		if tied && len(s) == 1 && slices.Contains(s[0], crf.Unobserved) && len(knownLabels(in)) > 0 {
			if nodes, err = labelledAlone(in, s[0]); err != nil {
				return nil, err
			}
		}
		alone = append(alone, nodes)
	}
	return alone, nil
}

// labelledAlone are the nodes with labels, without edges: those without have no share in the
// likelihood of node weights then, and would take nearly all of the time.
func labelledAlone(in *crf.Instance, labels []int32) (*crf.Instance, error) {
	spec := in.WithoutEdges().Spec()
	spec.NodeType, spec.Labels, spec.Rows, spec.Cols = []int32{}, [][]int32{nil}, 0, 0
	rows := make([][]int32, len(spec.NodeFeat))
	for s, y := range labels {
		if s := int32(s); y != crf.Unobserved {
			a := in.NodeType(s)
			spec.NodeType, spec.Labels[0] = append(spec.NodeType, int32(a)), append(spec.Labels[0], y)
			rows[a] = append(rows[a], int32(in.NodeRow(s)))
		}
	}
	for a := range spec.NodeFeat {
		spec.NodeFeat[a] = spec.NodeFeat[a].Pick(rows[a])
	}
	var err error
	if spec.Graph, err = graph.FromEdges(len(spec.NodeType), nil, nil); err != nil {
		return nil, err
	}
	return crf.NewInstance(in.Schema(), spec)
}

// networks are the data with their edges, on the scale that is learned with.
func (p *Prepared) networks() []*crf.Instance {
	if p.whole != nil {
		return p.whole
	}
	return p.Problem.Data
}

// counting makes the counting numbers that networks with edges are inferred with.
func (p *Prepared) counting() counting.Func {
	if p.whole != nil {
		return p.numbers
	}
	return p.Problem.Counting
}

// withEdges gives a model of nodes, on the scale that is learned with, the edges of the rule.
func (p *Prepared) withEdges(ctx context.Context, m *crf.Model) (*crf.Model, error) {
	if !p.rule.makes() {
		return m, nil
	}
	return p.rule.of(ctx, m, p.whole, p.scale)
}

// of makes the model with the rule's weights of edges, given the labels of data on a scale.
func (r edgeRule) of(ctx context.Context, nodes *crf.Model, data []*crf.Instance, scale *standardise.Map) (*crf.Model,
	error) {
	m, heavy := nodes.Clone(), map[int]weighing{}
	columns := constantColumns(&m.Schema, data, r.name)
	tables := make([][]float64, len(m.Schema.EdgeTypes))
	switch r.name {
	case edgesPotts, edgesBalanced:
		if r.name == edgesPotts {
			heavy = weighings(&m.Schema, data, scale)
		}
		for b := range columns {
			k := m.Schema.NodeStates(m.Schema.EdgeTypes[b].U)
			tables[b] = make([]float64, k*k)
			for a := range k {
				tables[b][a*k+a] = r.strength
			}
		}
	case edgesMoments:
		if err := moments(ctx, m, data, tables); err != nil {
			return nil, err
		}
		least, most := math.Inf(1), math.Inf(-1)
		for b := range columns {
			dependence(&m.Schema, b, tables[b])
			least, most = min(least, slices.Min(tables[b])), max(most, slices.Max(tables[b]))
		}
		for b := range columns {
			for i := range tables[b] {
				if most > least {
					tables[b][i] *= r.strength / (most - least)
				}
			}
		}
	default:
		return m, nil
	}
	for b, of := range columns {
		span := m.Layout.Edge[b]
		clear(m.Weights[span.At:][:span.Len])
		put := func(column int, factor float64) {
			for i, x := range tables[b] {
				m.Weights[span.At+column*span.States+i] = factor * x
			}
		}
		w, weigh := heavy[b]
		if !weigh {
			w.first = 1
		} else {
			put(w.column, w.slope)
		}
		for _, column := range of {
			put(column, w.first)
		}
	}
	return m, nil
}

// weightName is what a feature of edges is called that rules know: how much an edge counts.
const weightName = "weight"

// weightColumn is the number of that feature, −1 where there is none.
func weightColumn(t *crf.EdgeType) int {
	return slices.IndexFunc(t.FeatureNames, func(name string) bool { return strings.EqualFold(name, weightName) })
}

// weighing is what an edge weighs, over the mean of its type: first + slope x of the feature x of a column.
type weighing struct {
	column       int
	first, slope float64
}

func (w weighing) of(f *crf.Features, row int) float64 {
	all := make([]float64, f.Dim())
	f.Row(all, row)
	return w.first + w.slope*all[w.column]
}

// weighings are those of the types of edges whose data, on a scale, have weights, none of them negative.
func weighings(schema *crf.Schema, data []*crf.Instance, scale *standardise.Map) map[int]weighing {
	found := map[int]weighing{}
	for b, t := range schema.EdgeTypes {
		w := weighing{weightColumn(&t), 0, 1}
		if w.column < 0 || t.Copies > 0 {
			continue
		}
		mean, deviation := scale.Edge(b, w.column)
		sum, rows, least := 0.0, 0, math.Inf(1)
		for _, in := range data {
			f := in.EdgeFeatures(b)
			rows += f.Rows()
			for r := range f.Rows() {
				x := mean + deviation*w.of(f, r)
				sum, least = sum+x, min(least, x)
			}
		}
		const rounding = 1e-9
		if w.first, w.slope = mean*float64(rows)/sum, deviation*float64(rows)/sum; sum > 0 && least >= -rounding*sum {
			found[b] = w
		}
	}
	return found
}

// ruleNote says what a rule makes of features of edges, "" where there are none.
func (p *Prepared) ruleNote() string {
	if !p.rule.makes() || p.rule.strength == 0 {
		return ""
	}
	used, unused := "", []string(nil)
	heavy := weighings(&p.Problem.Model.Schema, p.whole, p.scale)
	for b, t := range p.Problem.Model.Schema.EdgeTypes {
		w, weigh := heavy[b]
		for j, name := range t.FeatureNames {
			if weigh && j == w.column && p.rule.name != edgesMoments {
				used = fmt.Sprintf("neighbours count by the %s of their edge, unless {columns=ignore=%[1]s}", name)
			} else if name != dataset.FormConstant {
				unused = append(unused, strconv.Quote(name))
			}
		}
	}
	if len(unused) == 0 || isBinned(p.whole[0].EdgeFeatures(0)) {
		return used
	}
	const text = "%s; {edges} %s takes no account of %s of edges: {columns=weight=NAME} names a column that says how " +
		"much an edge counts, and {edges=together} learns what others tell"
	return strings.TrimPrefix(fmt.Sprintf(text, used, p.rule, strings.Join(unused, ", ")), "; ")
}

// moments adds up, for every type of edges, the beliefs in pairs of states: products of those
// of nodes alone, and of labels where they are known.
func moments(ctx context.Context, nodes *crf.Model, data []*crf.Instance, tables [][]float64) error {
	for b := range tables {
		u, v := nodes.Schema.EdgeStates(b)
		tables[b] = make([]float64, u*v)
	}
	predictor := infer.Predictor{Model: nodes}
	for _, in := range data {
		beliefs, err := predictor.Predict(ctx, in.WithoutEdges(), nil)
		if err != nil {
			return err
		}
		of := func(s, y int32, into []float64) []float64 {
			into = append(into[:0], beliefs.Of(int(s))...)
			if y != crf.Unobserved {
				clear(into)
				into[y] = 1
			}
			return into
		}
		var first, second []float64
		ends, others := in.Graph.Ends()
		for _, labels := range in.Samples() {
			for e := range ends {
				u, v := ends[e], others[e]
				first, second = of(u, labels[u], first), of(v, labels[v], second)
				table := tables[in.EdgeType(int32(e))]
				for a, x := range first {
					for c, y := range second {
						table[a*len(second)+c] += in.Weight() * x * y
					}
				}
			}
		}
	}
	return nil
}

// dependence puts log p(a, b)/(p(a) p(b)) in the place of sums of beliefs in pairs of states a, b of a type, and 0
// where the schema forbids them. One edge more, of which nothing is known, keeps numbers finite.
func dependence(schema *crf.Schema, b int, table []float64) {
	t := &schema.EdgeTypes[b]
	u, v := schema.EdgeStates(b)
	all := 0.0
	for i := range table {
		table[i] += 1 / float64(len(table))
		all += table[i]
	}
	if t.Symmetric {
		for a := range u {
			for c := range a {
				mean := (table[a*u+c] + table[c*u+a]) / 2
				table[a*u+c], table[c*u+a] = mean, mean
			}
		}
	}
	rows, columns := make([]float64, u), make([]float64, v)
	for i, x := range table {
		rows[i/v] += x
		columns[i%v] += x
	}
	for i, x := range table {
		// to the bit the same for both orders
		table[i] = math.Log(x) - (math.Log(rows[i/v]) + math.Log(columns[i%v])) + math.Log(all)
		if slices.Contains(schema.NodeTypes[t.U].Forbidden, i/v) ||
			slices.Contains(schema.NodeTypes[t.V].Forbidden, i%v) || slices.Contains(t.Forbidden, [2]int{i / v, i % v}) {
			table[i] = 0
		}
	}
}

// constantColumns are the features of every tied type of edges whose sum is one for all of its edges, by type: a rule
// has no weights for others. Potts and balanced are for edges that join nodes of one type.
func constantColumns(schema *crf.Schema, data []*crf.Instance, rule string) map[int][]int {
	columns := map[int][]int{}
	for b, t := range schema.EdgeTypes {
		if t.Copies > 0 || rule != edgesMoments && t.U != t.V {
			continue
		}
		features := func(in *crf.Instance) *crf.Features { return in.EdgeFeatures(b) }
		if of := constantOf(t.Features, data, features); len(of) > 0 {
			columns[b] = of
		}
	}
	return columns
}

// isBinned reports whether every row has one feature of 1 and no other.
func isBinned(f *crf.Features) bool { return f.Data().Bins != nil && f.Data().Book == nil }

// constantOf are the features of which one is 1 in every row, of bins, or the last one that is 1 in every row.
func constantOf(dim int, data []*crf.Instance, of func(*crf.Instance) *crf.Features) (columns []int) {
	rows, bins, row := 0, true, make([]float64, dim)
	for _, in := range data {
		rows, bins = rows+of(in).Rows(), bins && isBinned(of(in))
	}
	for j := dim - 1; j >= 0 && rows > 0; j-- {
		other := func(in *crf.Instance) bool { // than 1, somewhere
			for r := range of(in).Rows() {
				if of(in).Row(row, r); row[j] != 1 {
					return true
				}
			}
			return false
		}
		if bins {
			columns = append(columns, j)
		} else if !slices.ContainsFunc(data, other) {
			return []int{j}
		}
	}
	return columns
}
