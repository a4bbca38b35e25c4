package learn

import "github.com/blockbp/blockbp/internal/partition"

// Sizes says what a run works on, before it is started.
type Sizes struct {
	Instances   int     `json:"instances"`
	Nodes       int     `json:"nodes"`
	Edges       int     `json:"edges"`
	Weights     int     `json:"weights"`
	Blocks      int     `json:"blocks"`
	CutFraction float64 `json:"cut_fraction"` // of the first instance
	StateBytes  int64   `json:"state_bytes"`
}

// Measure reports the size of a run as Fit would set it up, and takes none of the memory of the run: see Forecast.
func Measure(p Problem, settings Settings) (*Sizes, error) {
	l, err := plan(&p, settings)
	if err != nil {
		return nil, err
	}
	if err := l.memory().Within(settings.Memory); err != nil {
		return nil, err
	}
	return l.measure(), nil
}

func (l *learner) measure() *Sizes {
	sizes := l.sizes(l.blocks, l.stateBytes())
	sizes.CutFraction = partition.CutShare(l.units[0].in.Graph, l.units[0].partition.Of)
	return sizes
}

func (l *localLearner) measure() *Sizes { return l.sizes(1, l.stateBytes()) }
