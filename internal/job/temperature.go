package job

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// MetaTemperature is the key, of a model file's metadata, of the temperature of its beliefs.
const MetaTemperature = "temperature"

// Temperature is that of the model's beliefs, as infer.Predictor.Temperature; 1 where none was chosen.
func (m *Model) Temperature() float64 {
	if t, err := strconv.ParseFloat(m.Meta[MetaTemperature], 64); err == nil {
		return t
	}
	return 1
}

// setTemperature makes it part of the model.
func (m *Model) setTemperature(t float64) {
	meta := map[string]string{}
	maps.Copy(meta, m.Meta) // which another model may share
	meta[MetaTemperature] = strconv.FormatFloat(t, 'g', -1, 64)
	m.Meta = meta
}

// Calibration says how the temperature of beliefs was chosen, and what that gained on the set that it was chosen on.
type Calibration struct {
	Set           string          `json:"set"`
	Temperature   float64         `json:"temperature"`
	LogLossBefore runfolder.Float `json:"log_loss_before"`
	LogLoss       runfolder.Float `json:"log_loss"`
}

// Text says it to people.
func (c *Calibration) Text() string {
	return fmt.Sprintf("temperature %.4g of beliefs, chosen on %s: log loss %.4f → %.4f", c.Temperature, c.Set,
		float64(c.LogLossBefore), float64(c.LogLoss))
}

// Powers of beliefs that a temperature is chosen from are calibrationSteps to either side, four to a factor of 2:
// closer ones change log losses in the fourth digit.
const calibrationSteps, calibrationStep = 14, 0.25

// calibrate chooses the temperature of the model that has the smallest log loss on a set, where one is asked for, and
// notes where there is none. It reports whether it was interrupted.
func (p *Prepared) calibrate(ctx context.Context, r *Result, watch Watch) (interrupted bool, err error) {
	e := p.calibration
	if e == nil || r.Status == learn.Interrupted {
		return false, nil
	}
	w := p.inference(r.Model.Model, infer.Limits{})
	w.Progress = watch.counter("calibrating on " + e.Name)
	c, err := w.calibrate(ctx, e)
	switch {
	case ctx.Err() != nil:
		return true, nil
	case err != nil:
		return false, option.Errorf("{calibrate} %s: %w", e.Name, err)
	case c == nil:
		p.tell(watch, fmt.Sprintf("{calibrate} %s: no temperature fits its labels: all of them are predicted right, "+
			"or none better than by chance; calibrate on data with some errors", e.Name))
	default:
		r.Model.setTemperature(c.Temperature)
		r.Calibration = c
	}
	return false, nil
}

// calibrate compares powers of beliefs on labelled data; nil: the best is beyond all of them.
func (w *Inference) calibrate(ctx context.Context, e *Evaluation) (*Calibration, error) {
	n := float64(e.labelled())
	var powers, losses [2*calibrationSteps + 1]float64
	for i := range powers {
		powers[i] = math.Exp2(calibrationStep * float64(i-calibrationSteps))
	}
	err := w.each(ctx, e, false, func(i int, p prediction) error {
		e.eachLabel(i, p, func(s int, label int32, beliefs *infer.Beliefs) {
			for j, power := range powers {
				loss, _ := tempered(beliefs.Of(s), label, beliefs.Labels[s], power)
				losses[j] += loss / n
			}
		})
		return nil
	})
	best := 0
	for j, loss := range losses {
		if loss < losses[best] {
			best = j
		}
	}
	if err != nil || best == 0 || best == len(losses)-1 {
		return nil, err
	}
	return &Calibration{e.Name, 1 / powers[best], runfolder.Float(losses[calibrationSteps]),
		runfolder.Float(losses[best])}, nil
}

// calibrationSet is the evaluation set that Options.Calibrate names, or nil.
func (o *Options) calibrationSet(sets []*Evaluation) (*Evaluation, error) {
	if o.Calibrate == "" {
		return nil, nil
	}
	var names []string
	for _, e := range sets {
		if e.Name == o.Calibrate {
			return e, nil
		}
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return nil, usagef("{calibrate} %s: it needs {eval!--eval %s=PATH}", o.Calibrate, o.Calibrate)
	}
	return nil, usagef("{calibrate} %q: no {eval} set has that name; %s", o.Calibrate,
		option.Suggestion(o.Calibrate, names, ""))
}
