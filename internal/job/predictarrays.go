package job

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Files of PredictArrays.
const (
	labelsFile  = "labels.npy"
	beliefsFile = "beliefs.npy"
)

// PredictArrays labels instances of a set and writes what PredictInto writes of each into
// two arrays for all, one behind the other: labels.npy [rows] and beliefs.npy
// [rows, states], filled up with 0. predict.json has the rows of each.
func (w Inference) PredictArrays(ctx context.Context, run *runfolder.Run, set *dataset.Set,
	instances []*crf.Instance, held [][]int32) (*Prediction, error) {
	started := time.Now()
	p := &Prediction{Out: run.Dir(), States: stateNames(set), worst: w.unsettled()}
	rows, states := 0, 0
	for i, in := range instances {
		states = max(states, int(slices.Max(in.Cards())))
		if rows += in.Graph.NumNodes(); i < len(set.Rows) && set.Rows[i] != nil {
			rows += len(set.Rows[i]) - in.Graph.NumNodes()
		}
	}
	labels, file := make([]int32, 0, rows), run.Path(beliefsFile)
	err := run.WriteFile(beliefsFile, func(out io.Writer) error {
		if err := npy.WriteHeader[float64](out, []int{rows, states}); err != nil {
			return err
		}
		var table []float64
		return w.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
			b = inRows(set, i, b)
			labels, table = append(labels, set.Labels(instances[i], b.Labels)...), table[:0]
			for s := range b.Labels {
				of := b.Of(s)
				table = append(append(table, of...), make([]float64, states-len(of))...)
			}
			p.note(instances[i].Name, file, b)
			return npy.WriteData(out, table)
		})
	})
	if err != nil {
		return nil, err
	}
	if err := run.WriteFile(labelsFile, func(out io.Writer) error {
		return npy.Write(out, []int{rows},
			labels)
	}); err != nil {
		return nil, err
	}
	p.Seconds = time.Since(started).Seconds()
	return p, run.WriteJSON("predict.json", p)
}
