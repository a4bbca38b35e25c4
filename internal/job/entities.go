package job

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Entities compare runs of tokens that tags such as B-PER, I-PER and O mark: a predicted entity is right where the truth
// has one of the same tokens and type, as conlleval and seqeval count. Tokens without a true label end entities.
type Entities struct {
	tags  []tag // of states
	types []string
	count []entityCount // [type]
}

// entityCount counts entities of a type.
type entityCount struct{ truth, predicted, right int }

// tag is what a state says of a token: the type of its entity, −1 outside of any, and whether it must be the first of
// it, or is the last.
type tag struct {
	of           int
	first, final bool
}

// entity is a run of tokens.
type entity struct{ from, to, of int }

// Letters of tags: B begins an entity, I is inside, E ends it, S is a single one. Others write M for I, L for E, U and W
// for S.
const tagLetters, firstLetters, finalLetters = "BIESMLUW", "BSUW", "ESLUW"

// newEntities returns nil for states of text that are no such tags.
func newEntities(set *dataset.Set) *Entities {
	e := &Entities{}
	if set.Recipe.Kind != dataset.KindText {
		return nil
	}
	letters := map[byte]bool{}
	for _, state := range stateNames(set) {
		if state == "O" {
			e.tags = append(e.tags, tag{of: -1})
			continue
		}
		letter, kind := state[0], state[1:]
		if strings.IndexByte(tagLetters, letter) < 0 || kind != "" && kind[0] != '-' && kind[0] != '_' {
			return nil
		}
		kind = cmp.Or(strings.TrimLeft(kind, "-_"), "entity")
		letters[letter] = true
		of := slices.Index(e.types, kind)
		if of < 0 {
			of, e.types = len(e.types), append(e.types, kind)
		}
		e.tags = append(e.tags, tag{of, strings.IndexByte(firstLetters, letter) >= 0, strings.IndexByte(finalLetters, letter) >= 0})
	}
	if !letters['I'] && !letters['B'] || len(letters) < 2 && e.types[0] == "entity" {
		return nil
	}
	e.count = make([]entityCount, len(e.types))
	return e
}

// of lists the entities of a sentence. One begins where a tag says so, and where the type is another than before or the
// one before has ended; it goes on until another begins, or none.
func (e *Entities) of(labels []int32) (found []entity) {
	before, from := tag{of: -1}, -1
	for i := 0; i <= len(labels); i++ {
		now := tag{of: -1}
		if i < len(labels) && labels[i] >= 0 {
			now = e.tags[labels[i]]
		}
		begins := now.of >= 0 && (now.first || before.final || before.of != now.of)
		if from >= 0 && (begins || now.of < 0) {
			found, from = append(found, entity{from, i, before.of}), -1
		}
		if begins {
			from = i
		}
		before = now
	}
	return found
}

// add compares a sentence.
func (e *Entities) add(truth, predicted []int32) {
	known := slices.Clone(predicted)
	for i, y := range truth {
		if y < 0 {
			known[i] = y
		}
	}
	want := map[entity]bool{}
	for _, x := range e.of(truth) {
		want[x] = true
		e.count[x.of].truth++
	}
	for _, x := range e.of(known) {
		if e.count[x.of].predicted++; want[x] {
			e.count[x.of].right++
		}
	}
}

// total counts entities of all types.
func (e *Entities) total() (all entityCount) {
	for _, c := range e.count {
		all.truth, all.predicted, all.right = all.truth+c.truth, all.predicted+c.predicted, all.right+c.right
	}
	return all
}

// shareOf is 0 of nothing, as seqeval has it.
func shareOf(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

func (c entityCount) precision() float64 { return shareOf(c.right, c.predicted) }
func (c entityCount) recall() float64    { return shareOf(c.right, c.truth) }
func (c entityCount) f1() float64        { return shareOf(2*c.right, c.truth+c.predicted) }

// EntityScore is what an evaluation says of the entities of a type, as JSON.
type EntityScore struct {
	Type      string          `json:"type,omitempty"`
	Truth     int             `json:"truth"`
	Predicted int             `json:"predicted"`
	Right     int             `json:"right"`
	Precision runfolder.Float `json:"precision"`
	Recall    runfolder.Float `json:"recall"`
	F1        runfolder.Float `json:"f1"`
	Types     []EntityScore   `json:"types,omitempty"`
}

func (c entityCount) score(of string) EntityScore {
	return EntityScore{of, c.truth, c.predicted, c.right, runfolder.Float(c.precision()), runfolder.Float(c.recall()), runfolder.Float(c.f1()), nil}
}

// score returns all counts, nil of no tags. Types stand in the order of the alphabet.
func (e *Entities) score() *EntityScore {
	if e == nil {
		return nil
	}
	all, counts := e.total().score(""), map[string]entityCount{}
	for of, name := range e.types {
		if e.count[of] != (entityCount{}) {
			counts[name] = e.count[of]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all.Types = append(all.Types, counts[name].score(name))
	}
	return &all
}

// EntityTable lists the measures of entities of every type, without rows of no tags.
func (s *Scored) EntityTable() report.Table {
	t := report.Table{Headers: []string{"entities", "truth", "predicted", "right", "precision", "recall", "F1"}}
	if s.Entities != nil {
		all := s.Entities.score()
		for _, x := range append(all.Types, *all) {
			t.Rows = append(t.Rows, []string{cmp.Or(x.Type, "all"), strconv.Itoa(x.Truth), strconv.Itoa(x.Predicted), strconv.Itoa(x.Right),
				percent(float64(x.Precision)), percent(float64(x.Recall)), percent(float64(x.F1))})
		}
	}
	return t
}
