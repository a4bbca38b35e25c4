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

// makeSpace makes the file, if one is asked for, and moves what is known already.
func (l *learner) makeSpace() error {
	if l.settings.Spill == "" {
		return nil
	}
	l.space = &spill.Space{Folder: l.settings.Spill}
	if err := l.space.Reserve(l.spaceBytes()); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	l.eachPartition(func(p *partition.Partition) {
		p.EachList(func(list *[]int32) { *list = spill.Copy(l.space, *list) })
	})
	return nil
}

// fetchTogether is for how many jobs a disk is asked at a time. Blocks are of the size of a cache, so
// that it is some megabytes, and many blocks beside each other.
const fetchTogether = 64

// fetchAhead asks for what the jobs need that come fetchTogether after the i-th one that is done here,
// and for the lists that say what it is some time before.
func (l *learner) fetchAhead(w *worker, v *visit, i int) {
	if i%fetchTogether != 0 {
		return
	}
	lists, rows := i+2*fetchTogether, i+fetchTogether
	if i == 0 {
		lists, rows = 0, 0
	}
	fetch := func(from, to int, want func(p *spill.Pages, v *visit, u *unit, block int)) {
		for ; from < min(to, len(v.jobs)); from++ {
			block, lo, hi := l.job(v.blocks, int(v.jobs[from]))
			for _, u := range l.units[lo:hi] {
				want(&w.pages, v, u, block)
			}
		}
		w.pages.Fetch()
	}
	fetch(lists, i+3*fetchTogether, l.wantLists)
	fetch(rows, i+2*fetchTogether, l.wantRows)
}

func (l *learner) wantLists(p *spill.Pages, _ *visit, u *unit, block int) {
	u.partition.Blocks[block].EachList(func(list *[]int32) { spill.Want(p, *list, 0, len(*list)) })
}

// wantRows adds what a visit reads and writes of a block.
func (l *learner) wantRows(p *spill.Pages, v *visit, u *unit, block int) {
	b := &u.partition.Blocks[block]
	row := func(f *crf.Features, r int) {
		x := f.Data()
		spill.Want(p, x.Double, r*x.Dim, x.Dim)
		spill.Want(p, x.Single, r*x.Dim, x.Dim)
	}
	belief := func(s int32) {
		if at := u.net.BeliefAt(s); at >= 0 {
			spill.Want(p, u.state.LogBelief, at, int(u.net.Card[s]))
		}
	}
	spill.Want(p, l.contribution, block*l.stride, l.stride)
	for i, g := range b.Groups {
		if i > 0 && l.keepsCut() {
			at, n := l.cutRange(u, &g)
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
	for _, s := range b.Nodes {
		row(u.in.NodeFeatures(u.in.NodeType(s)), u.in.NodeRow(s))
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
	for _, s := range b.Nodes {
		belief(s)
	}
	from, to := u.in.Graph.Ends()
	for _, e := range b.Edges[b.Groups[0].Hi:] { // others see the belief of the end that is not here
		belief(from[e])
		belief(to[e])
	}
}

// readApart tells the system whether pieces of what lies in files are asked for, as visits do, or read
// in their order, as all else does.
func (l *learner) readApart(apart bool) {
	if l.space == nil {
		return
	}
	l.space.Apart(apart)
	for _, u := range l.units {
		for _, f := range instances.Features(u.in) {
			spill.Apart(f.Data().Double, apart)
			spill.Apart(f.Data().Single, apart)
		}
	}
}

// eachPartition calls do for every partition, which units may share, once.
func (j *unitSet) eachPartition(do func(*partition.Partition)) {
	seen := map[*partition.Partition]bool{}
	for _, u := range j.units {
		if !seen[u.partition] {
			seen[u.partition] = true
			do(u.partition)
		}
	}
}

// spaceBytes is how large the file is.
func (l *learner) spaceBytes() (bytes int64) {
	bytes = spill.Room[float64](l.blocks * l.stride)
	for _, u := range l.units {
		messages, beliefs := u.net.Messages(), u.net.Beliefs()
		bytes += spill.Room[float64](messages) + spill.Room[float64](beliefs) + spill.Room[float64](l.cutNumbers(u))
		bytes += int64(l.copiesMade()) * spill.Room[float64](messages+beliefs)
	}
	return bytes + l.listBytes()
}

// listBytes is what the lists of the blocks take of it.
func (l *learner) listBytes() (bytes int64) {
	l.eachPartition(func(p *partition.Partition) {
		p.EachList(func(list *[]int32) { bytes += spill.Room[int32](len(*list)) })
	})
	return bytes
}

// close ends the threads of the run, and gives its memory back.
func (l *learner) close() {
	l.pool.Close()
	l.readApart(false)
	l.space.Close()
}
