package job

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// The values of Options.Physics.
const (
	Ising = "ising"
	Potts = "potts"
)

// Physics lists them.
var Physics = []string{Ising, Potts}

// likelihoodEntries bounds the entries of joint tables that are computed for the likelihood
// and its Hessian, for it to be taken where pseudo-likelihood would do: about half a minute.
const likelihoodEntries = 3e9

// fitEvaluations is about how often a fit evaluates the likelihood.
const fitEvaluations = 100

// validatePhysics refuses what couplings of a physical system cannot be learned with.
func (o *Options) validatePhysics() error {
	name := option.Text("{model=" + o.Physics + "}")
	switch {
	case o.Physics == "" && o.Statistics:
		return usagef("{statistics} go with {model=ising} or {model=potts}")
	case o.Physics == "":
		return nil
	case !slices.Contains(Physics, o.Physics):
		return usagef("{model} %q: want %s or %s%s", o.Physics, Ising, Potts, option.Hint(o.Physics, Physics))
	case o.Statistics && o.Method.Local() && o.Method != learn.Exact:
		return usagef("{statistics} and {method=%s} do not go together: it has terms of single samples; leave the method "+
			"out, or give exact, bbpl or inner-dual", o.Method)
	case o.Statistics && (o.SelectEdges != "" || o.Errors != "" && o.Errors != errorsNone):
		return usagef("{statistics} go with neither {select-edges} nor {errors}, which need samples")
	case o.Statistics && o.Method != learn.Auto:
	case o.Method == learn.Piecewise || o.Method == learn.Truncated || o.Method != learn.Auto && !o.Method.Local():
		return usagef("%s and {method=%s} do not go together: it learns other couplings than those of the "+
			"system; leave the method out, or give exact or pseudo", name, o.methodName())
	case o.NoEdges:
		return usagef("%s and {no-edges} do not go together: couplings are of edges", name)
	case o.ClassWeights != "":
		return usagef("%s and {class-weights} do not go together: samples count as often as they were drawn", name)
	}
	return nil
}

// physics decides how samples of a physical system are learned from: by the likelihood, if that is cheap, and else by
// pseudo-likelihood, which both come to the truth with more samples. Bounds of the likelihood do not.
func (p *Prepared) physics(ctx context.Context) error {
	o, data := &p.Options, p.Problem.Data
	if o.Physics == "" {
		return nil
	}
	name := option.Text("{model=" + o.Physics + "}")
	if !p.Set.Recipe.Untied {
		return usagef("%s: every node and every edge needs weights of its own", name)
	}
	if data[0].Graph.NumEdges() == 0 {
		return dataf("%s: the network has no edges, and so no couplings", name)
	}
	for _, t := range p.Problem.Model.Schema.NodeTypes {
		if k := len(t.States); o.Physics == Ising && k != 2 {
			return dataf("%s: there are nodes of %d states, and spins have 2; use {model=%s}", name, k, Potts)
		}
	}
	all := samplesOf(data)
	samples := len(all)
	if samples < 2 && !o.Statistics {
		return dataf("%s: there is one sample, and a coupling of its own for every edge; want labels of many samples, "+
			"[samples, nodes]", name)
	}
	if o.Method == learn.Auto {
		most := likelihoodEntries / float64(fitEvaluations+2*p.Problem.Model.Layout.Size)
		if work := local.Work(data, most); work <= most {
			o.Method, p.Choice = learn.Exact, fmt.Sprintf("the likelihood itself: elimination computes %.3g entries of "+
				"tables for it", work)
		} else if o.Statistics {
			p.note("the likelihood itself would take too long: couplings are those of a bound of it, and smaller or larger " +
				"than those of the system")
			return nil
		} else {
			o.Method, p.Choice = learn.Pseudo, fmt.Sprintf("pseudo-likelihood: the likelihood itself would take more than "+
				"%.3g entries of tables", most)
		}
		p.Settings.Method = o.Method
	}
	how, known := "the likelihood sums over what they may be",
		func(u sample) bool { return !slices.Contains(u.labels, crf.Unobserved) }
	hidden := len(slices.DeleteFunc(all, known))
	if hidden > 0 && o.Method == learn.Pseudo {
		how = "they are filled in as the model has them given the others, again and again, until it changes no more (EM)"
		p.Settings.ErrorShare *= 10 // what is filled in next moves weights by more
	}
	if hidden > 0 {
		p.hidden = fmt.Sprintf("%d of %d samples have missing values: %s", hidden, samples, how)
	}
	return ctx.Err()
}

// leastNarrowed is the share of their loss that known values have to gain by a narrower prior, were all of them known:
// couplings shrink with it, and of less predictions feel little.
const leastNarrowed = 0.03

// narrowPrior narrows the prior of couplings, where none is given, of samples of which most values are missing. Folds
// choose it by the conditionals of known values given other known ones, in half of the time of the run: the narrowest
// that is within one standard error of the best (Breiman et al. 1984), as EM makes couplings stronger. Fields keep a
// prior of 1, on the scale that is returned: so predictions come near the frequencies of states. Errors do not tell how
// much smaller couplings are then: who asks for them gets no narrower prior.
func (p *Prepared) narrowPrior(ctx context.Context, known float64) (*standardise.Map, error) {
	o, chosen, usual, best := &p.Options, p.Options.Prior, []float64(nil), []float64(nil)
	half, stop := context.WithTimeout(ctx, cmp.Or(o.MaxTime/2, math.MaxInt64))
	defer stop()
	var weights [mostFolds][]float64
	for prior := chosen; p.asked.leavesPrior() && prior >= leastPrior; prior = rounded(prior / math.Sqrt2) {
		losses, err := p.heldLosses(half, prior, &weights)
		if best == nil {
			usual, best = losses, losses
		}
		worse, by := difference(losses, best)
		if err != nil || !(worse <= by) {
			break
		} else if chosen = prior; worse < 0 {
			best = losses
		}
	}
	gain, _ := difference(usual, best)
	if all, _ := difference(usual, make([]float64, len(usual))); gain > leastNarrowed*known*all {
		o.Prior = chosen
	}
	if o.Prior < 1 {
		p.note(fmt.Sprintf("most values are missing: {prior=%g} is that of couplings alone, as folds of "+
			"samples choose it unless it is given; that of fields is 1. So missing values are predicted better, and couplings "+
			"are smaller than those of the system; to read these, {prior=1}", o.Prior))
	}
	return p.fieldsApart(o.Prior), ctx.Err()
}

// fieldsApart is a scale on which fields have a prior of 1 where that of all weights is narrower.
func (p *Prepared) fieldsApart(prior float64) *standardise.Map {
	m := p.Problem.Model
	own := slices.Repeat([]float64{1}, m.Layout.Size)
	for _, span := range m.Layout.Node {
		copy(own[span.At:], slices.Repeat([]float64{1 / min(1, prior)}, span.Len))
	}
	return standardise.Own(&m.Schema, own)
}

// heldLosses are what samples lose that folds of neighbouring ones hold out, by weights that are learned of the others.
func (p *Prepared) heldLosses(ctx context.Context, prior float64, weights *[mostFolds][]float64) (losses []float64,
	err error) {
	data, err := onto(ctx, p.fieldsApart(prior), p.Problem.Data, nil)
	all := samplesOf(data)
	for k := 0; k < mostFolds && err == nil; k++ {
		var parts [2][]sample // what is held out, and the others
		for i, u := range all {
			side := min(1, (i*mostFolds/len(all)+k)%mostFolds)
			parts[side] = append(parts[side], u)
		}
		w := append(weights[k], make([]float64, p.Problem.Model.Layout.Size-len(weights[k]))...)
		weights[k] = w
		for side := 1; side >= 0 && err == nil && len(parts[side]) > 0; side-- {
			l := local.Objective{Kind: local.Pseudo, Model: p.Problem.Model, Data: instancesOf(parts[side])}
			l.Total = instances.TotalWeight(l.Data)
			if l.Allocate(p.Options.Threads); side == 1 {
				l.L2 = 1 / (l.Total * prior * prior)
				_, err = l.Minimise(ctx, w)
			} else {
				losses = append(losses, l.Total*l.Evaluate(ctx, make([]float64, len(w)), w))
			}
			l.Close()
		}
	}
	return losses, cmp.Or(err, ctx.Err())
}

// Couplings are fields and couplings of a model, in the zero-sum gauge.
type Couplings struct {
	Physics string
	Terms   []gaugeTerm
	States  [][2]string // of each term
	Values  []float64
	Errors  []float64 // nil: not known
	Names   []string  // of nodes; nil: their numbers
	Scores  []PairScore
}

// PairScore says how strongly two nodes of more than two states are coupled: by the norm of their couplings in the
// zero-sum gauge without those of gaps, less, where all pairs of unnamed nodes are edges, as in alignments, what their
// nodes have in common with all others (the average product correction of Dunn et al. 2008).
type PairScore struct {
	U, V  int32
	Value float64
}

// columns goes through the columns c of a covariance Σ c cᵀ.
type columns func(do func(c []float64))

// couplings reads them off a model; spread is the covariance of its weights, or nil.
func (p *Prepared) couplings(m *crf.Model, spread columns) *Couplings {
	in := p.Problem.Data[0]
	g := newGauge(m, in, p.Options.Physics == Ising)
	c := &Couplings{Physics: p.Options.Physics, Terms: g.Terms, Values: make([]float64, len(g.Terms)),
		Names: at(p.Set.Names, 0)}
	g.values(c.Values, m.Weights)
	for _, t := range g.Terms {
		states := [2]string{m.Schema.NodeTypes[in.NodeType(t.U)].States[t.A]}
		if t.V >= 0 {
			states[1] = m.Schema.NodeTypes[in.NodeType(t.V)].States[t.B]
		}
		c.States = append(c.States, states)
	}
	if p.Options.Physics == Potts {
		columns := p.Set.Recipe.Columns
		c.score(in.Graph.NumNodes(), len(columns) > 0 && columns[0].Name != "")
	}
	if spread != nil {
		c.Errors = deviations(spread, len(g.Terms), g.values)
	}
	return c
}

// gapState is what alignments have where a sequence has no letter.
const gapState = "-"

// priorOfSites is the prior of an alignment, where none is given: that of λ‖J‖², with λ = 0.01 (k − 1) times how many
// edges a site has, of k states, which contacts are found with (Kamisetty et al. 2013; Hopf et al. 2017). Weights are
// many beside sequences, and with a wider prior what chance couples hides contacts.
func (p *Prepared) priorOfSites() {
	const perEdge = 0.01
	columns, states := p.Set.Recipe.Columns, p.Set.Schema.NodeTypes[0].States
	if p.Options.Physics != Potts || p.asked.givesL2() || len(columns) == 0 || columns[0].Name != "" ||
		!slices.Contains(states, gapState) {
		return
	}
	edges := 2 * float64(p.Set.Instances[0].Graph.NumEdges()) / float64(len(columns))
	prior := 1 / math.Sqrt(2*perEdge*float64(len(states)-1)*edges)
	if given := cmp.Or(p.asked.Prior, prior); prior < 1 && given == prior { // a resumed run gives what it had
		p.Options.Prior = prior
		p.note(fmt.Sprintf("the prior of an alignment has a deviation of %.3g, as contacts are found "+
			"best with; {prior=1} gives that of other samples", prior))
	}
}

// score finds the scores of pairs of so many nodes, which are columns that have names or not.
func (c *Couplings) score(nodes int, named bool) {
	symmetric := !slices.ContainsFunc(c.Terms, func(t gaugeTerm) bool { return t.A > t.B })
	for i, t := range c.Terms {
		if t.V < 0 {
			continue
		}
		if n := len(c.Scores); n == 0 || c.Scores[n-1].U != t.U || c.Scores[n-1].V != t.V {
			c.Scores = append(c.Scores, PairScore{U: t.U, V: t.V})
		}
		square := c.Values[i] * c.Values[i]
		if symmetric && t.A < t.B { // the table has a ≤ b
			square *= 2
		}
		if c.States[i][0] != gapState && c.States[i][1] != gapState {
			c.Scores[len(c.Scores)-1].Value += square
		}
	}
	mean, of := 0.0, make([]float64, nodes)
	for i := range c.Scores {
		s := &c.Scores[i]
		s.Value = math.Sqrt(s.Value)
		mean += s.Value / float64(len(c.Scores))
		of[s.U] += s.Value / float64(nodes-1)
		of[s.V] += s.Value / float64(nodes-1)
	}
	if 2*len(c.Scores) < nodes*(nodes-1) || mean == 0 || named {
		return
	}
	for i, s := range c.Scores {
		c.Scores[i].Value -= of[s.U] * of[s.V] / mean
	}
}

// deviations are the standard errors of what a linear map makes of weights.
func deviations(spread columns, n int, of func(dst, weights []float64)) []float64 {
	sum, part := make([]float64, n), make([]float64, n)
	spread(func(c []float64) {
		of(part, c)
		for i, x := range part {
			sum[i] += x * x
		}
	})
	return numeric.Map(sum, math.Sqrt)
}

// Kinds of rows of a table of couplings.
const (
	fieldRow    = "node"
	couplingRow = "edge"
	scoreRow    = "score"
)

// name is what the data call a node.
func (c *Couplings) name(s int32) string { return cmp.Or(at(c.Names, int(s)), strconv.Itoa(int(s))) }

// row is a row of the table of couplings: node or edge, the nodes, of more than two states these, and then value and
// error, "" if it is not known. Behind those of the terms are those of scores.
func (c *Couplings) row(i int) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	if i >= len(c.Terms) {
		s := c.Scores[i-len(c.Terms)]
		return []string{scoreRow, c.name(s.U), c.name(s.V), "", "", number(s.Value), ""}
	}
	row := []string{fieldRow, c.name(c.Terms[i].U), ""}
	if v := c.Terms[i].V; v >= 0 {
		row[0], row[2] = couplingRow, c.name(v)
	}
	if c.Physics == Potts {
		row = append(row, c.States[i][:]...)
	}
	row = append(row, number(c.Values[i]), "")
	if c.Errors != nil {
		row[len(row)-1] = number(c.Errors[i])
	}
	return row
}

// write writes the table.
func (c *Couplings) write(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Comma = '\t'
	header := []string{"kind", "u", "v", "value", "error"}
	if c.Physics == Potts {
		header = slices.Insert(header, 3, "state_u", "state_v")
	}
	_ = out.Write(header) // the writer keeps its error
	for i := range len(c.Terms) + len(c.Scores) {
		_ = out.Write(c.row(i))
	}
	out.Flush()
	return out.Error()
}

// Weight is a weight or coupling with its name: of a coupling those of nodes, and of states if there are more than two.
type Weight struct {
	Name  string          `json:"name"`
	Value float64         `json:"value"`
	Error runfolder.Float `json:"error"` // the standard error; NaN: not known
}

// CouplingRow is a row of the table of a run.
type CouplingRow struct {
	Kind string `json:"kind"`
	Weight
}

// ReadCouplings reads the table of a run folder, largest values first, nil where it has none.
func ReadCouplings(path string) (rows []CouplingRow, err error) {
	text, err := fileio.Read(path, "a table of couplings", fileio.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.Comma = '\t'
	table, err := in.ReadAll()
	if err != nil {
		return nil, DataError(path, err)
	}
	for i, row := range table {
		if i == 0 {
			continue
		}
		r, err := readCoupling(row)
		if err != nil {
			return nil, dataf("%s:%d: %v", path, i+1, err)
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b CouplingRow) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	return rows, nil
}

// readCoupling reads a row of the table.
func readCoupling(row []string) (CouplingRow, error) {
	if len(row) != 5 && len(row) != 7 {
		return CouplingRow{}, fmt.Errorf("there are %d columns, want 5 or 7", len(row))
	}
	n := len(row) - 2
	value, err := strconv.ParseFloat(row[n], 64)
	spread, errSpread := strconv.ParseFloat(cmp.Or(row[n+1], "NaN"), 64)
	if err != nil || errSpread != nil {
		return CouplingRow{}, fmt.Errorf("value and error are %q, want numbers", row[n:])
	}
	name := nameOf(row[1], row[2], row[3:n])
	if row[0] == scoreRow {
		name = "pair " + row[1] + " – " + row[2]
	}
	return CouplingRow{row[0], Weight{name, value, runfolder.Float(spread)}}, nil
}

// IsScore reports whether the row has the score of a pair.
func (r *CouplingRow) IsScore() bool { return r.Kind == scoreRow }

// nameOf names a field, of node u alone, or a coupling, and states if there are any.
func nameOf(u, v string, states []string) string {
	name := "h " + u
	if v != "" {
		name = "J " + u + " – " + v
	} else if len(states) > 0 {
		states = states[:1]
	}
	if len(states) > 0 {
		name += ", states " + strings.Join(states, ", ")
	}
	return name
}

// largest lists the largest of them.
func (c *Couplings) largest(n int) (list []Weight) {
	for _, i := range Largest(c.Values, n) { // rows of all would take gigabytes where sites and states are many
		row, err := readCoupling(c.row(i))
		if err != nil {
			panic("job: " + err.Error()) // what was written can be read
		}
		list = append(list, row.Weight)
	}
	return list
}

// WeightTable lists weights, or couplings, with their standard errors, if any of them has one.
func WeightTable(what string, list []Weight) report.Table {
	columns, t := 2, report.Table{}
	for _, w := range list {
		row := []string{w.Name, fmt.Sprintf("%.6g", w.Value), ""}
		if !math.IsNaN(float64(w.Error)) {
			row[2], columns = fmt.Sprintf("%.2g", float64(w.Error)), 3
		}
		t.Rows = append(t.Rows, row)
	}
	for i, row := range t.Rows {
		t.Rows[i] = row[:columns]
	}
	t.Headers = []string{what, "value", "standard error"}[:columns]
	return t
}

// Agreement compares couplings with those of a reference.
type Agreement struct {
	// Slope is that of the line through the origin with the least squares of couplings, over those of the reference.
	Slope runfolder.Float `json:"slope"`
	// Inside is the share of intervals of 95 % that hold the reference, of couplings and of fields together.
	Inside runfolder.Float `json:"inside"`
}

// agreement compares, nil where there is no reference.
func (p *Prepared) agreement(c *Couplings) *Agreement {
	if p.Reference == nil {
		return nil
	}
	same := *p.Problem.Model // its weights are laid out as those learned
	same.Weights = p.Reference.Model.Weights
	truth, products, squares, inside := p.couplings(&same, nil), 0.0, 0.0, 0.0
	for i, t := range c.Terms {
		if x := truth.Values[i]; t.V >= 0 {
			products += x * c.Values[i]
			squares += x * x
		}
		if c.Errors != nil && math.Abs(c.Values[i]-truth.Values[i]) <= normal95*c.Errors[i] {
			inside++
		}
	}
	if c.Errors == nil {
		inside = math.NaN()
	}
	return &Agreement{runfolder.Float(products / squares), runfolder.Float(inside / float64(len(c.Terms)))}
}

// normal95 is how many standard deviations to either side hold 95 % of a normal distribution.
const normal95 = 1.959964

// gaugeTerm is a field, h_s(a), or a coupling, J_uv(a, b).
type gaugeTerm struct {
	U, V int32 // nodes; V is −1 for a field
	A, B int   // states of them
}

// gauge reads couplings and fields off the weights of an untied model, by a linear map: p(x) is proportional to
//
//	exp{Σ_s h_s(x_s) + Σ_uv J_uv(x_u, x_v)}
//
// with Σ_a h_s(a) = 0 and Σ_a J(a, b) = Σ_b J(a, b) = 0, the zero-sum gauge. Weights are tables without such sums:
// what an edge's table has of one end alone is part of h there, so that all weights of the same probabilities have
// the same J and h. Of two states, spins of −1 and 1, h_s(x) is h_s x and J_uv(x, y) is J_uv x y.
type gauge struct {
	Terms []gaugeTerm // fields in the order of nodes, then couplings in that of edges

	in        *crf.Instance
	layout    *crf.Layout
	couplings int   // the first of them
	at        []int // where the states of each node begin
	fields    []float64
	table     []float64 // of one edge
}

// newGauge returns the map for the network of an instance. With spins, of nodes of two states, a
// field and a coupling have one term, that of the second state; else there is one for every
// state, and for every pair, of symmetric types those with a ≤ b.
func newGauge(m *crf.Model, in *crf.Instance, spins bool) *gauge {
	g := &gauge{in: in, layout: &m.Layout, at: []int{0}}
	for s := range int32(in.Graph.NumNodes()) {
		k := in.States(s)
		g.at = append(g.at, g.at[s]+k)
		for a := range k {
			if !spins || a == 1 {
				g.Terms = append(g.Terms, gaugeTerm{U: s, V: -1, A: a})
			}
		}
	}
	g.fields = make([]float64, g.at[len(g.at)-1])
	g.couplings = len(g.Terms)
	us, vs := in.Graph.Ends()
	for e := range us {
		symmetric := m.Schema.EdgeTypes[in.EdgeType(int32(e))].Symmetric
		for a := range in.States(us[e]) {
			for b := range in.States(vs[e]) {
				if spins && a == 1 && b == 1 || !spins && !(symmetric && a > b) {
					g.Terms = append(g.Terms, gaugeTerm{us[e], vs[e], a, b})
				}
			}
		}
	}
	return g
}

// values writes the values of all terms, at weights or of a change of weights.
func (g *gauge) values(dst, weights []float64) {
	for s := range int32(len(g.at) - 1) {
		span := &g.layout.Node[g.in.NodeType(s)]
		copy(g.fields[g.at[s]:g.at[s+1]], weights[span.At+g.in.NodeRow(s)*span.Copy():][:span.States])
	}
	us, vs := g.in.Graph.Ends()
	next := g.couplings
	for e := range us {
		b := g.in.EdgeType(int32(e))
		span := &g.layout.Edge[b]
		g.table = numeric.Resize(g.table, span.States)
		copy(g.table, weights[span.At+g.in.EdgeRow(int32(e))*span.Copy():][:span.States])
		u, v := g.fields[g.at[us[e]]:g.at[us[e]+1]], g.fields[g.at[vs[e]]:g.at[vs[e]+1]]
		centre(g.table, u, v)
		for ; next < len(g.Terms) && g.Terms[next].U == us[e] && g.Terms[next].V == vs[e]; next++ {
			dst[next] = g.table[g.Terms[next].A*len(v)+g.Terms[next].B]
		}
	}
	for s := range len(g.at) - 1 {
		subtractMean(g.fields[g.at[s]:g.at[s+1]])
	}
	for i, t := range g.Terms[:g.couplings] {
		dst[i] = g.fields[g.at[t.U]+t.A]
	}
}

// centre takes the means of rows and columns out of a table, and adds them to the potentials of its ends.
func centre(table, u, v []float64) {
	k := len(v)
	for a := range u {
		u[a] += subtractMean(table[a*k:][:k])
	}
	for b := range v {
		mean := 0.0
		for a := range u {
			mean += table[a*k+b] / float64(len(u))
		}
		for a := range u {
			table[a*k+b] -= mean
		}
		v[b] += mean
	}
}

// subtractMean leaves a sum of 0, and returns what the mean was.
func subtractMean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
	return mean
}
