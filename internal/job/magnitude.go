package job

import (
	"math"
	"slices"
	"strconv"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/numeric"
)

// checkMagnitudes refuses features whose values in all the data are below the range that
// numbers may have. Those above are refused where they stand, when they are read. A single
// small value beside larger ones does no harm.
func checkMagnitudes(set *dataset.Set) error {
	check := func(kind, name string, names []string, dim int, of func(in *crf.Instance) *crf.Features) error {
		for j, most := range faint(set.Instances, dim, of) {
			if most == 0 || most >= numeric.Least {
				continue
			}
			feature := strconv.Itoa(j)
			if j < len(names) {
				feature = strconv.Quote(names[j])
			}
			return dataf("%s type %q: the largest magnitude of feature %s is %v, want 0, or %s; "+
				"rescale the feature, for example to a standard deviation of 1",
				kind, name, feature, most, numeric.Range)
		}
		return nil
	}
	for a, t := range set.Schema.NodeTypes {
		features := func(in *crf.Instance) *crf.Features { return in.NodeFeatures(a) }
		if err := check("node", t.Name, t.FeatureNames, t.Features, features); err != nil {
			return err
		}
	}
	for b, t := range set.Schema.EdgeTypes {
		features := func(in *crf.Instance) *crf.Features { return in.EdgeFeatures(b) }
		if err := check("edge", t.Name, t.FeatureNames, t.Features, features); err != nil {
			return err
		}
	}
	return nil
}

// faint returns the largest magnitude of each feature, nil where no value is below the range.
func faint(data []*crf.Instance, dim int, of func(in *crf.Instance) *crf.Features) (largest []float64) {
	if !slices.ContainsFunc(data, func(in *crf.Instance) bool {
		return slices.ContainsFunc(doubles(of(in)), func(x float64) bool { return x != 0 && math.Abs(x) < numeric.Least })
	}) {
		return nil
	}
	largest = make([]float64, dim)
	for _, in := range data {
		f := of(in)
		for r := range f.Rows() {
			for j, x := range f.Entries(r) {
				largest[j] = max(largest[j], math.Abs(x))
			}
		}
	}
	return largest
}

// doubles are the values that are kept in double precision: single precision ends above the range.
func doubles(f *crf.Features) []float64 {
	m := f.Data()
	switch {
	case m.Book != nil:
		return m.Book
	case m.Start != nil:
		return m.Value
	}
	return m.Double
}
