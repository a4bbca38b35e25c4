package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/spill"
	"github.com/blockbp/blockbp/learn"
)

// hints say which choices will not do what they seem to.
func (p *Prepared) hints() (texts []string) {
	o, set := &p.Options, p.Set
	if splits := labelledSplits(set); len(splits) > 1 {
		own := slices.IndexFunc(splits, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), "train") })
		texts = append(texts, fmt.Sprintf("labels of the splits %s are all learned from; {observed=%s} keeps those of "+
			"one, so that the others can tell how good the model is", option.Literal(strings.Join(splits, ", ")),
			option.Literal(splits[max(own, 0)])))
	}
	if o.Spill != "" && spill.InMemory(o.Spill) {
		texts = append(texts, fmt.Sprintf("files in %s lie in memory: name a folder on a disk, or leave {spill} out",
			o.Spill))
	}
	if o.Counting == "bethe" && set.Recipe.Kind == "images" && !o.Method.Local() && p.labels().hidden > 0 {
		texts = append(texts, "with {counting=bethe} the objective of hidden labels is a difference of two approximations, "+
			"by which photographs were learned wrong: compare with {counting=convex}")
	}
	if !o.Method.Local() || local.Kind(o.Method).Sums() {
		return texts
	}
	if o.ClassWeights != "" && o.Method == learn.Pseudo && !o.NoEdges {
		texts = append(texts, "{class-weights} with {method=pseudo} multiply the odds of a state once for every neighbour "+
			"that is in it: rare states spread; with another method they do once")
	}
	if p.labels().hidden > 0 && p.hidden == "" && o.Method != learn.Truncated { // which says what is done
		texts = append(texts, fmt.Sprintf("{method=%s} leaves out every node and edge that misses a label; the other "+
			"methods sum over missing labels instead", o.Method))
	}
	return texts
}

// labelledSplits returns the splits of graph tables that have labels, sorted.
func labelledSplits(set *dataset.Set) []string {
	seen, e := map[string]bool{}, Evaluation{Set: set, Instances: set.Instances}
	for i, splits := range set.Splits {
		for s := range e.labels(i) {
			seen[splits[s]] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// learnedFrom names the evaluation sets that share files with the training set, as where a folder holds both: their
// measures do not tell how good the model is. Graph tables share files anyway, and have splits; folders of arrays
// share edges and features of one network, whose labels differ; pictures are the same if their names are, too.
func learnedFrom(set *dataset.Set, evaluations []*Evaluation) (texts []string) {
	for _, e := range evaluations {
		if e.Set == set || e.Set.Recipe.Kind == "graph" {
			continue
		}
		if path := sharedLabels(e.Set, e.Set.Sources, set.Sources); path != "" {
			texts = append(texts, fmt.Sprintf("{eval} %s: %s is learned from, too, so that its measures are too good: "+
				"leave it out of one of the two", option.Literal(e.Name), option.Literal(path)))
		}
	}
	return texts
}

// sharedLabels is the path of a file with labels of a set that is among others, too; "": there is none.
func sharedLabels(set *dataset.Set, sources, others []dataset.Source) string {
	for _, s := range sources {
		same := func(o dataset.Source) bool {
			named := set.Recipe.Kind != "images" || filepath.Base(o.Path) == filepath.Base(s.Path)
			return o.SHA256 == s.SHA256 && o.Bytes > 0 && named
		}
		labels := filepath.Ext(s.Path) != ".npy" || filepath.Base(s.Path) == "labels.npy"
		if labels && filepath.Base(s.Path) != dataset.ManifestName && slices.ContainsFunc(others, same) {
			return s.Path
		}
	}
	return ""
}

// learned are the files that a model was learned from, and how, as its run folder tells; none where there is none.
func (m *Model) learned() (Config, []dataset.Source) {
	var record dataRecord
	path := m.beside(dataFile)
	if path == "" {
		return Config{}, nil
	}
	config, err := ReadConfig(filepath.Dir(path))
	if err == nil {
		_, err = readRecord(path, &record)
	}
	if err != nil || record.Learned > len(record.Files) {
		return Config{}, nil // the model is what counts
	}
	return *config, record.Files[:record.Learned]
}

// shared is the path of a file with labels of a set that the model was learned from, as its run folder tells, and the
// split whose labels it then observed; "": there is none, or all were observed.
func (m *Model) shared(set *dataset.Set) (path, split string) {
	config, learned := m.learned()
	sources := set.Sources
	if set.Recipe.Kind == "graph" && len(sources)%2 == 0 { // tables of nodes, and behind each one of edges
		sources = slices.Clone(sources)
		for i := 1; i < len(sources); i += 2 {
			sources[i].Path = dataset.ManifestName // which has no labels
		}
	}
	split, _ = config.Options["observed"].Value.(string)
	return option.Literal(sharedLabels(set, sources, learned)), split
}

// notHeld is what is said where labels that a model was learned with are not held: few labels tell little then.
const notHeld = "the model learned with labels of the split %q of %s known, which are not held: give {observed=%[1]s}"

// Nodes are drawn to one class where at most a fifth as many are of others as in any network learned from, had these
// mixedLabels: a network of one class comes seldom then.
const fewestDrawn, drawnRest, mixedLabels = 50, 0.2, 0.25

// commonest is the largest share of a class in the labels of a network, and 0 where half of them or more are hidden.
func commonest(types []crf.NodeType, data []*crf.Instance) (most float64) {
	for _, in := range data {
		c := labelsOf(types, []*crf.Instance{in})
		if c.share() <= fewLabels {
			return 0
		}
		for a, t := range types {
			counts := c.ofStates(a, t)
			most = max(most, float64(slices.Max(counts))/float64(max(1, numeric.Sum(counts))))
		}
	}
	return most
}

// Drawn says where nearly all nodes are found to be of one class, and no network that was learned from was so; "" where
// it was, or is not known. A model of one network whose labels were all known has only seen neighbours that are right.
func (m *Model) Drawn(p *Prediction) string {
	var learned struct {
		Commonest float64 `json:"commonest_label"`
	}
	_ = json.Unmarshal([]byte(m.Meta[MetaTraining]), &learned) // older models say nothing
	rest := 1 - learned.Commonest
	for a, counts := range p.found {
		most, all := slices.Max(counts), numeric.Sum(counts)
		if all >= fewestDrawn && 0 < learned.Commonest && mixedLabels <= rest && m.Meta[MetaEdges] != edgesNone &&
			float64(all-most) <= drawnRest*rest*float64(all) {
			class := m.Model.Schema.NodeTypes[a].States[slices.Index(counts, most)]
			return fmt.Sprintf("%s of the nodes are labelled %s, and in no network that was learned from a class had more than "+
				"%s of the labels: if these are not so, edges have drawn them to one class: train with {counting=convex}, a "+
				"smaller {prior} or {no-edges}, and hold labels that are known here by {clamp}",
				percent(float64(most)/float64(all)), option.Literal(class), percent(learned.Commonest))
		}
	}
	return ""
}

// Unheld says that labels which were read, or with which the model was learned, are not held; "": there are none.
func (m *Model) Unheld(set *dataset.Set, data []*crf.Instance) string {
	if c := labelsOf(m.Model.Schema.NodeTypes, data); c.known > 0 && c.hidden > 0 {
		return fmt.Sprintf("the labels of %d of %d nodes are known, and not used; {clamp} holds them", c.known,
			c.known+c.hidden)
	}
	if path, split := m.shared(set); path != "" && split != "" {
		return fmt.Sprintf(notHeld+" and {clamp}", option.Literal(split), path)
	}
	return ""
}

// LearnedFrom says that the model was learned from labels of an evaluation set, or with them; "" if none is known.
func (m *Model) LearnedFrom(e *Evaluation) string {
	path, observed := m.shared(e.Set)
	some, made := observed == "" || len(e.Set.Splits) == 0, (*Choice)(nil)
	if path == "" && e.Held == nil {
		_, _ = readRecord(m.beside(choiceFile), &made) // there may be none
	}
	for i := range e.Instances {
		for s := range e.labels(i) {
			some = some || e.Set.Splits[i][s] == observed
		}
	}
	switch {
	case path != "" && observed != "" && e.Held == nil:
		return fmt.Sprintf(notHeld, option.Literal(observed), path) +
			map[bool]string{true: "; labels that it learned from count here"}[some]
	case made != nil && made.Chosen.Scale == "":
		return fmt.Sprintf("the model was chosen to predict from known labels, of which none is held here: folds that held "+
			"some had an accuracy of %s; predict with {clamp} holds those of its data", percent(float64(made.Chosen.Accuracy)))
	case path == "" || !some:
		return ""
	}
	return fmt.Sprintf("labels of %s were learned from, so that these measures are too good: compare on others", path)
}

// unsettledTold is the change of a message in the last pass of a check that is told of: the check that a limit ends is
// short, and leaves smaller ones as a rule.
const unsettledTold = 0.01

// noOptimum tells of states that no label has where nothing regularises: the likelihood
// grows for ever as their weights fall.
func noOptimum(p learn.Problem) []string {
	if p.L2 > 0 || p.Statistics != nil {
		return nil
	}
	var names []string
	types := p.Model.Schema.NodeTypes
	for a, counts := range labelsOf(types, p.Data).of {
		t := &types[a]
		for row := range max(1, t.Copies) {
			labels := counts[row*len(t.States):][:len(t.States)]
			for state, n := range labels {
				if t.Features == 0 || n > 0 || slices.Max(labels) == 0 { // nothing is asked of nodes without any label
					continue
				}
				name := fmt.Sprintf("state %q of node type %q", t.States[state], t.Name)
				if t.Copies > 0 {
					name += fmt.Sprintf(" at its node %d", row)
				}
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("{l2=0}, and no label has %s: nothing keeps their weights from falling without end; "+
		"give {l2} a positive value, or leave such states out of the data", option.FirstFew(names))}
}

// resultNotes say what a result shows to be wrong with data or settings, each with what to do about it.
func resultNotes(r *learn.Result) []string {
	var texts []string
	if r.Separable {
		texts = append(texts, fmt.Sprintf("l2 is 0 and the data are separable: the model gives every sample of labels "+
			"more than half of its probability (objective %.3g), so that the objective would fall for ever as the weights "+
			"grow, and these weights are only where the run stopped; give l2 a positive value", r.Objective))
	}
	if len(r.Seeded) > 0 {
		texts = append(texts, fmt.Sprintf("labels leave some states of node type %s alike, as states that no label has: "+
			"their weights began at small random numbers of {seed}, which decides what each state comes to stand for, and "+
			"may decide which of several optima is reached; compare the objectives of a few seeds",
			option.FirstFew(numeric.Map(r.Seeded, strconv.Quote))))
	}
	if r.AtStart {
		texts = append(texts, fmt.Sprintf("a limit ended the run after %d iterations, none of which is known to have made "+
			"the objective smaller, so that the model has the weights that the run began with; go on with a higher limit",
			r.Iterations))
	}
	if r.Unsettled != "" && r.Residual > unsettledTold {
		texts = append(texts, fmt.Sprintf("inference did not settle: messages in %s still changed by %.3g, so that values "+
			"and beliefs there are approximate; raise {max-passes} or {max-time}, or give a smaller {rtol}, a larger l2 "+
			"or smaller features", r.Unsettled, r.Residual))
	}
	if r.Damping > 0 {
		texts = append(texts, "{note=damped}messages circled instead of settling, and sweeps were damped; "+
			"numbers without negative c_s, such as {counting=convex}, need no damping")
	}
	return texts
}
