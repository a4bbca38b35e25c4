package job

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
)

// hints say which choices will not do what they seem to.
func hints(o *Options, data []*crf.Instance) (texts []string) {
	if o.Precision == bp.Single.String() && !bp.SingleIsFaster() {
		texts = append(texts, "--precision f32 is slower than f64 here: without AVX2 or AVX-512 it runs in plain Go")
	}
	if !o.Method.Local() {
		return texts
	}
	if terms, left := leftOut(data); left > 0 {
		texts = append(texts, fmt.Sprintf("--method %s leaves out every term that a missing label takes part in: %d of %d nodes and edges; the other methods sum over missing labels instead", o.Method, left, terms))
	}
	return texts
}

// leftOut counts the nodes and edges of all samples, and those without the labels
// that a local term needs.
func leftOut(data []*crf.Instance) (terms, left int) {
	for _, in := range data {
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples() {
			terms += len(labels) + len(u)
			for _, y := range labels {
				if y == crf.Unobserved {
					left++
				}
			}
			for e := range u {
				if labels[u[e]] == crf.Unobserved || labels[v[e]] == crf.Unobserved {
					left++
				}
			}
		}
	}
	return terms, left
}
