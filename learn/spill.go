package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/spill"
)

// With Settings.Spill what is kept between visits, in proportion to the network, lies in a file:
// messages, beliefs, contributions and where messages began a pass, and the lists of the blocks.
//
// A block has a few numbers here and there in each array: its rows of a grid are a page apart or more.
// A system that reads ahead of each reads the network many times over, and one that reads page by page
// makes more requests than a disk can answer. So visits ask, some jobs ahead, for exactly what they
// need of many blocks, whose pieces lie together: a set has blocks that follow each other.

// spilled is what lies in such a file.
type spilled struct {
	*unitSet
	shape *contributionLayout
	space *spill.Space // nil: all is in memory
}

// begin makes the file, if a folder is named for it, and moves what is known already. Messages will be copied so often.
func (s *spilled) begin(folder string, copies int) error {
	if folder == "" {
		return nil
	}
	s.space = &spill.Space{Folder: folder}
	if err := s.space.Reserve(s.bytes(copies)); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	s.eachPartition(func(p *partition.Partition) {
		p.EachList(func(list *[]int32) { *list = spill.Copy(s.space, *list) })
	})
	return nil
}

// bytes is how large the file is.
func (s *spilled) bytes(copies int) (bytes int64) {
	bytes = spill.Room[float64](s.blocks * s.shape.stride)
	for _, u := range s.units {
		messages, beliefs := u.net.Messages(), u.net.Beliefs()
		bytes += spill.Room[float64](messages) + spill.Room[float64](beliefs) + spill.Room[float64](s.shape.cutNumbers(u))
		bytes += int64(copies) * spill.Room[float64](messages+beliefs)
	}
	s.eachPartition(func(p *partition.Partition) {
		p.EachList(func(list *[]int32) { bytes += spill.Room[int32](len(*list)) })
	})
	return bytes
}

// fetchTogether is for how many jobs a disk is asked at a time. Blocks are of the size of a cache, so
// that it is some megabytes, and many blocks beside each other.
const fetchTogether = 64

// fetchAhead asks for what the jobs need that come fetchTogether after the i-th one that is done here,
// and for the lists that say what it is some time before.
func (s *spilled) fetchAhead(p *spill.Pages, v *jobRound, i int) {
	if s.space == nil || i%fetchTogether != 0 {
		return
	}
	lists, rows := i+2*fetchTogether, i+fetchTogether
	if i == 0 {
		lists, rows = 0, 0
	}
	fetch := func(from, to int, want func(*spill.Pages, *visit, *unit, int)) {
		for ; from < min(to, len(v.jobs)); from++ {
			block, lo, hi := s.job(v.blocks, int(v.jobs[from]))
			for _, u := range s.units[lo:hi] {
				want(p, &v.visit, u, block)
			}
		}
		p.Fetch()
	}
	fetch(lists, i+3*fetchTogether, func(p *spill.Pages, _ *visit, u *unit, block int) {
		u.partition.Blocks[block].EachList(func(list *[]int32) { spill.Want(p, *list, 0, len(*list)) })
	})
	fetch(rows, i+2*fetchTogether, s.wantRows)
}

// wantRows adds what a visit reads and writes of a block.
func (s *spilled) wantRows(p *spill.Pages, v *visit, u *unit, block int) {
	b := &u.partition.Blocks[block]
	row := func(f *crf.Features, r int) {
		x := f.Data()
		spill.Want(p, x.Double, r*x.Dim, x.Dim)
		spill.Want(p, x.Single, r*x.Dim, x.Dim)
	}
	belief := func(node int32) {
		if at := u.net.BeliefAt(node); at >= 0 {
			spill.Want(p, u.state.LogBelief, at, int(u.net.Card[node]))
		}
	}
	spill.Want(p, s.contribution, block*s.shape.stride, s.shape.stride)
	for i, g := range b.Groups {
		if i > 0 {
			at, n := s.shape.cutRange(u, &g)
			spill.Want(p, u.cutBeliefs, at, n)
			for _, e := range b.Edges[g.Lo:g.Hi] {
				row(u.in.EdgeFeatures(u.in.EdgeType(e)), u.in.EdgeRow(e))
			}
		}
	}
	if v.kind == sumVisit {
		return
	}
	// One array after the other, as pieces of one that follow each other are joined.
	for _, node := range b.Nodes {
		row(u.in.NodeFeatures(u.in.NodeType(node)), u.in.NodeRow(node))
	}
	for _, e := range b.Edges {
		row(u.in.EdgeFeatures(u.in.EdgeType(e)), u.in.EdgeRow(e))
	}
	for _, e := range b.Edges {
		for d := 2 * e; d < 2*e+2; d++ {
			if at := u.net.MessageAt(d); at >= 0 {
				spill.Want(p, u.state.LogMessage, at, int(u.net.Card[u.in.Graph.Target(d)]))
			}
		}
	}
	for _, node := range b.Nodes {
		belief(node)
	}
	from, to := u.in.Graph.Ends()
	for _, e := range b.Edges[b.Groups[0].Hi:] { // others see the belief of the end that is not here
		belief(from[e])
		belief(to[e])
	}
}

// readApart tells the system whether pieces of what lies in files are asked for, as visits do, or read
// in their order, as all else does.
func (s *spilled) readApart(apart bool) {
	if s.space == nil {
		return
	}
	s.space.Apart(apart)
	for _, u := range s.units {
		for _, f := range instances.Features(u.in) {
			spill.Apart(f.Data().Double, apart)
			spill.Apart(f.Data().Single, apart)
		}
	}
}
