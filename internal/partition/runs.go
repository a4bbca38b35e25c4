package partition

import (
	"slices"

	"github.com/blockbp/blockbp/graph"
)

// WindowNodes is how many consecutive nodes of a block are sorted into runs among themselves: few enough for their
// tables to stay in a cache while run after run picks nodes from all over the window.
const WindowNodes = 1024

// orderRuns puts the nodes of every block into runs, of which no two nodes are neighbours. A node comes into the run
// after the last one of its neighbours that are before it in Nodes, so that visiting run after run updates every node
// from the same neighbours, new or old, as visiting Nodes one after the other: runs change what can be done at a
// time, and not the result.
func (p *Partition) orderRuns() {
	run := make([]int32, p.Graph.NumNodes())             // of the nodes of the window that were placed, from 1 on; else 0
	order := make([]int32, len(run))                     // of all blocks, one behind the other; and so are runs
	runs := make([]int32, 0, len(run)/2+2*len(p.Blocks)) // mostly enough
	var count []int32
	end := make([]int, len(p.Blocks)) // of the runs of each block
	for b := range p.Blocks {
		block := &p.Blocks[b]
		n := len(block.Nodes)
		block.Order, order = order[:n:n], order[n:]
		runs = append(runs, 0)
		for lo := 0; lo < len(block.Nodes); lo += WindowNodes {
			window := block.Nodes[lo:min(lo+WindowNodes, len(block.Nodes))]
			count = p.chooseRuns(window, int32(b), run, count)
			runs = block.appendRuns(runs, lo, window, run, count)
		}
		end[b] = len(runs)
	}
	begin := 0
	for b := range p.Blocks {
		p.Blocks[b].Runs = runs[begin:end[b]:end[b]]
		begin = end[b]
	}
}

// chooseRuns numbers the runs of the nodes of a window from 1 on, and returns how many nodes each of them has. Where
// runs are colours a node comes into the first that has none of its neighbours.
func (p *Partition) chooseRuns(window []int32, block int32, run, count []int32) []int32 {
	count = append(count[:0], 0)
	var taken []int32 // runs of neighbours
	for _, s := range window {
		next := int32(1)
		taken = taken[:0]
		for _, d := range p.Graph.Incoming(s) {
			if t := p.Graph.Source(d); p.Of[t] == block {
				if next = max(next, run[t]+1); p.Coloured {
					taken = append(taken, run[t])
				}
			}
		}
		if p.Coloured {
			slices.Sort(taken)
			next = 1
			for _, r := range taken {
				if r == next {
					next++
				}
			}
		}
		run[s] = next
		if int(next) == len(count) {
			count = append(count, 0)
		}
		count[next]++
	}
	return count
}

// appendRuns sorts the window, which begins at position lo, by runs into Order and appends the end of each run to
// runs. It clears the runs of its nodes: for later windows they are in the past.
func (b *Block) appendRuns(runs []int32, lo int, window, run, count []int32) []int32 {
	at := int32(lo)
	for r, n := range count[1:] {
		count[r+1] = at
		at += n
		runs = append(runs, at)
	}
	for i, s := range window {
		b.Order[count[run[s]]] = int32(lo + i)
		count[run[s]]++
	}
	for _, s := range window {
		run[s] = 0
	}
	return runs
}

// InOrder reports that every node has at most one neighbour before it, as in chains, and in trees whose nodes come
// after the one above. Then messages of a sweep back have all that comes from below, and those of one forth the rest.
func InOrder(g *graph.Graph) bool {
	us, vs := g.Ends()
	before := make([]bool, g.NumNodes())
	for e := range us {
		later := max(us[e], vs[e])
		if before[later] {
			return false
		}
		before[later] = true
	}
	return true
}
