package learn

import (
	"context"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/spill"
)

// unit is one inference problem of the objective: an instance with all its variables free, or with the observed
// labels of one sample clamped. Clamped ones exist for samples with unobserved labels, and enter (8) with a minus: L
// = B(free) − B(clamped). Of class weights there are others with a plus.
type unit struct {
	instance int
	in       *crf.Instance
	part     *partition.Partition
	net      *bp.Net
	state    *bp.State
	weight   float64   // of its free energy in the objective; negative if clamped for hidden labels
	extra    []float64 // of a free unit: see nodeWeight; nil: zeros
	taken    []float64 // of a free unit: see nodeCurvature; nil: zeros
	labels   []int32   // of the upper bound; nil: there are none
	// untied holds the beliefs, at the last visit, of the entries that have
	// weights of their own; indexed like the untied weights.
	untied []float64
	slots  [][]int32 // [block][group of the block] position in bundle.touched[block], or isSparse
	// keptBeliefs holds, of every edge of a sparse pair, its belief at the last visit and
	// its parts of the upper bound and of Σ c H(τ): see sparse.go.
	keptBeliefs []float64
	sparseEdges *sparseEdges
	firstRows   []int       // [node types] see columns
	before      messageCopy // where the pass before began; nil: see momentum.go
	kept        messageCopy // of keepMessages
	reach       *reach      // what it can touch of a contribution; nil: all
}

// bundle is a set of units that are updated together, block by block, and share
// one gradient contribution per group of edges.
type bundle struct {
	name  string // the instance, where it has only one
	units []*unit
	// touched lists the groups that each block touches; a group is a pair of
	// blocks that some unit of the bundle joins by an edge, and by more than a few.
	touched   [][]int32
	hasSparse []bool // [block] that it also touches pairs joined by a few
	// first [blocks+1] divides the groups: block b is the first to touch those from first[b] on.
	first []int32
	part  []int32 // [block·units + unit] of a visit's sum: see parts.go
	// contribution holds, per group, stride numbers: the tied weights' part of Σ weight · M τ, then the sums of the
	// beliefs of every tied type, then the part of Σ weight · c H(τ).
	contribution []float64
}

// buildUnits makes the units of all instances and bundles them: one bundle per
// instance if pairs are updated singly, else one of all.
func buildUnits(p *Problem, s *Settings, total float64) ([]*bundle, error) {
	shapes, err := newShapes(p, s)
	if err != nil {
		return nil, err
	}
	all, failed := make([][]*unit, len(p.Data)), make([]error, len(p.Data))
	for i, in := range p.Data {
		if all[i], err = shapes.freeOf(i, in); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	_ = parallel.Each(context.Background(), len(p.Data), s.Threads, func(i int) {
		all[i], failed[i] = shapes.addClamped(all[i], total)
	})
	var bundles []*bundle
	for i, in := range p.Data {
		units := all[i]
		if err := failed[i]; err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
		if s.Pairs || len(bundles) == 0 {
			bundles = append(bundles, &bundle{name: in.Name})
		}
		b := bundles[len(bundles)-1]
		b.units = append(b.units, units...)
	}
	if len(p.Data) > 1 && !s.Pairs {
		bundles[0].name = ""
	}
	first := bundles[0].units[0]
	for _, b := range bundles {
		if err := b.numberGroups(first); err != nil {
			return nil, err
		}
	}
	return bundles, nil
}

// shapes keeps what instances with the same graph share.
type shapes struct {
	problem    *Problem
	settings   *Settings
	cuts       map[*graph.Graph]Cut // for BBPL without Settings.Assign
	partitions map[*graph.Graph]*partition.Partition
	counting   map[*graph.Graph]*counting.Numbers
	nets       map[*graph.Graph]*bp.Net // of instances with one node type
}

func newShapes(p *Problem, s *Settings) (*shapes, error) {
	cuts := map[*graph.Graph]Cut{}
	if p.cut() != nil && s.Together == 0 && !s.AtOnce {
		s.Together = p.cut().Together
	}
	if s.Method == BBPL && s.Assign == nil && p.cut() == nil {
		all, together, err := s.Cut.Resolve(p.Model, p.Data)
		if err != nil {
			return nil, err
		}
		if s.Together == 0 {
			s.Together = together
		}
		for i, in := range p.Data {
			cuts[in.Graph] = all[i]
		}
	}
	return &shapes{
		problem: p, settings: s, cuts: cuts,
		partitions: map[*graph.Graph]*partition.Partition{},
		counting:   map[*graph.Graph]*counting.Numbers{},
		nets:       map[*graph.Graph]*bp.Net{},
	}, nil
}

// once returns what was made for a graph, or makes it.
func once[T any](known map[*graph.Graph]T, g *graph.Graph, make func() (T, error)) (T, error) {
	if x, ok := known[g]; ok {
		return x, nil
	}
	x, err := make()
	if err == nil {
		known[g] = x
	}
	return x, err
}

func (h *shapes) cut(in *crf.Instance) (*partition.Partition, error) {
	if h.settings.Method != BBPL {
		return partition.Whole(in.Graph), nil
	}
	assign := h.settings.Assign
	switch d := h.problem.cut(); {
	case d != nil:
		assign = func(*crf.Instance) ([]int32, int, error) { return d.Of, d.Blocks, nil }
	case assign == nil:
		assign = func(in *crf.Instance) ([]int32, int, error) { return h.cuts[in.Graph].Assign(in, h.settings.Seed) }
	}
	of, blocks, err := assign(in)
	if err != nil {
		return nil, err
	}
	if h.settings.AtOnce && blocks > 1 {
		return partition.ByColours(in.Graph, of, blocks)
	}
	return partition.FromAssignment(in.Graph, of, blocks)
}

// freeOf returns the free unit of an instance, yet without its weight.
func (h *shapes) freeOf(index int, in *crf.Instance) ([]*unit, error) {
	g := in.Graph
	part, err := once(h.partitions, g, func() (*partition.Partition, error) { return h.cut(in) })
	if err != nil {
		return nil, err
	}
	numbers, err := once(h.counting, g, func() (*counting.Numbers, error) { return h.problem.Counting.Of(g) })
	if err != nil {
		return nil, err
	}
	nets := h.nets
	if len(in.Schema().NodeTypes) > 1 {
		nets = map[*graph.Graph]*bp.Net{}
	}
	net, err := once(nets, g, func() (*bp.Net, error) { return bp.NewNet(g, in.Cards(), numbers, nil) })
	if err != nil {
		return nil, err
	}
	return []*unit{{instance: index, in: in, part: part, net: net}}, nil
}

// addClamped weighs the free unit of an instance, and adds a clamped one for each of
// its terms that has unobserved labels. total is the weight of all samples of the
// whole data set. Several goroutines may do so for instances of their own.
func (h *shapes) addClamped(units []*unit, total float64) ([]*unit, error) {
	free := units[0]
	in, part, net := free.in, free.part, free.net
	free.labels = referenceLabels(in, h.problem.Model.Layout.Masked)
	weights := 0.0
	for _, term := range ground.Terms(h.problem.ClassWeights, in) {
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
		u := &unit{instance: free.instance, in: in, part: part.Restrict(hidden), net: clamped, weight: -in.Weight() * term.Weight / total}
		switch {
		case !slices.Contains(term.Truth, crf.Unobserved):
			u.labels = term.Truth
		case !h.problem.Model.Layout.Masked && (u.weight > 0 || !net.Counting.Facts.Dual):
			u.labels = withoutHidden(term.Truth)
		}
		if u.weight > 0 || !h.problem.Model.Layout.Masked {
			free.addExtra(labels, u.weight)
		}
		units = append(units, u)
	}
	free.weight = in.Weight() * weights / total
	return units, nil
}

// allocate makes room for what the unit remembers between visits.
func (u *unit) allocate(layout *crf.Layout, space *spill.Space) {
	u.state = &bp.State{LogMessage: spill.Zeros[float64](space, u.net.Messages()), LogBelief: spill.Zeros[float64](space, u.net.Beliefs())}
	if n := layout.UntiedSize; n > 0 {
		u.untied = make([]float64, n)
	}
	u.keptBeliefs = spill.Zeros[float64](space, u.sparseEdges.numbers)
}

// sliceBytes is what a slice takes beside its contents.
const sliceBytes = 24.0

// numberGroups numbers the pairs of blocks that the units of the bundle join, in ascending order, and tells every
// unit where each of its groups stands among those that a block touches. Every unit must have as many blocks as the
// first one of all. Cost: that of reading all groups of all partitions, and sorting those of a block.
func (b *bundle) numberGroups(first *unit) error {
	blocks := len(first.part.Blocks)
	slots := map[*partition.Partition][][]int32{}
	var parts []*partition.Partition
	for _, u := range b.units {
		if len(u.part.Blocks) != blocks {
			return fmt.Errorf("instance %s is cut into %d blocks and instance %s into %d: every instance needs as many; ask for fewer blocks",
				first.in.Name, blocks, u.in.Name, len(u.part.Blocks))
		}
		if slots[u.part] == nil {
			slots[u.part] = emptySlots(u.part)
			parts = append(parts, u.part)
		}
		u.slots = slots[u.part]
	}
	b.touched = make([][]int32, blocks)
	n := groupNumbering{
		parts: parts, touched: b.touched, higher: make([]int32, blocks),
		seen: make([]int32, blocks), position: make([]int32, blocks),
	}
	for x := range int32(blocks) {
		n.number(x)
		for _, p := range parts {
			for i, g := range p.Blocks[x].Groups {
				slots[p][x][i] = n.position[g.Other]
			}
		}
	}
	return nil
}

// emptySlots makes room for the place of every group of every block, in one slice.
func emptySlots(p *partition.Partition) [][]int32 {
	total := 0
	for i := range p.Blocks {
		total += len(p.Blocks[i].Groups)
	}
	flat, slots := make([]int32, total), make([][]int32, len(p.Blocks))
	for i := range p.Blocks {
		n := len(p.Blocks[i].Groups)
		slots[i], flat = flat[:n:n], flat[n:]
	}
	return slots
}

// groupNumbering is the state of numberGroups between blocks, which it goes through in ascending order.
type groupNumbering struct {
	parts    []*partition.Partition
	numbered int32     // pairs that have a number
	touched  [][]int32 // [block] numbers of its pairs, by ascending other block
	// higher [blocks] is, for every finished block, the place in touched of its first
	// pair with a block that is not finished.
	higher   []int32
	others   []int32 // blocks that the one at work is joined to, ascending
	seen     []int32 // [blocks] 1 + the last block that was found to be joined to it
	position []int32 // [blocks] place of a block in others, where it is there
}

// number numbers the pairs of block x with itself and with higher blocks, and finds
// the numbers that lower ones have given. Those of a block are asked for in order.
func (n *groupNumbering) number(x int32) {
	n.others = n.others[:0]
	for _, p := range n.parts {
		for _, g := range p.Blocks[x].Groups {
			if n.seen[g.Other] != x+1 {
				n.seen[g.Other] = x + 1
				n.others = append(n.others, g.Other)
			}
		}
	}
	slices.Sort(n.others)
	ids := make([]int32, len(n.others))
	for i, other := range n.others {
		n.position[other] = int32(i)
		if other < x {
			ids[i] = n.touched[other][n.higher[other]]
			n.higher[other]++
			n.higher[x]++
			continue
		}
		ids[i] = n.numbered
		n.numbered++
	}
	n.higher[x]++ // the pair with itself
	n.touched[x] = ids
}

// groups returns the number of groups of the bundle.
func (b *bundle) groups() int {
	largest := int32(-1)
	for _, t := range b.touched {
		for _, id := range t {
			largest = max(largest, id)
		}
	}
	return int(largest) + 1
}

// addExtra notes that the nodes without a state in observed have a term more, of some weight.
// A negative weight is what hidden labels take.
func (u *unit) addExtra(observed []int32, weight float64) {
	to := &u.extra
	if weight < 0 {
		to = &u.taken
	}
	if *to == nil {
		*to = make([]float64, len(observed))
	}
	for s, y := range observed {
		if y == crf.Unobserved {
			(*to)[s] += weight
		}
	}
}

// nodeWeight is the weight of a node of a free unit in the objective, in all units of its
// instance where nothing but a class weight hides it.
func (u *unit) nodeWeight(s int32) float64 {
	if u.extra == nil {
		return u.weight
	}
	return u.weight + u.extra[s]
}

// edgeWeight is that of an edge: it is in all terms where one of its ends is free.
func (u *unit) edgeWeight(e int32) float64 {
	if u.extra == nil {
		return u.weight
	}
	return u.weight + max(u.extra[u.in.Graph.U(e)], u.extra[u.in.Graph.V(e)])
}

// nodeCurvature and edgeCurvature are the weights of the curvature that an element has in the objective as far as it
// does not answer to others: what it has in the free network, and clamped ones take again where its labels are
// hidden. Of an edge with one hidden end half is taken, and of masked models nothing: where beliefs are infeasible
// dual values decide, which longer steps outrun.
func (u *unit) nodeCurvature(s int32) float64 {
	return u.curvature(u.nodeWeight(s), s, s)
}

func (u *unit) edgeCurvature(e int32) float64 {
	return u.curvature(u.edgeWeight(e), u.in.Graph.U(e), u.in.Graph.V(e))
}

func (u *unit) curvature(weight float64, s, t int32) float64 {
	if u.taken == nil {
		return weight
	}
	if left := weight + (u.taken[s]+u.taken[t])/2; left > meritRounding*weight {
		return left
	}
	return 0
}

// isFree reports whether no node of a unit is held.
func (u *unit) isFree() bool { return u.net.Observed == nil }
