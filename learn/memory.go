package learn

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/spill"
)

// Memory is what a run takes beside its data and its model, in parts. Forecast makes it.
// It is an estimate, as a rule within 15 %, with the largest parts in it.
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
	l, err := plan(&p, settings)
	if err != nil {
		return nil, err
	}
	return l.memory(), nil
}

// planned is a run that has taken no memory yet.
type planned interface {
	memory() *Memory
	measure() *Sizes
}

func plan(p *Problem, settings Settings) (planned, error) {
	s, err := settings.resolve(p)
	if err != nil {
		return nil, err
	}
	if s.Method.Local() {
		return planLocal(p, &s)
	}
	return planLearner(p, &s)
}

// memory forecasts a run of block belief propagation: each part is what there are many of, times its size. Small things
// are left out, and what depends on the beliefs is taken at its largest.
func (l *learner) memory() *Memory {
	m, s, c, stride := &Memory{}, l.settings, l.count(), float64(l.shape.stride)
	keep := func(name string, bytes float64, reason string, values ...any) {
		m.AddItem(MemoryItem{Name: name, Bytes: memory.Whole(bytes), Spilled: s.Spill != "",
			Reason: fmt.Sprintf(reason, values...)})
	}
	// Statistics of labels and beliefs, two gradients, and labels that complete others, with sizes for a moment.
	m.addVectors(l.trainingRun, 4+2*numeric.OneIf(!l.referenceIsData()))
	l.ruleMemory(m, &c)
	const ofStates = "8 bytes for each state of every node and of both ends of every edge, in %d inferences"
	keep("messages and beliefs", doubleBytes*c.messages, ofStates, len(l.units))
	copies := float64(l.messages.copiesKept())
	keep("copies of messages", doubleBytes*c.messages*copies, "%.0f more of all, of earlier passes", copies)
	keep("contributions to the gradient", doubleBytes*(c.blocks*stride+c.cut),
		"%.0f blocks × %.0f numbers, and %.0f for edges between blocks, × 8 bytes", c.blocks, stride, c.cut)
	keep("lists of blocks", c.lists, "nodes, edges and where messages come from, in %d blocks", l.blocks)
	m.Add("counting numbers and indices", c.index, "of each node and edge, once for each shape of a network")
	m.Add("contributions of a visit", doubleBytes*c.visited*stride, "%.0f × %.0f numbers × 8 bytes", c.visited, stride)
	m.Add("untied beliefs", doubleBytes*c.untied, "8 bytes for each untied weight, in %d inferences and in visits",
		len(l.units))
	busy, threads := float64(min(s.Threads, l.keptResults)), float64(s.Threads)
	const forConsistency = 40 << 10 // bytes, of edges that are made consistent together
	scratch := threads * (doubleBytes*float64(l.shape.mostBeliefs) + forConsistency)
	if s.Spill != "" {
		scratch += threads * float64(spill.PagesBytes) // which pieces of the files are read next
	}
	m.Add("potentials", busy*c.potentials+scratch, "the largest of %d blocks, for each of %.0f threads", l.blocks, busy)
	m.addFeatures(l.problem)
	m.Repeated = s.team.Size() > 1 && l.messages.usesResponse()
	if s.team.Size() > 1 && !m.Repeated {
		part := (c.messages*(1+copies) + c.blocks*stride + c.cut) / mostParts
		m.Add("between processes", doubleBytes*(c.visited*stride+2*part),
			"contributions, messages, and a part of a state that are sent")
	}
	return m
}

// count has numbers of a plan, as floating point: those of models too large to be trained may not fit an int.
type count struct {
	messages, blocks, cut float64 // numbers of messages and beliefs, contributions, numbers kept of cut edges
	visited, untied       float64 // contributions of a visit, numbers of untied beliefs
	lists, index          float64 // bytes
	potentials            float64 // bytes, of the largest block
}

// Bytes of lists, about: of the blocks, and of counting numbers and places of messages.
const nodeLists, edgeLists, blockLists, nodeIndex, edgeIndex = 18.0, 28.0, 600.0, 20.0, 12.0

func (l *learner) count() (c count) {
	c.visited = float64(l.keptResults*(1+numeric.OneIf(l.shape.keepsCut())) + l.partSums.perVisit + 1)
	c.untied = float64(l.model.Layout.UntiedSize) * (float64(len(l.units)) + float64(l.keptResults)/float64(l.blocks))
	seen := map[any]bool{}
	c.blocks = float64(l.blocks)
	for _, u := range l.units {
		nodes, edges := float64(u.in.Graph.NumNodes()), float64(u.in.Graph.NumEdges())
		c.messages += float64(u.net.Messages() + u.net.Beliefs())
		c.cut += float64(l.shape.cutNumbers(u))
		if _, node, edge := u.in.Graph.Given(); !seen[u.net] { // of which there are copies, if they were laid out
			nodes, edges := nodes+float64(len(node)), edges+3*float64(len(edge))
			c.index += nodeIndex*nodes + edgeIndex*edges + doubleBytes*float64(len(u.net.Counting.Split))
		}
		if !seen[u.partition] {
			c.lists += nodeLists * nodes
		}
		for x := range u.partition.Blocks {
			if c.potentials = max(c.potentials, l.potentials(u, &u.partition.Blocks[x])); !seen[u.partition] {
				c.lists += blockLists + edgeLists*float64(len(u.partition.Blocks[x].Edges))
			}
		}
		seen[u.partition], seen[u.net] = true, true
	}
	return c
}

// potentials is what a visit of a block takes: potentials, exponentiated where edges share tables, and room to work.
func (l *learner) potentials(u *unit, block *partition.Block) float64 {
	if block.Elements() == 0 {
		return 0
	}
	r, table, expanded := ground.RoomOf(&l.model.Layout, u.in, block), float64(largestTable(l.model.Layout.Edge)), 0.0
	if classes := float64(u.net.Counting.Classes); r.Shared && classes > 0 {
		expanded = min(r.Edges, r.NumTables*classes)
	} else if r.Shared {
		expanded = r.Edges
	}
	return r.Bytes() + doubleBytes*(2*r.NodePotentials+(expanded+8)*table)
}

// ruleMemory adds what a step rule takes: automatic steps know of the curvature.
func (l *learner) ruleMemory(m *Memory, c *count) {
	layout, size := &l.model.Layout, float64(l.model.Layout.Size)
	if l.auto == nil {
		m.Add("memory of the step rule", doubleBytes*size, "%.0f weights × 8 bytes, where it has a number for each", size)
		return
	}
	m.addPairs(size, l.mostSweeps())
	vectors, visits := 9, 0 // of descent, and rotated ones
	if l.holds.bounded {    // else no visit leads: see newIncremental
		vectors, visits = vectors+2, l.schedule.perPass()
	}
	m.Add("vectors of automatic steps", doubleBytes*(float64(vectors)*size+float64(visits*layout.TiedSize)),
		"%d, and %d of the visits of a pass, × %.0f weights × 8 bytes", vectors, visits, size)
	moments := 0.0
	for _, span := range allSpans(layout) {
		if d := float64(span.Features); !span.Untied && d <= linear.MaxRotated {
			moments += d * d
		}
	}
	m.Add("second moments of features", doubleBytes*moments, "the eigenvectors of a matrix for each type")
	if r := l.messages.response; r != nil {
		largest := 0.0
		for i, u := range l.units {
			largest = max(largest, doubleBytes*float64(r.Numbers(i))+l.potentials(u, r.Block(i)))
		}
		m.Add("lines of messages", 3*doubleBytes*c.messages, "two of all, and where they are, × 8 bytes")
		m.Add("linear response", largest, "the system of the largest of %d inferences, and its potentials", len(l.units))
	}
	l.hessianMemory(m)
}

// mostSweeps returns about how many sweeps the limits of the run allow.
func (l *learner) mostSweeps() float64 {
	return min(l.settings.MaxPasses, l.settings.mostIterations()/float64(l.schedule.perPass()))
}

// hessianMemory adds what a Hessian of all weights takes. That stars measure it is sure in a long descent only.
func (l *learner) hessianMemory(m *Memory) {
	layout, n, p := &l.model.Layout, float64(l.model.Layout.Size), l.messages.denseProblem(nil)
	if p.Response == nil && !p.Sampled() {
		return
	}
	numbers, perhaps := 3*n*n, false
	if p.Response == nil {
		sampled, nodeDim, edgeDim := 0.0, 0, 0
		for _, span := range layout.Node {
			sampled, nodeDim = sampled+linear.SampleSize(l.model, span), max(nodeDim, span.Features)
		}
		for _, span := range layout.Edge {
			edgeDim = max(edgeDim, span.Features)
		}
		_, edges := instances.Size(l.problem.Data)
		states, joint, nodes := float64(largestTable(layout.Node)), float64(largestTable(layout.Edge)), float64(p.Nodes)
		around := 2 * float64(edges) / max(1, nodes) // edges of a node, each with potential, belief and features
		numbers += (1 + 2*float64(l.settings.Threads)) * linear.RecordsTogether * states * n
		numbers += min(sampled, nodes) * (states + float64(nodeDim) + around*(2*joint+float64(edgeDim)))
		perhaps = l.holds.forests || l.mostSweeps() <= 1+(linear.StarsFrom+1)*wholeSweeps
	}
	m.addPerhaps(perhaps, "Hessian of all weights", doubleBytes*numbers,
		"3 × %.0f² weights × 8 bytes, and scratch to measure it", n)
}

// memory forecasts a run on an objective without messages.
func (l *localLearner) memory() *Memory {
	m, p, s, together := &Memory{}, l.problem, l.settings, l.objective.Together()
	m.addVectors(l.trainingRun, 5+together) // two weights and gradients, a direction, and gradients of instances
	m.addPairs(float64(l.model.Layout.Size), min(s.MaxPasses, s.mostIterations()))
	scratch, lists, seen := 0.0, 0.0, map[*graph.Graph]bool{}
	for _, in := range p.Data {
		if scratch = max(scratch, l.objective.Bytes(in)); !seen[in.Graph] {
			seen[in.Graph], lists = true, lists+nodeLists*float64(in.Graph.NumNodes())+edgeLists*float64(in.Graph.NumEdges())
		}
	}
	m.Add("lists of blocks", lists, "nodes and edges of %d graphs", len(seen))
	m.addFeatures(p)
	name, threads := "potentials", min(s.Threads, together)
	if s.Method.sums() {
		name = "tables of elimination"
	}
	m.Add(name, float64(threads)*scratch, "those of the largest network, on each thread (%d)", threads)
	return m
}

// addVectors adds vectors of weights, with those of the model and the best ones.
func (m *Memory) addVectors(c *trainingRun, vectors int) {
	vectors += 1 + numeric.OneIf(c.settings.EarlyStop != nil) +
		2*numeric.OneIf(c.settings.unlabelled != nil) // those of the start, twice
	size := float64(c.model.Layout.Size)
	m.Add("vectors of weights", float64(vectors)*doubleBytes*size, "%d × %.0f weights × 8 bytes", vectors, size)
}

// addFeatures adds features that there are again, with edges, in joined networks.
func (m *Memory) addFeatures(p *Problem) {
	if p.apart == nil {
		return
	}
	bytes := 0.0
	for _, in := range p.Data {
		bytes += edgeLists * float64(in.Graph.NumEdges())
		for _, features := range instances.Features(in) {
			f := features.Data()
			bytes += doubleBytes*float64(len(f.Double)+len(f.Start)+len(f.Value)) +
				singleBytes*float64(len(f.Single)+len(f.Bins)+len(f.Column))
		}
	}
	m.Add("features once more", bytes, "in joined networks")
}

// addPairs adds the pairs of L-BFGS. The system gives them when they are first written to, in few runs to all.
func (m *Memory) addPairs(size, steps float64) {
	usual, all := min(lbfgs.Kept/2, math.Floor(steps)), min(lbfgs.Kept, math.Floor(steps))
	const reason = "%.0f steps and changes of the gradient × %.0f weights × 8 bytes"
	m.Add("pairs of L-BFGS", (2*usual+1)*doubleBytes*size, reason, usual, size)
	m.addPerhaps(true, "more pairs of L-BFGS", 2*(all-usual)*doubleBytes*size, reason+", after more steps", all-usual,
		size)
}

// Add adds a part; parts of no bytes are left out. A number of bytes beyond what int64 holds becomes the largest.
func (m *Memory) Add(name string, bytes float64, reason string, values ...any) {
	m.addPerhaps(false, name, bytes, reason, values...)
}

// addPerhaps adds a part that perhaps only some courses of a run take.
func (m *Memory) addPerhaps(perhaps bool, name string, bytes float64, reason string, values ...any) {
	m.AddItem(MemoryItem{Name: name, Bytes: memory.Whole(bytes), Reason: fmt.Sprintf(reason, values...), Perhaps: perhaps})
}

// AddItem adds a part of another Memory.
func (m *Memory) AddItem(item MemoryItem) {
	if item.Bytes == 0 {
		return
	}
	m.Items = append(m.Items, item)
	if item.Spilled {
		m.Spilled = memory.Whole(float64(m.Spilled) + float64(item.Bytes))
		return
	}
	m.AtMost = memory.Whole(float64(m.AtMost) + float64(item.Bytes))
	if !item.Perhaps {
		m.Bytes = memory.Whole(float64(m.Bytes) + float64(item.Bytes))
	}
}

// Within returns an error that wraps a *MemoryError where more is needed than Settings.Memory allows.
func (m *Memory) Within(allowed int64) error {
	if allowed < 0 || m.AtMost <= memory.Allowed(allowed) {
		return nil
	}
	e := &MemoryError{Needed: m.AtMost, Allowed: memory.Allowed(allowed), Items: m.largest()}
	return option.Message(e.references(), e)
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
func (e *MemoryError) Error() string { return option.Go(e.references()) }

func (e *MemoryError) references() string {
	parts := numeric.Map(e.Items, func(item MemoryItem) string {
		return fmt.Sprintf("%s %s (%s)", item.Name, memory.Text(float64(item.Bytes)), item.Reason)
	})
	return memory.Refusal("learning", float64(e.Needed), float64(e.Allowed), strings.Join(parts, "; "))
}

// worthCollecting is the size of runs, in bytes, before which garbage is given back.
const worthCollecting = 8 << 20

// makeWay is Within, and gives back what was used before a large run, such as what reading the data has left: the
// collector would let it lie until the run has taken as much again.
func (m *Memory) makeWay(allowed int64) error {
	if err := m.Within(allowed); err != nil || m.Bytes <= worthCollecting {
		return err
	}
	memory.GiveBack()
	return nil
}

const doubleBytes, singleBytes = 8.0, 4.0

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
	sizes := l.sizes(l.blocks, l.stateBytes(0))
	sizes.CutFraction = partition.CutShare(l.units[0].in.Graph, l.units[0].partition.Of)
	return sizes
}

func (l *localLearner) measure() *Sizes { return l.sizes(1, l.stateBytes()) }
