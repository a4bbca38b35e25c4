package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/spill"
)

// unit is one inference problem of the objective: an instance with all its variables free, or with the observed labels
// of one sample clamped. Clamped ones exist for samples with unobserved labels, and enter (8) with a minus: L = B(free)
// − B(clamped). Class weights add clamped units that enter with a plus.
type unit struct {
	instance  int
	in        *crf.Instance
	partition *partition.Partition
	net       *bp.Net
	state     *bp.State
	weight    float64   // of its free energy in the objective; negative if clamped for hidden labels
	added     []float64 // [nodes] of a free unit: weights of the clamped ones with a plus where it is hidden; nil: zeros
	taken     []float64 // [nodes] of a free unit: those of the ones with a minus; nil: zeros
	reference []int32   // labels y of F (bound.go), and of Problem.Loss; nil: there are none
	splits    bool      // F is a bound by a split of its counting numbers (counting.Numbers.Split)
	// untied has the beliefs at the last visit of entries with weights of their own, indexed like the untied weights.
	untied []float64
	// cutBeliefs holds, of every cut edge, its belief at the last visit and its terms of the upper bound and of
	// Σ c H(τ): see worker.go.
	cutBeliefs    []float64
	cutEdges      *cutEdges
	passStart     messageCopy // where the whole pass before began; nil: there is no momentum (messages.beginPass)
	acceptedState messageCopy // those of the accepted weights (messages.save)
}

// buildUnits makes the units of all instances.
func buildUnits(p *Problem, s *Settings, total float64) (units []*unit, err error) {
	cuts, err := resolveCuts(p, s)
	if err != nil {
		return nil, err
	}
	all, failed, ofGraph := make([][]*unit, len(p.Data)), make([]error, len(p.Data)), map[*graph.Graph]*unit{}
	for i, in := range p.Data {
		free := &unit{instance: i, in: in}
		if err := free.plan(p, s, cuts, ofGraph); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
		all[i] = []*unit{free}
		if first, blocks := len(all[0][0].partition.Blocks), len(free.partition.Blocks); blocks != first {
			return nil, fmt.Errorf("instance %s is cut into %d blocks and instance %s into %d: every instance needs as many; "+
				"ask for fewer blocks", p.Data[0].Name, first, in.Name, blocks)
		}
	}
	_ = parallel.Each(context.Background(), len(p.Data), s.Threads, func(i int) {
		all[i], failed[i] = p.addClamped(all[i], total)
	})
	for i, in := range p.Data {
		if err := failed[i]; err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
		units = append(units, all[i]...)
	}
	return units, nil
}

// resolveCuts says how each instance is cut, where Settings.Assign does not, and how many blocks are visited together.
func resolveCuts(p *Problem, s *Settings) (cuts []cut.Cut, err error) {
	together := 0
	if s.Method == BBPL && s.Assign == nil {
		if cuts, together, err = cut.Cut(s.Cut).Resolve(p.Model, p.Data, cut.Cache()); err != nil {
			return nil, err
		}
	}
	s.Together = cmp.Or(s.Together, together)
	return cuts, nil
}

// plan finds blocks, counting numbers and the places of messages of a free unit. Units of the same graph share those of
// the first, which ofGraph has.
func (u *unit) plan(p *Problem, s *Settings, cuts []cut.Cut, ofGraph map[*graph.Graph]*unit) (err error) {
	g := u.in.Graph
	if first := ofGraph[g]; first != nil {
		if u.partition = first.partition; len(u.in.Schema().NodeTypes) == 1 {
			u.net = first.net
		} else {
			u.net, err = bp.NewNet(g, u.in.Cards(), first.net.Counting, nil)
		}
		return err
	}
	if u.partition, err = cutInstance(s, cuts, u); err != nil {
		return err
	}
	numbers, err := p.Counting.Of(g)
	if err != nil {
		return err
	}
	ofGraph[g] = u
	u.net, err = bp.NewNet(g, u.in.Cards(), numbers, nil)
	return err
}

// cutInstance cuts the instance of a unit into blocks.
func cutInstance(s *Settings, cuts []cut.Cut, u *unit) (*partition.Partition, error) {
	switch {
	case s.Method != BBPL:
		return partition.Whole(u.in.Graph), nil
	case s.Assign == nil:
		of, blocks := cuts[u.instance].Assign(u.in)
		return partition.FromAssignment(u.in.Graph, of, blocks)
	}
	of, blocks, err := s.Assign(u.in)
	if err != nil {
		return nil, err
	}
	return partition.FromAssignment(u.in.Graph, of, blocks)
}

// addClamped weighs the free unit of an instance, and adds a clamped one for each of
// its terms that has unobserved labels. total is the weight of all samples of the
// whole data set. Several goroutines may do so for instances of their own.
func (p *Problem) addClamped(units []*unit, total float64) ([]*unit, error) {
	free := units[0]
	in, part, net := free.in, free.partition, free.net
	free.reference = referenceLabels(in, p.Model.Layout.Masked)
	weights := 0.0
	for _, term := range ground.Terms(p.ClassWeights, in) {
		labels := term.Labels
		weights += term.Weight
		if !slices.Contains(labels, crf.Unobserved) {
			continue
		}
		clamped, err := bp.NewNet(in.Graph, net.Card, net.Counting, labels)
		if err != nil {
			return nil, err
		}
		hidden := make([]bool, len(labels))
		for s, y := range labels {
			hidden[s] = y == crf.Unobserved
		}
		u := &unit{instance: free.instance, in: in, partition: part.Restrict(hidden), net: clamped}
		u.weight = -in.Weight() * term.Weight / total
		switch {
		case !slices.Contains(term.Truth, crf.Unobserved):
			u.reference = term.Truth
		case !p.Model.Layout.Masked && (u.weight > 0 || !net.Counting.Facts.Dual):
			u.reference = instances.WithoutHidden(term.Truth)
		}
		switch {
		case u.weight > 0:
			addHidden(&free.added, labels, u.weight)
		case !p.Model.Layout.Masked:
			addHidden(&free.taken, labels, u.weight)
		}
		units = append(units, u)
	}
	free.weight = in.Weight() * weights / total
	return units, nil
}

// allocate makes room for what the unit remembers between visits.
func (u *unit) allocate(layout *crf.Layout, space *spill.Space, kept int) {
	u.state = &bp.State{}
	u.state.LogMessage, u.state.LogBelief = u.newCopy(space).halves(u)
	u.untied = make([]float64, layout.UntiedSize)
	u.cutBeliefs = spill.Zeros[float64](space, kept)
}

// newCopy makes room for messages and beliefs, with those of observed nodes, which no visit and no checkpoint writes.
func (u *unit) newCopy(space *spill.Space) messageCopy {
	c := messageCopy(spill.Zeros[float64](space, u.net.Messages()+u.net.Beliefs()))
	_, beliefs := c.halves(u)
	for s := range u.net.Observed {
		u.net.Begin(beliefs, int32(s))
	}
	return c
}

// addHidden adds a weight to those of the nodes without a state in observed.
func addHidden(to *[]float64, observed []int32, weight float64) {
	if *to == nil {
		*to = make([]float64, len(observed))
	}
	for s, y := range observed {
		if y == crf.Unobserved {
			(*to)[s] += weight
		}
	}
}

// nodeWeight is the weight of a node of a free unit in the objective, with those of the units that class weights add.
func (u *unit) nodeWeight(s int32) float64 {
	if u.added == nil {
		return u.weight
	}
	return u.weight + u.added[s]
}

// edgeWeight is that of an edge, which is in all units in which one of its ends is free.
func (u *unit) edgeWeight(e int32) float64 {
	if u.added == nil {
		return u.weight
	}
	return u.weight + max(u.added[u.in.Graph.U(e)], u.added[u.in.Graph.V(e)])
}

// nodeCurvature and edgeCurvature are the factors of the curvature of a node and of an edge in the objective, as if
// none answered to others: the weight in the free network, less those of clamped networks where labels are hidden. Of
// an edge with one hidden end these take half, and in masked models nothing: where beliefs are infeasible dual values
// decide, which longer steps would outrun.
func (u *unit) nodeCurvature(s int32) float64 { return u.curvature(u.nodeWeight(s), s, s) }

func (u *unit) edgeCurvature(e int32) float64 {
	return u.curvature(u.edgeWeight(e), u.in.Graph.U(e), u.in.Graph.V(e))
}

func (u *unit) curvature(weight float64, s, t int32) float64 {
	if u.taken == nil {
		return weight
	}
	if left := weight + (u.taken[s]+u.taken[t])/2; left > valueRounding*weight {
		return left
	}
	return 0
}

// work is that of a sweep over all blocks (partition.Block.Work).
func (u *unit) work() (n int) {
	for x := range u.partition.Blocks {
		n += u.partition.Blocks[x].Work()
	}
	return n
}

// isFree reports the free unit of an instance: a clamped one has Observed, even where no label of its sample is known.
func (u *unit) isFree() bool { return u.net.Observed == nil }

// boundOfNodes returns the term of nodes in F, given their free energy.
func (u *unit) boundOfNodes(nodes []int32, free float64) (sum float64) {
	if u.reference == nil {
		return free
	}
	for _, s := range nodes {
		if c := u.net.Counting.Node[s]; c != 0 {
			sum -= c * u.net.LogBelief(u.state, s, u.reference[s])
		}
	}
	return sum
}

// byConsistent reports a clamped unit whose value in F is the free energy of its consistent beliefs, at most
// B(clamped): subtracted from D(free) it leaves an upper bound of L, where the difference of two duals is none.
func (u *unit) byConsistent() bool { return u.reference == nil && u.weight < 0 }

// linear is the unit as package linear knows it.
func (u *unit) linear() linear.Unit {
	return linear.Unit{In: u.in, Net: u.net, State: u.state, Weight: u.weight}
}

// splitAtOnce reports that what a split adds to F is found as the block is visited, as that has all edges. Else it
// takes visits of their own, after those of all blocks (splitVisit).
func (u *unit) splitAtOnce(block *partition.Block) bool {
	return u.splits && len(block.Nodes) == u.in.Graph.NumNodes()
}

// eachUntied calls do for the untied elements that a visit of a block contributes: nodes, then edges.
func (u *unit) eachUntied(layout *crf.Layout, block int, do func(span *crf.Span, row int)) {
	if layout.UntiedSize == 0 {
		return
	}
	for _, s := range u.partition.Blocks[block].Nodes {
		if span := &layout.Node[u.in.NodeType(s)]; span.Untied {
			do(span, u.in.NodeRow(s))
		}
	}
	for _, e := range u.partition.Blocks[block].Edges {
		if span := &layout.Edge[u.in.EdgeType(e)]; span.Untied {
			do(span, u.in.EdgeRow(e))
		}
	}
}
