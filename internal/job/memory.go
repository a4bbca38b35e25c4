package job

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/learn"
)

// later is about what code and stacks take that come into memory as the program trains, and then plots and the report.
const later = 3 << 20

// Forecast says how much memory the process will have taken when it has trained and reported: what it has now, with
// the data, and what is still to come, or what reading the data took, where that is more.
func (p *Prepared) Forecast() *learn.Memory {
	reading, measured := memory.PeakMemory()
	m := &learn.Memory{}
	m.Add("program and data", float64(memory.GiveBack()), "as they lie in memory now")
	for _, item := range p.Memory.Items {
		m.AddItem(item)
	}
	if p.space != nil {
		const name = "counting numbers and scaled features"
		m.AddItem(learn.MemoryItem{Name: name, Bytes: p.space.Bytes, Reason: "as they lie there now", Spilled: true})
	}
	beside, after := 0.0, 0.0 // the learner
	for _, e := range p.Evaluations {
		beside = max(beside, p.inferenceBytes(e.Instances))
	}
	if p.Options.AutoL2 {
		after = p.inferenceBytes(p.Problem.Data[:(len(p.Problem.Data)+mostFolds-1)/mostFolds]) // about a fold
	}
	m.Add("predictions", max(beside, after-float64(p.Memory.Bytes)),
		"whole networks, on each thread (%d): evaluations beside the learner, others in its place", p.Options.Threads)
	m.Add("garbage and report", later+memory.MostGarbage(float64(m.Bytes)), "what is not collected yet, code and plots")
	if beyond := reading - m.Bytes; measured && beyond > 0 {
		m.Add("reading the data", float64(beyond), "it took more than learning will: %s", Mebibytes(reading))
	}
	return m
}

// inferenceBytes is what inference of some instances takes: as many at a time as there are threads.
func (p *Prepared) inferenceBytes(instances []*crf.Instance) float64 {
	w := p.inference(p.Problem.Model, infer.Limits{})
	_, most, err := w.largest(instances)
	if err != nil {
		return 0 // predicting will say why
	}
	return most * float64(min(p.Options.Threads, len(instances)))
}
