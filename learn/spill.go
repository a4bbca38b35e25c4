package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/spill"
)

// With Settings.Spill what is kept between visits, in proportion to the network, lies in a file:
// messages, beliefs, contributions and where messages began a pass, and the lists of the blocks.
// A visit goes through the network once for each chunk of a set, and sets follow each other, so that
// the system reads ahead and writes back long runs of pages.

// makeSpace makes the file, if one is asked for, and moves what is known already.
func (l *learner) makeSpace() (err error) {
	if l.settings.Spill == "" {
		return nil
	}
	if l.space, err = spill.Reserve(l.settings.Spill, l.spaceBytes()); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	l.eachPartition(func(p *partition.Partition) {
		p.EachList(func(list *[]int32) { *list = spill.Copy(l.space, *list) })
	})
	return nil
}

// eachPartition calls do for every partition, which units may share, once.
func (l *learner) eachPartition(do func(*partition.Partition)) {
	seen := map[*partition.Partition]bool{}
	for _, u := range l.units {
		if !seen[u.part] {
			seen[u.part] = true
			do(u.part)
		}
	}
}

// spaceBytes is how large the file is.
func (l *learner) spaceBytes() (bytes int64) {
	for _, b := range l.bundles {
		bytes += spill.Room[float64](b.groups() * l.stride)
	}
	for _, u := range l.units {
		messages, beliefs := u.net.Messages(), u.net.Beliefs()
		bytes += spill.Room[float64](messages) + spill.Room[float64](beliefs) + spill.Room[float64](u.sparseEdges.numbers)
		if l.gathers() {
			bytes += spill.Room[float64](messages + beliefs)
		}
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

// addKept lists what lies in the file, or without one in memory.
func (l *learner) addKept(m *Memory, name string, bytes float64, perhaps bool, reason string, values ...any) {
	m.AddItem(MemoryItem{
		Name: name, Bytes: saturated(bytes), Reason: fmt.Sprintf(reason, values...),
		Perhaps: perhaps && l.settings.Spill == "", Spilled: l.settings.Spill != "",
	})
}

// close ends the threads of the run, and gives its memory back.
func (l *learner) close() {
	l.pool.close()
	l.space.Close()
}
