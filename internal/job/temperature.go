package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
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
	Set              string          `json:"set"`
	Temperature      float64         `json:"temperature"`
	LogLossBefore    runfolder.Float `json:"log_loss_before"`
	LogLoss          runfolder.Float `json:"log_loss"`
	CalibrationError runfolder.Float `json:"calibration_error"`
	ErrorBefore      runfolder.Float `json:"calibration_error_before"`
}

// Text says it to people.
func (c *Calibration) Text() string {
	return fmt.Sprintf("temperature %.4g of beliefs, chosen on %s: log loss %.4f → %.4f, calibration error %s → %s",
		c.Temperature, c.Set,
		float64(c.LogLossBefore), float64(c.LogLoss), percent(float64(c.ErrorBefore)), percent(float64(c.CalibrationError)))
}

// errNoTemperature says that none is better than all others.
var errNoTemperature = errors.New("no temperature fits its labels: all of them are predicted right, or none better " +
	"than by chance; calibrate on data with some errors")

// Calibrate chooses the temperature of the model's beliefs that has the smallest log loss on
// labelled data, and makes it part of the model.
func (m *Model) Calibrate(ctx context.Context, w Inference, e *Evaluation) (*Calibration, error) {
	w.Temperature, w.Costs, w.Joint = 1, nil, false
	c := &calibrator{stride: 1 + e.labelled()*mostStates(e.Set)/mostCalibrating}
	before := infer.NewScore(mostStates(e.Set))
	err := w.each(ctx, e, false, func(i int, p prediction) error {
		samples, beliefs, _ := e.compared(i, p.beliefs)
		for _, truth := range samples {
			before.Add(beliefs, truth, e.counted(i))
			c.add(beliefs, truth, e.counted(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t, ok := c.temperature()
	if !ok {
		return nil, dataf("%s: %w", e.Name, errNoTemperature)
	}
	m.setTemperature(t)
	w.Temperature = t
	after, err := w.score(ctx, e, false, 0)
	if err != nil {
		return nil, err
	}
	return &Calibration{
		Set: e.Name, Temperature: t, LogLossBefore: runfolder.Float(before.MeanLogLoss()),
		LogLoss:          runfolder.Float(after.Score.MeanLogLoss()),
		ErrorBefore:      runfolder.Float(before.CalibrationError()),
		CalibrationError: runfolder.Float(after.Score.CalibrationError()),
	}, nil
}

// mostCalibrating bounds the beliefs that a temperature is chosen by, to 128 MiB: of n nodes its
// error falls as 1/√n, and there are a million of 16 states.
const mostCalibrating = 1 << 24

// calibrator has the log-beliefs of labelled nodes.
type calibrator struct {
	stride, seen int       // every so manieth node is kept
	logs         []float64 // log τ(i) − log τ(label) of each, one node after another
	ends         []int     // of nodes in logs
}

// add keeps nodes whose labels have a belief above 0: those of the others cost the same at any temperature.
func (c *calibrator) add(b *infer.Beliefs, truth []int32, count []bool) {
	for s, y := range truth {
		if y < 0 || count != nil && !count[s] {
			continue
		}
		if c.seen++; c.seen%c.stride != 0 || b.Of(s)[y] == 0 {
			continue
		}
		for _, p := range b.Of(s) {
			if p > 0 {
				c.logs = append(c.logs, math.Log(p)-math.Log(b.Of(s)[y]))
			}
		}
		c.ends = append(c.ends, len(c.logs))
	}
}

// slope is the derivative of the log loss
//
//	f(β) = Σ_s log Σ_i (τ_s(i)/τ_s(y_s))^β,    β = 1/T,
//
// which is convex: the sum of the means of log τ_s(i) − log τ_s(y_s) under the tempered beliefs.
func (c *calibrator) slope(beta float64) (slope float64) {
	start := 0
	for _, end := range c.ends {
		logs := c.logs[start:end]
		start = end
		largest := slices.Max(logs)
		sum, mean := 0.0, 0.0
		for _, x := range logs {
			p := math.Exp(beta * (x - largest))
			sum += p
			mean += p * x
		}
		slope += mean / sum
	}
	return slope
}

// Temperatures lie between 1/100 and 100. Beyond, beliefs hardly are any: they are 0 and 1, or all the same.
const mostTemperature = 100

// temperature returns 1/β at the minimum of the log loss, by bisection, to far more digits than can be known;
// false where it is not between 1/100 and 100.
func (c *calibrator) temperature() (float64, bool) {
	low, high := 1.0/mostTemperature, float64(mostTemperature)
	if !(c.slope(low) < 0 && c.slope(high) > 0) {
		return 0, false
	}
	for high > low*(1+1e-7) {
		if middle := math.Sqrt(low * high); c.slope(middle) < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return 1 / math.Sqrt(low*high), true
}

// calibrate chooses the temperature of the models, where one is asked for, and notes where
// there is none. It reports whether it was interrupted.
func (p *Prepared) calibrate(ctx context.Context, r *Result, watch Watch) (interrupted bool, err error) {
	if p.calibration == nil || r.Status == learn.Interrupted {
		return false, nil
	}
	for _, m := range []*Model{r.Best, r.Model} {
		if m == nil {
			continue
		}
		w := p.inference(m.Model, infer.Limits{})
		w.Progress = watch.counter("calibrating on " + p.calibration.Name)
		c, err := m.Calibrate(ctx, w, p.calibration)
		switch {
		case ctx.Err() != nil:
			return true, nil
		case errors.Is(err, errNoTemperature):
			p.tell(watch, fmt.Sprintf("{calibrate} %v", err))
		case err != nil:
			return false, option.Errorf("{calibrate} %s: %w", p.calibration.Name, err)
		}
		if m == r.Model {
			r.Calibration = c
		}
	}
	return false, nil
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
