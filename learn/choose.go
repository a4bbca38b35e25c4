package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/memory"
)

// Choose puts BBPL in the place of method Auto, and decides whether networks are cut.
// Only sizes and edges count, and the second-level cache of this machine: no feature, no
// label and no weight is looked at. reason says in words what decided, "" where another
// method was asked for: those settings are returned as they are.
//
// Networks are cut if a cut was asked for, or if the largest is so large that more than
// 20 blocks of it are needed for the visit of one to stay in the cache, and 20 blocks
// share few edges. Others stay whole, in one block of two sweeps an iteration. Steps that
// look at curvature gain little by moving after every 20th of a network, and both blocks
// of a cut edge do its work: whole networks took 0.2 to 1.1 of the time. Chains are never
// cut: a sweep back and forth infers them, while what passes from block to block is late by
// visits, and misleads steps.
func (s Settings) Choose(p *Problem) (chosen Settings, reason string, err error) {
	if s.AtOnce && s.Assign == nil && s.Cut.Rows == 0 {
		s.Cut = s.Cut.atOnce(p.Data)
	}
	if s.Resolved().Method != Auto {
		return s, "", nil
	}
	if p.Model == nil || len(p.Data) == 0 {
		return s, "", s.Validate(p)
	}
	if err := s.Cut.validate(); err != nil {
		return s, "", err
	}
	return s.choose(p, secondLevel())
}

// atOnce is the cut for visits of all blocks at once: runs of nodes, unless another is asked for. Their
// features and messages lie beside each other, which saves more than fewer cut edges would: a pass of a
// Barabási–Albert graph of 100,000 nodes takes 0.22 s with ranges and 0.31 s with blocks grown
// breadth first (results/2026-11-ranks.md). As many blocks as an ordinary pass has visits do for as many
// threads or processes.
func (c Cut) atOnce(data []*crf.Instance) Cut {
	nodes := 0
	for _, in := range data {
		nodes = max(nodes, in.Graph.NumNodes())
	}
	if c.Kind == "" {
		c.Kind = cutRanges
	}
	if c.Blocks == 0 {
		c.Blocks = max(1, min(defaultBlocks, nodes))
	}
	return c
}

func (s Settings) choose(p *Problem, cache float64) (Settings, string, error) {
	s.Method = BBPL
	switch {
	case p.cut() != nil:
		return s, fmt.Sprintf("blocks: the network is partitioned, into %d", p.cut().Blocks), nil
	case s.Cut == (Cut{Blocks: 1}) && s.Assign == nil && s.Together <= 1 && !s.AtOnce:
		return s, "whole networks were asked for", nil
	case s.Assign != nil || s.Cut != (Cut{}) || s.Together > 1 || s.AtOnce:
		return s, "blocks were asked for", nil
	}
	blocks, largest := blocksNeeded(p.Model, p.Data, cache)
	switch share := cacheShare * cache; {
	case blocks <= defaultBlocks:
		s.Cut.Blocks = 1
		return s, fmt.Sprintf("whole networks: blocks pay where more than %d of them would each fill %s of cache, and the largest network, of %d nodes and %d edges, would fill %d",
			defaultBlocks, memory.Text(share), largest.Graph.NumNodes(), largest.Graph.NumEdges(), blocks), nil
	case inOrder(largest.Graph) && p.isExact(largest.Graph):
		s.Cut.Blocks = 1
		return s, fmt.Sprintf("whole networks: a sweep back and forth infers the largest, of %d nodes and %d edges, exactly",
			largest.Graph.NumNodes(), largest.Graph.NumEdges()), nil
	case cutsMuch(largest, defaultBlocks):
		s.Cut.Blocks = 1
		return s, fmt.Sprintf("whole networks: %d blocks of the largest would have more than %.0f %% of its %d edges between them, and do their work twice",
			defaultBlocks, 100*mostCut, largest.Graph.NumEdges()), nil
	default:
		return s, fmt.Sprintf("blocks: the largest network, of %d nodes and %d edges, would fill %s of cache %d times",
			largest.Graph.NumNodes(), largest.Graph.NumEdges(), memory.Text(share), blocks), nil
	}
}

// resolve returns the settings that a run of a problem has, or the first constraint that
// settings or problem violate.
func (s Settings) resolve(p *Problem) (Settings, error) {
	if err := s.Validate(p); err != nil {
		return s, err
	}
	chosen, _, err := s.Choose(p)
	chosen = chosen.Resolved()
	if err == nil && (!chosen.Method.Local() || chosen.Method == Exact) { // the others leave hidden labels out
		chosen.unlabelled = instances.FindUnlabelled(p.Model, p.Data)
	}
	return chosen, err
}
