package learn

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/machine"
)

// useLargePages asks for large pages for features that visits of blocks go back to, as
// machine.Zeros does for all else. On graphs without an order, such as Barabási–Albert ones, nearly
// every edge between blocks has its features and messages on pages of their own.
func (l *learner) useLargePages() {
	for _, in := range l.problem.Data {
		for t := range l.model.Layout.Node {
			useLargePages(in.NodeFeatures(t))
		}
		for t := range l.model.Layout.Edge {
			useLargePages(in.EdgeFeatures(t))
		}
	}
}

func useLargePages(f *crf.Features) {
	machine.LargePages(f.Data().Double)
	machine.LargePages(f.Data().Single)
	machine.LargePages(f.Data().Value)
}
