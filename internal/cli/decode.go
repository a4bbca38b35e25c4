package cli

import (
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// decoding is how beliefs become labels.
type decoding string

// The two kinds of labels.
const (
	decodeMarginals decoding = "marginals"
	decodeMAP       decoding = "map"
)

func (d *decoding) register(fl *pflag.FlagSet) {
	fl.StringVar((*string)(d), "decode", string(decodeMarginals), "labels: marginals, the most likely state of every node, or map, a most probable joint state")
}

func (d decoding) check() error {
	if d != decodeMarginals && d != decodeMAP {
		return usagef("--decode %q: want %s or %s", string(d), decodeMarginals, decodeMAP)
	}
	return nil
}

// jointTolerance is the share of itself by which the bound on a joint state must rise
// in 20 sweeps to go on. States hardly change any more then, and on pictures, which
// have many nodes, sweeps take long.
const jointTolerance = 1e-5

// joint returns how to find a most probable joint state, nil if that is not asked
// for.
func (d decoding) joint(maxSweeps int) *infer.Limits {
	if d == decodeMAP {
		return &infer.Limits{Tolerance: jointTolerance, MaxSweeps: maxSweeps}
	}
	return nil
}

// jointState is what predict says of a most probable joint state.
type jointState struct {
	Method     infer.Method    `json:"method"`
	Energy     runfolder.Float `json:"energy"`
	LowerBound runfolder.Float `json:"lower_bound"`
	Gap        runfolder.Float `json:"gap"`
	Optimal    bool            `json:"optimal"`
}
