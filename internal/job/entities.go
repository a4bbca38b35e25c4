package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// Entities compare runs of tokens that tags such as B-PER, I-PER and O mark: a predicted entity is right where the
// truth has one of the same tokens and type, as conlleval and seqeval count. Tokens without a true label end entities.
type Entities struct {
	tags  []tag         // of states
	count []EntityScore // of types
}

// EntityScore is what an evaluation says of the entities of a type, or of all, as JSON.
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

// tag is what a state says of a token: the type of its entity, −1 outside of any, and whether it must be the first of
// it, or is the last.
type tag struct {
	of           int
	first, final bool
}

// entity is a run of tokens.
type entity struct{ from, to, of int }

// Letters of tags: B begins an entity, I is inside, E ends it, S is a single one. Others write M for I, L for E, U and
// W for S.
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
		of := slices.IndexFunc(e.count, func(c EntityScore) bool { return c.Type == kind })
		if of < 0 {
			of, e.count = len(e.count), append(e.count, EntityScore{Type: kind})
		}
		is := func(letters string) bool { return strings.IndexByte(letters, letter) >= 0 }
		e.tags = append(e.tags, tag{of, is(firstLetters), is(finalLetters)})
	}
	if !letters['I'] && !letters['B'] || len(letters) < 2 && e.count[0].Type == "entity" {
		return nil
	}
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
		e.count[x.of].Truth++
	}
	for _, x := range e.of(known) {
		if e.count[x.of].Predicted++; want[x] {
			e.count[x.of].Right++
		}
	}
}

// score sums up, nil of no tags. Types that there are stand in the order of the alphabet.
func (e *Entities) score() *EntityScore {
	if e == nil {
		return nil
	}
	all := &EntityScore{}
	for _, c := range e.count {
		all.Truth, all.Predicted, all.Right = all.Truth+c.Truth, all.Predicted+c.Predicted, all.Right+c.Right
		if c.share(); c.Truth+c.Predicted > 0 {
			all.Types = append(all.Types, c)
		}
	}
	slices.SortFunc(all.Types, func(a, b EntityScore) int { return cmp.Compare(a.Type, b.Type) })
	all.share()
	return all
}

// share makes shares of counts, 0 of nothing, as seqeval has it.
func (c *EntityScore) share() {
	of := func(part, whole int) runfolder.Float { return runfolder.Float(float64(part) / float64(max(1, whole))) }
	c.Precision, c.Recall, c.F1 = of(c.Right, c.Predicted), of(c.Right, c.Truth), of(2*c.Right, c.Truth+c.Predicted)
}

// EntityTable lists the measures of entities of every type, without rows of no tags.
func (s *Scored) EntityTable() report.Table {
	t := report.Table{Headers: []string{"entities", "truth", "predicted", "right", "precision", "recall", "F1"}}
	if s.Entities != nil {
		all := s.Entities.score()
		for _, x := range append(all.Types, *all) {
			row := []string{cmp.Or(x.Type, "all"), strconv.Itoa(x.Truth), strconv.Itoa(x.Predicted), strconv.Itoa(x.Right)}
			for _, share := range []runfolder.Float{x.Precision, x.Recall, x.F1} {
				row = append(row, percent(float64(share)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
