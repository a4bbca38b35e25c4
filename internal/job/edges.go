package job

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// The values of Options.Edges, the last three with a strength.
const (
	edgesAuto     = "auto"
	edgesTogether = "together"
	edgesPotts    = "potts"
	edgesBalanced = "balanced"
	edgesMoments  = "moments"
)

// together learns edges with nodes, and noEdges leaves node features alone.
var together, noEdges = edgeRule{name: edgesTogether}, edgeRule{name: edgesPotts}

// edgeRule makes the weights of edges, on their constant feature, of a model of nodes. With potts, the strength is
// the weight of equal states, of edges that weigh as much as the mean, and grows with what they weigh. With balanced,
// it is the factor of that weight which couplings justifies for each edge. With moments, it is how far weights of pairs
// of states are apart, log p(a, b)/(p(a) p(b)) of mean beliefs but for a factor.
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
	return r.name == edgesPotts || r.name == edgesBalanced || r.name == edgesMoments
}

// validateEdges refuses rules for edges beside what needs edges that are learned.
func (o *Options) validateEdges() error {
	rule, err := parseEdges(o.Edges)
	if err == nil && rule.makes() && (o.NoEdges || o.Physics != "" || o.WriteProof || o.Errors != errorsNone) {
		err = usagef("{edges=%s} goes with none of {no-edges}, {model}, {proof} and {errors}: a rule makes weights of "+
			"edges, which are not learned", o.Edges)
	}
	return err
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

// MarshalText makes it the text of a candidate.
func (r edgeRule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads that.
func (r *edgeRule) UnmarshalText(text []byte) (err error) {
	*r, err = parseEdges(string(text))
	return err
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
// the order of beliefs right, and these are too even: hence the power, which was 4 in the mean of many networks. Of n
// labels it is 4n/(n + 1), as equal beliefs, the power 0, are worth one label (the unit information of Kass and
// Wasserman, 1995). It lets one labelled neighbour claim no more than exp(2.5), 12 to 1, over an edge as the mean is.
func justified(in *crf.Instance) edgeRule {
	const usualPower, mostOdds = 4, 2.5
	n := float64(len(knownLabels(in)))
	return edgeRule{edgesBalanced, 1, rounded(min(usualPower*n/(n+1), mostOdds/meanCoupling(in)))}
}

// meanCoupling is the mean of couplings; 0 without edges.
func meanCoupling(in *crf.Instance) float64 {
	return numeric.Sum(couplings(in)) / float64(max(1, in.Graph.NumEdges()))
}

// couplings are the weights of equal states, of each edge of a network, that neighbours who are alike justify:
//
//	(exp(J) − 1)/(exp(J) − 1 + K) = θ,   θ = 0.8 w/√(w_u w_v),
//
// of K states, an edge that weighs w, and other edges of its ends u and v that weigh w_u and w_v, at least w. θ is how
// much of a small message an edge hands on. Were it w/√(w_u w_v), the matrix that hands on messages, along paths that
// never turn back, would have the largest eigenvalue 1, and sum-product would be about to give one state to all nodes
// (Decelle, Krzakala, Moore and Zdeborová, 2011). One J for all edges, that is no larger in the midst of hubs, is too
// small elsewhere. Edges to neighbours that u and v share close triangles, and hand on what has partly come already:
// these count half. Tree-reweighted messages across an edge that a share ρ of all spanning trees has, about
// w/w_u + w/w_v, are those of J/ρ. Where states and neighbours are many they would hand on nearly all, and one class
// would come to claim all nodes: there J lets them hand on at most 0.7 (results/README.md). Edges of forests hand
// on so much if they weigh 1 or more, however many meet: without cycles no path comes back.
func couplings(in *crf.Instance) []float64 {
	const spare, most = 0.8, 0.7
	weights, around := edgeWeights(in), make([]float64, in.Graph.NumNodes())
	us, vs := in.Graph.Ends()
	for e, w := range weights {
		around[us[e]] += w
		around[vs[e]] += w
	}
	forest := in.Graph.IsForest()
	for e, shared := range triangles(in.Graph, weights) {
		if w, u, v := weights[e], us[e], vs[e]; w > 0 {
			handing := func(theta float64) float64 { return math.Log1p(float64(in.States(u)) * theta / (1 - theta)) }
			weights[e] = handing(spare * w / math.Sqrt(max(w, around[u]-w-shared[0]/2)*max(w, around[v]-w-shared[1]/2)))
			if rho := w/around[u] + w/around[v]; forest {
				weights[e] = handing(most * min(1, w))
			} else if rho < 1 {
				weights[e] = min(weights[e], rho*handing(most))
			}
		}
	}
	return weights
}

// edgeWeights are what edges weigh, where a feature tells, and else 1.
func edgeWeights(in *crf.Instance) []float64 {
	weights := slices.Repeat([]float64{1}, in.Graph.NumEdges())
	weighed := carriers(in.Schema(), []*crf.Instance{in}, edgesPotts)
	var row []float64
	for e := range weights {
		b := in.EdgeType(int32(e))
		if of := weighed[b]; len(of) == 1 && of[0].weighs {
			row = slices.Grow(row[:0], in.EdgeFeatures(b).Dim())[:in.EdgeFeatures(b).Dim()]
			in.EdgeFeatures(b).Row(row, in.EdgeRow(int32(e)))
			if weights[e] = of[0].factor * row[of[0].column]; weights[e] < 1e-150 { // the square of which is about 0
				weights[e] = 0
			}
		}
	}
	return weights
}

// borneOut is the rule of few labels, or nodes without features, with the strength, of some around its own, by which
// edges alone predict classes that explain them best, by leastEvidence at least: groups of many nodes tell more of it
// than few labels. The power falls as the strength rises: what one neighbour may claim grows with their product, and
// stays what it is.
func (p *Prepared) borneOut(ctx context.Context, rule edgeRule) (best edgeRule, err error) {
	if !p.bare() && !p.fewLabels() || !p.mostHidden() || p.large() || !p.made(rule.name) {
		return rule, nil
	}
	m := instances.Must(crf.NewModel(p.Problem.Model.Schema))
	in, w, most := p.Problem.Data[0], p.inference(m, infer.Limits{}), 0.
	weights, made := edgeWeights(in), carriers(&m.Schema, p.Problem.Data, rule.name)
	balanced := allBalanced(p.Problem.Data)
	for _, by := range []float64{1, 0.5, 1 / math.Sqrt2, math.Sqrt2, 2} {
		own := edgeRule{rule.name, rounded(rule.strength * by), rounded(rule.power / by)}
		own.put(m, made, nil, nil, nil)
		b, err := w.predictor().Predict(ctx, balanced[0], in.Samples()[0])
		if err != nil {
			return rule, err
		}
		found := grouping(in, weights, b.Labels)
		if by == 1 {
			best, most = own, found+leastEvidence
		} else if found > most {
			best, most = own, found
		}
	}
	return best, nil
}

// grouping is the logarithm of how many times likelier edges are where nodes of equal labels are groups, within which
// edges are more frequent than between them, than where the numbers of edges of nodes alone matter (planted partitions
// with degrees: Newman, 2016). It is negative where edges within them are less frequent.
func grouping(in *crf.Instance, weights []float64, labels []int32) float64 {
	us, vs := in.Graph.Ends()
	states := int(slices.Max(labels)) + 1
	ends, within, total, random := make([]float64, states*len(in.Schema().NodeTypes)), 0., 0., 0.
	for e, w := range weights {
		u, v := in.NodeType(us[e])*states+int(labels[us[e]]), in.NodeType(vs[e])*states+int(labels[vs[e]])
		ends[u] += w
		ends[v] += w
		if total += w; u == v {
			within += w
		}
	}
	for _, w := range ends {
		random += w * w / (4 * total)
	}
	const least = 1e-300 // 0 log 0 is 0
	told := func(seen, chance float64) float64 { return seen * math.Log(max(seen, least)/max(chance, least)) }
	return math.Copysign(told(within, random)+told(total-within, total-random), within-random)
}

// triangles are what the edges weigh that join the first end of each edge, and the second, to neighbours of both.
func triangles(g *graph.Graph, weights []float64) [][2]float64 {
	const mostLooks = 1 << 27 // less than a second; none are told of networks so dense that they take more
	shared, near, looks := make([][2]float64, len(weights)), make([]float64, g.NumNodes()), 0
	us, vs := g.Ends()
	for e := range us {
		looks += min(g.Degree(us[e]), g.Degree(vs[e]))
	}
	for u := int32(0); u < int32(len(near)) && looks <= mostLooks; u++ {
		for _, d := range g.Incoming(u) {
			near[g.Source(d)] = weights[d/2]
		}
		for _, d := range g.Incoming(u) {
			v := g.Source(d)
			if g.Degree(v) > g.Degree(u) || g.Degree(v) == g.Degree(u) && v > u {
				continue // the other end has fewer neighbours
			}
			for _, other := range g.Incoming(v) {
				if w := near[g.Source(other)]; w > 0 {
					shared[d/2][d%2], shared[d/2][1-d%2] = shared[d/2][d%2]+weights[other/2], shared[d/2][1-d%2]+w
				}
			}
		}
		for _, d := range g.Incoming(u) {
			near[g.Source(d)] = 0
		}
	}
	return shared
}

// allBalanced are instances with features of edges times their couplings, as models of that rule take them.
func allBalanced(data []*crf.Instance) []*crf.Instance {
	return numeric.Map(data, func(in *crf.Instance) *crf.Instance {
		spec := in.Spec()
		rows := make([][]float64, len(spec.EdgeFeat))
		for b := range rows {
			rows[b] = make([]float64, spec.EdgeFeat[b].Rows()*spec.EdgeFeat[b].Dim())
		}
		for e, factor := range couplings(in) {
			b, r := in.EdgeType(int32(e)), in.EdgeRow(int32(e))
			dim := spec.EdgeFeat[b].Dim()
			row := rows[b][r*dim:][:dim]
			spec.EdgeFeat[b].Row(row, r)
			for j := range row {
				row[j] = max(-math.MaxFloat64, min(row[j]*factor, math.MaxFloat64)) // features are finite
			}
		}
		for b, values := range rows {
			if dim := spec.EdgeFeat[b].Dim(); dim > 0 {
				spec.EdgeFeat[b] = instances.Must(crf.Dense(values, dim))
			}
		}
		return instances.Must(crf.NewInstance(in.Schema(), spec))
	})
}

// makeEdges finds by which features a rule makes edges, where it does, while features are as they are.
func (p *Prepared) makeEdges() (err error) {
	if p.rule, err = parseEdges(p.Options.Edges); err != nil || !p.rule.makes() {
		return err
	}
	p.carriers = carriers(&p.Problem.Model.Schema, p.Problem.Data, p.rule.name)
	if p.rule.strength != 0 && len(p.carriers) == 0 {
		return usagef("{edges=%s}: no type of edges has weights that it could make: it needs a constant feature, tied "+
			"weights, and with potts or balanced one type of nodes at both ends", p.Options.Edges)
	}
	if p.rule.strength != 0 {
		p.note(p.ruleNote())
	}
	if p.rule.name == edgesBalanced {
		p.Evaluations = slices.Clone(p.Evaluations)
		for i, e := range p.Evaluations {
			own := *e
			own.Instances = allBalanced(e.Instances)
			p.Evaluations[i] = &own
		}
	}
	return nil
}

// separate has node weights learned without edges, where those are made by a rule.
func (p *Prepared) separate() error {
	if p.rule.makes() {
		p.networks, p.Problem.Counting, p.Problem.Data = p.Problem.Data, nil, onlyNodes(p.Problem.Data)
	}
	return nil
}

// onlyNodes are instances without edges. Of nodes most of whose labels may be hidden only those with one are left: the
// others have no share in the likelihood of node weights then, and would take nearly all of the time.
func onlyNodes(data []*crf.Instance) (alone []*crf.Instance) {
	tied := !slices.ContainsFunc(data[0].Schema().NodeTypes, func(t crf.NodeType) bool { return t.Copies > 0 })
	for _, in := range data {
		in = in.WithoutEdges()
		if tied && len(in.Samples()) == 1 && slices.Contains(in.Samples()[0], crf.Unobserved) && len(knownLabels(in)) > 0 {
			spec, rows := in.Spec(), make([][]int32, len(in.Schema().NodeTypes))
			spec.NodeType, spec.Labels, spec.Rows, spec.Cols = []int32{}, [][]int32{nil}, 0, 0
			for _, s := range knownLabels(in) {
				a := in.NodeType(s)
				spec.NodeType, spec.Labels[0] = append(spec.NodeType, int32(a)), append(spec.Labels[0], in.Samples()[0][s])
				rows[a] = append(rows[a], int32(in.NodeRow(s)))
			}
			for a := range rows {
				spec.NodeFeat[a] = spec.NodeFeat[a].Pick(rows[a])
			}
			spec.Graph = instances.Must(graph.FromEdges(len(spec.NodeType), nil, nil))
			in = instances.Must(crf.NewInstance(in.Schema(), spec))
		}
		alone = append(alone, in)
	}
	return alone
}

// put gives a model, for features as they are, the edges of the rule. Moments are those of the model of nodes, and of
// the class weights and data that it was learned from; tables of zeros stay so, as the range is never 0.
func (r edgeRule) put(m *crf.Model, carriers map[int][]carrier, nodes *crf.Model, classes [][]float64,
	data []*crf.Instance) {
	tables, least, most := make([][]float64, len(m.Schema.EdgeTypes)), 0., math.SmallestNonzeroFloat64
	if r.name == edgesMoments {
		tables = moments(nodes, classes, data)
	}
	for b := range carriers {
		if k := m.Schema.NodeStates(m.Schema.EdgeTypes[b].U); tables[b] == nil {
			tables[b] = make([]float64, k*k)
			for a := range k {
				tables[b][a*k+a] = 1
			}
		}
		least, most = min(least, slices.Min(tables[b])), max(most, slices.Max(tables[b]))
	}
	for b, of := range carriers {
		span := m.Layout.Edge[b]
		clear(m.Weights[span.At:][:span.Len])
		for _, c := range of {
			for i, x := range tables[b] {
				m.Weights[span.At+c.column*span.States+i] += r.strength * c.factor * x / (most - least)
			}
		}
	}
}

// moments are the weights of pairs of states, for every type of edges, with which beliefs of edges would be the mean
// ones that labels and the model of nodes tell of (pseudo-moment matching: Wainwright, Jaakkola and Willsky, 2003), but
// for a factor: means of uncertain beliefs are closer to independence than states are. One edge more, of which nothing
// is known, keeps numbers finite.
func moments(nodes *crf.Model, classes [][]float64, data []*crf.Instance) (tables [][]float64) {
	for b := range nodes.Schema.EdgeTypes {
		u, v := nodes.Schema.EdgeStates(b)
		tables = append(tables, slices.Repeat([]float64{1 / float64(u*v)}, u*v))
	}
	for _, in := range data {
		ends, others := in.Graph.Ends()
		for _, labels := range in.Samples() {
			alone := ground.Condition(nodes, in.WithoutEdges())
			of := func(s int32) []float64 { return alone.Node[alone.NodeAt[s]:alone.NodeAt[s+1]] }
			for s, y := range labels {
				own := of(int32(s))
				for a := range own {
					own[a] -= math.Log(ground.ClassWeight(classes, in, int32(s), int32(a))) // how frequent classes are
				}
				if ground.Softmax(own); y != crf.Unobserved {
					clear(own)
					own[y] = 1
				}
			}
			for e := range ends {
				table, second := tables[in.EdgeType(int32(e))], of(others[e])
				for a, x := range of(ends[e]) {
					for c, y := range second {
						table[a*len(second)+c] += in.Weight() * x * y
					}
				}
			}
		}
	}
	for b := range tables {
		dependence(nodes, b, tables[b])
	}
	return tables
}

// dependence puts log p(a, b)/(p(a) p(b)) in the place of sums of beliefs in pairs of states a, b of a type, and 0
// where the schema forbids them. It is to the bit the same for both orders, where a type is symmetric.
func dependence(m *crf.Model, b int, table []float64) {
	m.Layout.Edge[b].Symmetrise(table)
	t := &m.Schema.EdgeTypes[b]
	u, v := m.Schema.EdgeStates(b)
	rows, columns, all := make([]float64, u), make([]float64, v), 0.
	for i, x := range table {
		rows[i/v], columns[i%v], all = rows[i/v]+x, columns[i%v]+x, all+x
	}
	for i, x := range table {
		table[i] = math.Log(x) - (math.Log(rows[i/v]) + math.Log(columns[i%v])) + math.Log(all)
		if slices.Contains(m.Schema.NodeTypes[t.U].Forbidden, i/v) || slices.Contains(t.Forbidden, [2]int{i / v, i % v}) ||
			slices.Contains(m.Schema.NodeTypes[t.V].Forbidden, i%v) {
			table[i] = 0
		}
	}
}

// weightColumn is the number of the feature of edges that says how much one counts, −1 where there is none.
func weightColumn(t *crf.EdgeType) int {
	return slices.IndexFunc(t.FeatureNames, func(name string) bool { return strings.EqualFold(name, "weight") })
}

// carrier is a feature of edges with weights of a rule: the weight of equal states is its factor times the strength.
type carrier struct {
	column int
	factor float64
	weighs bool // it is what edges weigh, over their mean
}

// carriers are those of every tied type of edges: features whose sum is one for all of its edges, or, with potts, what
// these weigh, where no edge weighs less than nothing. Only with moments edges may join nodes of two types.
func carriers(schema *crf.Schema, data []*crf.Instance, rule string) map[int][]carrier {
	found := map[int][]carrier{}
	for b, t := range schema.EdgeTypes {
		if t.Copies > 0 || rule != edgesMoments && t.U != t.V {
			continue
		}
		features := func(in *crf.Instance) *crf.Features { return in.EdgeFeatures(b) }
		for _, j := range constantOf(t.Features, data, features) {
			found[b] = append(found[b], carrier{j, 1, false})
		}
		j, sum, rows, least, row := weightColumn(&t), 0.0, 0, 0.0, make([]float64, t.Features)
		for i := 0; i < len(data) && j >= 0 && rule == edgesPotts; i++ {
			f := features(data[i])
			rows += f.Rows()
			for r := range f.Rows() {
				f.Row(row, r)
				sum, least = sum+row[j], min(least, row[j])
			}
		}
		if found[b] != nil && sum*math.MaxFloat64 > float64(rows) && least == 0 { // where the factor is finite
			found[b] = []carrier{{j, float64(rows) / sum, true}}
		}
	}
	return found
}

// ruleNote says what a rule makes of features of edges, "" where there are none.
func (p *Prepared) ruleNote() string {
	weighed := p.carriers
	if p.rule.name == edgesBalanced {
		weighed = carriers(&p.Problem.Model.Schema, p.Problem.Data, edgesPotts)
	}
	used, unused := "", []string(nil)
	for b, t := range p.Problem.Model.Schema.EdgeTypes {
		for j, name := range t.FeatureNames {
			if of := weighed[b]; len(of) == 1 && of[0].weighs && of[0].column == j {
				used = fmt.Sprintf("neighbours count by the %s of their edge, unless {columns=ignore=%[1]s}", option.Literal(name))
			} else if name != "constant" {
				unused = append(unused, strconv.Quote(name))
			}
		}
	}
	if len(unused) == 0 || isBinned(p.Problem.Data[0].EdgeFeatures(0)) {
		return used
	}
	how := "{columns=weight=NAME} names a column that says how much an edge counts"
	switch {
	case p.rule.name == edgesMoments:
		how = "{edges=potts:1} counts neighbours by a column weight"
	case strings.Contains(strings.ToLower(strings.Join(unused, "")), `"weight`):
		how = "only weights that are numbers from 0 on, some of them above 0, say how much an edge counts"
	}
	return strings.TrimPrefix(fmt.Sprintf("%s; {edges} %s takes no account of %s of edges: %s, and {edges=together} "+
		"learns what others tell", used, p.rule, strings.Join(unused, ", "), how), "; ")
}

// isBinned reports whether every row has one feature of 1 and no other.
func isBinned(f *crf.Features) bool { return f.Data().Bins != nil && f.Data().Book == nil }

// constantOf are the features of which one is 1 in every row, of bins, or the last one that is 1 in every row.
func constantOf(dim int, data []*crf.Instance, of func(*crf.Instance) *crf.Features) (columns []int) {
	rows, bins, row, other := 0, true, make([]float64, dim), make([]bool, dim)
	for _, in := range data {
		f := of(in)
		rows, bins = rows+f.Rows(), bins && isBinned(f)
		for r := 0; r < f.Rows() && !bins; r++ {
			f.Row(row, r)
			for j, x := range row {
				other[j] = other[j] || x != 1
			}
		}
	}
	for j := dim - 1; j >= 0 && rows > 0 && (bins || columns == nil); j-- {
		if bins || !other[j] {
			columns = append(columns, j)
		}
	}
	return columns
}
