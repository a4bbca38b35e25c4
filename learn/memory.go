package learn

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/memory"
)

// Memory is what a run takes beside its data and its model, in parts. Forecast makes it.
// Each part is computed beside the allocation that it describes.
type Memory struct {
	// Bytes is what the run takes, and AtMost what it takes where its course asks for everything.
	Bytes  int64 `json:"bytes"`
	AtMost int64 `json:"at_most"`
	// Spilled is what lies in the folder Settings.Spill instead, and counts in neither.
	Spilled int64 `json:"spilled,omitempty"`
	// Repeated: each of several processes does all of the work.
	Repeated bool         `json:"repeated,omitempty"`
	Items    []MemoryItem `json:"items"`
}

// MemoryItem is a part of Memory.
type MemoryItem struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Perhaps: the course of the run decides whether it is taken.
	Perhaps bool `json:"perhaps,omitempty"`
	// Spilled: it lies in the folder Settings.Spill.
	Spilled bool   `json:"spilled,omitempty"`
	Reason  string `json:"reason"` // how the number comes about
}

// Forecast says what Fit takes beside data and model, and Measure. It is arithmetic on the schema, counts, and the
// cut; nothing that grows with the numbers of states or features is made. Where p.Model is nil it is taken to be of
// the schema of the data, so that it may be asked before there are weights. Settings.Memory is of no influence.
func Forecast(p Problem, settings Settings) (*Memory, error) {
	if p.Model == nil && len(p.Data) > 0 {
		schema := p.Data[0].Schema()
		p.Model = &crf.Model{Schema: *schema, Layout: schema.Layout()}
	}
	s, err := settings.resolve(&p)
	if err != nil {
		return nil, err
	}
	if s.Method.Local() {
		l, err := planLocal(&p, &s)
		if err != nil {
			return nil, err
		}
		return l.memory(), nil
	}
	l, err := planLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	l.tellCut()
	return l.memory(), nil
}

// Add adds a part; parts of no bytes are left out. A number of bytes beyond what int64 holds becomes the largest.
func (m *Memory) Add(name string, bytes float64, reason string, values ...any) {
	m.AddItem(MemoryItem{Name: name, Bytes: saturated(bytes), Reason: fmt.Sprintf(reason, values...)})
}

// perhaps adds a part that only some courses of a run take.
func (m *Memory) perhaps(name string, bytes float64, reason string, values ...any) {
	m.AddItem(MemoryItem{Name: name, Bytes: saturated(bytes), Reason: fmt.Sprintf(reason, values...), Perhaps: true})
}

// addPairs adds what lbfgs.New takes: pairs when they are first written to, which is no more often than
// there are passes.
func (m *Memory) addPairs(size, passes float64) {
	vectors, more := lbfgs.Vectors(passes)
	const reason = "%.0f vectors of %.0f weights × 8 bytes"
	m.Add("pairs of steps and changes of the gradient", vectors*doubleBytes*size, reason, vectors, size)
	m.perhaps("more such pairs", more*doubleBytes*size, reason+", after more steps", more, size)
}

// AddItem adds a part of another Memory.
func (m *Memory) AddItem(item MemoryItem) {
	if item.Bytes == 0 {
		return
	}
	m.Items = append(m.Items, item)
	if item.Spilled {
		m.Spilled = saturated(float64(m.Spilled) + float64(item.Bytes))
		return
	}
	m.AtMost = saturated(float64(m.AtMost) + float64(item.Bytes))
	if !item.Perhaps {
		m.Bytes = saturated(float64(m.Bytes) + float64(item.Bytes))
	}
}

func saturated(bytes float64) int64 {
	if bytes >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(bytes)
}

// Within returns a *MemoryError where more is needed than Settings.Memory allows.
func (m *Memory) Within(allowed int64) error {
	if allowed < 0 {
		return nil
	}
	if allowed = memory.Allowed(allowed); m.AtMost <= allowed {
		return nil
	}
	return &MemoryError{Needed: m.AtMost, Allowed: allowed, Items: m.largest()}
}

// largest returns the parts that make up most of it, the largest first.
func (m *Memory) largest() []MemoryItem {
	const most, worthNaming = 3, 0.05
	items := slices.DeleteFunc(slices.Clone(m.Items), func(i MemoryItem) bool { return i.Spilled })
	slices.SortStableFunc(items, func(a, b MemoryItem) int { return cmp.Compare(b.Bytes, a.Bytes) })
	items = items[:min(most, len(items))]
	for len(items) > 1 && float64(items[len(items)-1].Bytes) < worthNaming*float64(m.AtMost) {
		items = items[:len(items)-1]
	}
	return items
}

// MemoryError is a run that would take more memory than it may. Nothing large was allocated.
type MemoryError struct {
	Needed, Allowed int64        // bytes
	Items           []MemoryItem // the largest, at least one
}

// Error implements error.
func (e *MemoryError) Error() string {
	var parts []string
	for _, item := range e.Items {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", item.Name, memory.Text(float64(item.Bytes)), item.Reason))
	}
	return fmt.Sprintf("learning would take about %s of memory, and %s are allowed. Most of it: %s. Allow more with --memory %s, or ask for less",
		memory.Text(float64(e.Needed)), memory.Text(float64(e.Allowed)), strings.Join(parts, "; "), (&memory.Error{Bytes: float64(e.Needed)}).Enough())
}

// worthCollecting is the size of runs, in bytes, before which garbage is given back.
const worthCollecting = 8 << 20

// makeWay gives back what was used before a large run, such as what reading the data has
// left: the collector would let it lie until the run has taken as much again.
func (m *Memory) makeWay() {
	if m.Bytes > worthCollecting {
		machine.GiveBack()
	}
}

// Sizes of numbers in bytes.
const (
	doubleBytes = 8.0
	singleBytes = 4.0
	indexBytes  = 4.0 // int32
	placeBytes  = 8.0 // int
)
