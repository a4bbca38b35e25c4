package learn

import (
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/instances"
)

// Cut says how networks are cut into blocks, all of them into as many. The zero value leaves everything to Fit: tiles
// for networks on grids, blocks grown breadth-first for others; 20 of them, or more where half of the second-level
// cache asks for more, but no more than the largest network has nodes. A network that is too small for so many has
// empty blocks, which cost nothing.
type Cut struct {
	// Kind is "tiles" (rectangles of a grid), "range" (runs of node numbers), "bfs" (grown
	// breadth-first), or "" for what suits the networks.
	Kind string
	// Blocks per network; 0: Fit decides.
	Blocks int
	// Rows and Cols of tiles, both in place of Blocks; Kind is then "tiles" or "".
	Rows, Cols int
}

// Choose puts BBPL in the place of method Auto, and decides whether networks are cut. Only sizes and edges count, and
// the second-level cache of this machine: no feature, no label and no weight is looked at. reason says in words what
// decided, "" where another method was asked for: those settings are returned as they are.
//
// Networks are cut if a cut was asked for, or if the largest is so large that more than 20 blocks of it are needed
// for the visit of one to stay in the cache, and 20 blocks share few edges. Others stay whole, in one block. Steps that
// look at curvature gain little by moving after every 20th of a network, and both blocks of a cut edge do its work:
// whole networks took 0.2 to 1.1 of the time. Chains are never cut: a sweep back and forth infers them, while what
// passes from block to block is late by visits, and misleads steps.
func (s Settings) Choose(p *Problem) (chosen Settings, reason string, err error) {
	if s.Resolved().Method != Auto {
		return s, "", nil
	}
	if p.Model == nil || len(p.Data) == 0 {
		return s, "", s.Validate(p)
	}
	if err := cut.Cut(s.Cut).Validate(); err != nil {
		return s, "", err
	}
	return s.choose(p, cut.Cache())
}

func (s Settings) choose(p *Problem, cache float64) (Settings, string, error) {
	s.Method = BBPL
	switch {
	case s.Cut == (Cut{Blocks: 1}) && s.Assign == nil && s.Together <= 1:
		return s, "whole networks were asked for", nil
	case s.Assign != nil || s.Cut != (Cut{}) || s.Together > 1:
		return s, "blocks were asked for", nil
	}
	blocks, why := cut.Pays(p.Model, p.Data, cache, p.isExact)
	if blocks {
		return s, "blocks: " + why, nil
	}
	s.Cut.Blocks = 1
	return s, "whole networks: " + why, nil
}

// resolve returns the settings that a run of a problem has, or the first constraint that settings or problem violate.
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
