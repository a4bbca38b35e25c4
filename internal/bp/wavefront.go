package bp

import (
	"context"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
)

// Sweeps need not wait for each other's end: a sweep may update a segment of nodes as soon as the sweep before has
// updated all that this reads. So several sweeps run over a large network like waves, one behind the other at a fixed
// distance, and each time all of them update one segment: on threads of their own where there are some, and on one
// thread while caches still have what the wave before has left. Each node is updated from the same numbers as by one
// sweep after the other: results are the same bytes.

const (
	// waves is how many sweeps are under way at once. More would use more threads; but all of them are made before it is
	// known whether the first was enough, and pictures take about ten.
	waves = 4
	// ManyNodes is from how many nodes on sweeps are made so: in a picture a wave is two segments behind the one before,
	// so that fewer segments leave nothing to do at once.
	ManyNodes = 4 * waves * partition.WindowNodes
)

// wavefront is some sweeps that are made at once.
type wavefront struct {
	net      *Net
	block    *partition.Block
	segments []segment
	distance int // in segments, between two waves
	waves    [waves]wave
}

// segment is some nodes of the block that follow each other.
type segment struct {
	first, end int // of the block's runs
	// messages and beliefs are the ends of what updates of this and all segments before read, in the arrays of a State:
	// momentum moves messages and beliefs on so far ahead of the segment.
	messages, beliefs int
}

// wave is one of the sweeps.
type wave struct {
	space             *Workspace // scratch
	momentum          float64    // β
	residual          float64
	messages, beliefs int // how many momentum has moved on
	err               error
}

// planWavefront finds the segments of a block. It reports false where there are too few.
func (w *Workspace) planWavefront(net *Net, block *partition.Block) bool {
	f := &w.wavefront
	const size = partition.WindowNodes // of a segment: runs are formed within windows
	if len(block.Nodes) < ManyNodes {
		return false
	}
	if f.net == net && f.block == block {
		return true
	}
	f.net, f.block, f.segments, f.distance = net, block, f.segments[:0], 0
	of := make([]int, net.Graph.NumNodes()) // the segment of a node of the block; 0 of others, which no sweep changes
	for p, s := range block.Nodes {
		of[s] = p / size
	}
	var t segment
	edge, node, last := int32(0), int32(0), 0 // what is read so far, and the last segment that reads it, too
	for lo := 0; lo < len(block.Nodes); lo += size {
		hi := min(lo+size, len(block.Nodes))
		edges, nodes := edge, node
		for _, s := range block.Nodes[lo:hi] {
			nodes = max(nodes, s+1)
			for _, d := range net.Graph.Incoming(s) {
				edges, nodes = max(edges, d>>1+1), max(nodes, net.Graph.Source(d)+1)
			}
		}
		for ; edge < edges; edge++ {
			for _, d := range [2]int32{2 * edge, 2*edge + 1} {
				if target := net.Graph.Target(d); net.BeliefAt(target) >= 0 {
					t.messages += int(net.Card[target])
					last = max(last, of[target])
				}
			}
		}
		for ; node < nodes; node++ {
			if net.BeliefAt(node) >= 0 {
				t.beliefs += int(net.Card[node])
			}
			for _, d := range net.Graph.Incoming(node) {
				last = max(last, of[node], of[net.Graph.Source(d)])
			}
		}
		for t.first = t.end; int(block.Runs[t.end]) < hi; t.end++ {
		}
		f.distance = max(f.distance, last+1-len(f.segments))
		f.segments = append(f.segments, t)
	}
	return true
}

// sweepTogether makes n sweeps, at most waves of them, so many after momentum began, and returns the
// residuals of the first and the last.
func (w *Workspace) sweepTogether(net *Net, st *State, after, n int, how plan) (first, last float64, err error) {
	f := &w.wavefront
	for i := range n {
		v := &f.waves[i]
		*v = wave{space: v.space, momentum: how.beta(after + i)}
		if v.space == nil {
			v.space = &Workspace{}
		}
		s := v.space
		s.Potentials, s.arena, s.at, s.forms, s.wide, s.noProx = w.Potentials, w.arena, w.at, w.forms, w.wide, w.noProx
		s.fit(net.maxCard, net.maxPair)
		s.beginSweep(net, st, f.block, how.damping) // its damping is the same, as there is no prox (Facts.Dual)
	}
	step := 0
	advance := func(i int) {
		if k := step - i*f.distance; k >= 0 && k < len(f.segments) && f.waves[i].err == nil {
			w.advance(net, st, &f.waves[i], f.segments[k], how.damping)
		}
	}
	for ; step < len(f.segments)+(n-1)*f.distance; step++ {
		_ = parallel.Each(context.Background(), n, max(1, w.Threads), advance)
	}
	for i := range n {
		if err := f.waves[i].err; err != nil {
			return 0, 0, err
		}
	}
	return f.waves[0].residual, f.waves[n-1].residual, nil
}

// advance takes a wave over a segment. After an error it stays where it is, and those behind it are of no use.
func (w *Workspace) advance(net *Net, st *State, v *wave, over segment, damping float64) {
	w.last.extrapolate(st, v.messages, over.messages, v.beliefs, over.beliefs, v.momentum)
	v.messages, v.beliefs = over.messages, over.beliefs
	block := w.wavefront.block
	for r := over.first; r < over.end && v.err == nil; r++ {
		var change float64
		change, v.err = v.space.updateRun(net, st, block, block.Runs[r], block.Runs[r+1], damping)
		v.residual = max(v.residual, change)
	}
}
