package job

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/learn"
)

// laterCode is what of the program itself comes into memory while it trains: code, and the
// stacks of goroutines. reporting is what plots and the report take.
const laterCode, reporting = 3 << 20, 3 << 20

// Forecast says how much memory the process will have taken when it has trained and
// reported: what it has now, with the data, and what is still to come, or what reading
// the data took, where that is more.
func (p *Prepared) Forecast() *learn.Memory {
	reading, measured := machine.PeakMemory()
	m := &learn.Memory{}
	m.Add("program and data", float64(machine.GiveBack()), "as they lie in memory now")
	m.Add("program, later", laterCode, "code that training comes to")
	for _, item := range p.Memory.Items {
		m.AddItem(item)
	}
	if p.pool != nil {
		m.AddItem(learn.MemoryItem{Name: "counting numbers and scaled features", Bytes: p.pool.Bytes, Reason: "as they lie there now", Spilled: true})
	}
	if bytes := p.evaluationBytes(); bytes > 0 {
		m.Add("evaluation", bytes, "whole networks are inferred on %d threads, while the learner keeps what it has", p.Options.Threads)
	} else if p.Options.AutoL2 {
		held := p.Problem.Data[:(len(p.Problem.Data)+mostFolds-1)/mostFolds] // about a fold
		beyond := p.inferenceBytes(held) - float64(p.Memory.Bytes)
		m.Add("cross-validation", max(0, beyond), "what inference of whole networks on %d threads takes beyond what the learner has then given back", p.Options.Threads)
	}
	if p.tries() {
		beyond := p.inferenceBytes(p.trial()) - float64(p.Memory.Bytes)
		m.Add("trying predictions", max(0, beyond), "what they take on %d threads beyond what the learner has then given back", p.Options.Threads)
	}
	garbage := machine.MostGarbage(float64(m.Bytes))
	m.Add("garbage", garbage, "what lies about before it is collected")
	m.Add("report", max(0, reporting-p.evaluationBytes()-garbage), "plots, beyond what evaluations have given back, and garbage")
	if beyond := reading - m.Bytes; measured && beyond > 0 {
		m.Add("reading the data", float64(beyond), "it took more than learning will: %s", Mebibytes(reading))
	}
	return m
}

// evaluationBytes is what the largest evaluation takes.
func (p *Prepared) evaluationBytes() (most float64) {
	for _, e := range p.Evaluations {
		most = max(most, p.inferenceBytes(e.Instances))
	}
	return most
}

// inferenceBytes is what inference of some instances takes: as many at a time as there
// are threads.
func (p *Prepared) inferenceBytes(instances []*crf.Instance) (bytes float64) {
	w := p.inference(p.Problem.Model, infer.Limits{})
	predictor := w.predictor()
	for _, in := range instances {
		if one, err := predictor.Bytes(in); err == nil { // else predicting it will say why
			bytes = max(bytes, one)
		}
	}
	return bytes * float64(min(p.Options.Threads, len(instances)))
}
