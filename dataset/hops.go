package dataset

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// mostHops bounds Options.Hops: means over so many hardly tell apart the nodes of a
// connected part.
const mostHops = 16

// hops is over how many of them features are means.
func (o *Options) hops() int {
	if o.Recipe != nil {
		return o.Recipe.Hops
	}
	return o.Hops
}

// smoothed replaces the features of a graph's nodes by means, where that is asked for, and
// returns which nodes have any.
func (l *loader) smoothed(file string, of *graph.Graph, features crf.Features, known []bool) (crf.Features, []bool) {
	hops := l.o.hops()
	if hops == 0 || features.Dim() == 0 {
		return features, known
	}
	s := hopMeans{Context: l.ctx, Graph: of, Known: known, Hops: hops}
	l.allow(file, "", fmt.Sprintf("means of features over %d hops", hops), s.Bytes(&features), l.o.Memory, nil)
	if len(l.problems) > 0 {
		return features, known
	}
	means, reached, err := s.Of(&features)
	if err != nil {
		l.fail(err)
		return features, known
	}
	if without := count(known, false); without > 0 {
		l.warn("%s: the features of %d nodes are not known; means over %d hops leave %d of them without", file, without,
			hops, count(reached, false))
	}
	return means, reached
}

func count(list []bool, value bool) (n int) {
	for _, x := range list {
		if x == value {
			n++
		}
	}
	return n
}
