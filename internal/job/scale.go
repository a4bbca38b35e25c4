package job

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/spill"
	"github.com/blockbp/blockbp/internal/standardise"
)

// The values of Options.Scale: each feature of nodes has the deviation 1, or all have one divisor, with which the
// root mean square of their deviations is the number behind scaleOne.
const (
	scaleAuto = "auto"
	scaleEach = "each"
	scaleOne  = "one:"
)

// onScale is the change of scale that Options.Scale names, made of the one with which each deviation is 1.
func onScale(each *standardise.Map, scale string) (*standardise.Map, error) {
	text, one := strings.CutPrefix(scale, scaleOne)
	if !one && (scale == scaleAuto || scale == scaleEach) {
		return each, nil
	}
	size, err := strconv.ParseFloat(text, 64)
	if !one || err != nil || !(size > 1e-100 && size < 1e100) {
		return nil, usagef("{scale} %q: want auto, each, or one:D with a deviation D, such as one:0.5", scale)
	}
	if each == nil {
		return nil, nil
	}
	return each.Together(size), nil
}

// onto puts instances on a scale, if there is one, in a space, if there is one, and leaves them as they are.
func onto(ctx context.Context, scale *standardise.Map, raw []*crf.Instance, space *spill.Space) (
	scaled []*crf.Instance, err error) {
	scaled = slices.Clone(raw)
	for i := 0; i < len(raw) && scale != nil; i++ {
		in := raw[i]
		if err = parallel.Ended(ctx); err == nil && space != nil {
			err = space.Reserve(scale.Room(in))
		}
		if err != nil {
			return nil, err
		}
		scaled[i] = scale.Instance(in, space)
	}
	return scaled, nil
}
