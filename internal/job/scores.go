package job

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // photographs
	_ "image/png"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// metric is a value of a score.
type metric struct {
	name  string // in results and metrics
	title string // in tables
	value float64
	text  func(float64) string
}

// losses are the metrics of which smaller values are better.
var losses = []string{"log_loss", "calibration_error"}

// metrics are all of a score, in the order of tables: those of entities, if labels are tags of any, and of all data.
func (s *Scored) metrics() (list []metric) {
	if e := s.Entities.score(); e != nil {
		list = []metric{
			{"entity_precision", "entity precision", float64(e.Precision), percent},
			{"entity_recall", "entity recall", float64(e.Recall), percent},
			{"entity_f1", "entity F1", float64(e.F1), percent},
		}
	}
	_, mean := s.Score.Classes()
	return append(list, metric{"accuracy", "accuracy", s.Score.Accuracy(), percent},
		metric{"class_accuracy", "mean class accuracy", mean.Recall, percent},
		metric{"f1", "mean F1", mean.F1, percent},
		metric{"iou", "mean IoU", mean.IoU, percent},
		metric{"roc_auc", "mean ROC AUC", mean.ROCAUC, fourDigits},
		metric{"average_precision", "mean average precision", mean.AveragePrecision, fourDigits},
		metric{"log_loss", "mean log loss (nats)", s.Score.MeanLogLoss(), fourDigits},
		metric{"calibration_error", "calibration error", s.Score.CalibrationError(), percent})
}

// Metrics are the names of the values of a score, in the order of tables.
func (s *Scored) Metrics() []string {
	return numeric.Map(s.metrics(), func(m metric) string { return m.name })
}

// Measures lists the figures of a score for a table, each with its name.
func (s *Scored) Measures() [][]string {
	rows := [][]string{{"nodes compared", strconv.FormatInt(s.Score.Count(), 10)}}
	rows = append(rows, numeric.Map(s.metrics(), func(m metric) []string { return []string{m.title, m.text(m.value)} })...)
	if !math.IsNaN(s.MeanCost) {
		rows = append(rows, []string{"mean cost", fmt.Sprintf("%.4g", s.MeanCost)})
	}
	if l := s.Likelihood; l != nil && l.Labels > 0 {
		n := float64(l.Labels)
		rows = append(rows, []string{"negative log-likelihood (nats per label)", fmt.Sprintf("%.4f", l.NegativeLog/n)},
			[]string{"  which is", likelihoodTexts[string(l.Bound)]})
	}
	return rows
}

// likelihoodTexts say what a bound on a negative log-likelihood means.
var likelihoodTexts = map[string]string{"upper": "an upper bound", "exact": "exact", "none": "an approximation"}

// fourDigits writes a measure that is no share.
func fourDigits(x float64) string { return orNone("%.4f", x) }

func percent(x float64) string { return orNone("%.2f %%", 100*x) }

// orNone writes a measure, where there is one.
func orNone(format string, x float64) string {
	if math.IsNaN(x) {
		return "n/a"
	}
	return fmt.Sprintf(format, x)
}

// ClassTable lists the measures of every class.
func (s *Scored) ClassTable() report.Table {
	t := report.Table{Headers: []string{"class", "nodes", "precision", "recall", "F1", "IoU", "ROC AUC",
		"average precision"}}
	classes, _ := s.Score.Classes()
	for i, name := range s.Classes {
		c := &classes[i]
		t.Rows = append(t.Rows, []string{name, strconv.FormatInt(c.Nodes, 10), percent(c.Precision), percent(c.Recall),
			percent(c.F1), percent(c.IoU), fourDigits(c.ROCAUC), fourDigits(c.AveragePrecision)})
	}
	return t
}

// Tables list the measures of entities, if labels are tags of any, and of classes.
func (s *Scored) Tables() []report.Table {
	tables := []report.Table{s.EntityTable(), s.ClassTable()}
	return slices.DeleteFunc(tables, func(t report.Table) bool { return len(t.Rows) == 0 })
}

// quality sets the measures of a model beside those of what it has to beat: the model without edges, where it is
// known, and the class that is most frequent here.
func (s *Scored) quality() report.Table {
	columns := []*Scored{s}
	if s.Alone != nil {
		columns = append(columns, s.Alone)
	}
	t := MeasuresTable(append(columns, s.constant()))
	t.Headers[1] = "model"
	if s.Alone != nil {
		t.Headers[2] = "trained without edges"
	}
	return t
}

// constant is the score of the best prediction that is the same for all nodes: beliefs as frequent as the classes are.
func (s *Scored) constant() *Scored {
	c := &Scored{Name: "most frequent class", Score: infer.NewScore(len(s.Score.Confusion)), MeanCost: math.NaN()}
	nodes, most, all := make([]int64, len(s.Score.Confusion)), 0, float64(s.Score.Count())
	for y, row := range s.Score.Confusion {
		if nodes[y] = numeric.Sum(row); nodes[y] > nodes[most] {
			most = y
		}
	}
	for y, n := range nodes {
		c.Score.Confusion[y][most] = n
		if n > 0 {
			c.Score.LogLoss -= float64(n) * math.Log(float64(n)/all)
		}
	}
	return c
}

// MeasuresTable sets the measures of scores side by side. A measure that one of them lacks is left out of its column.
func MeasuresTable(scored []*Scored) report.Table {
	table := report.Table{Headers: []string{"measure"}}
	for i, s := range scored {
		table.Headers = append(table.Headers, s.Name)
		values := map[string]string{}
		for _, row := range s.Measures() {
			values[row[0]] = row[1]
			if i == 0 {
				table.Rows = append(table.Rows, row[:1:1])
			}
		}
		for j, row := range table.Rows {
			table.Rows[j] = append(row, values[row[0]])
		}
	}
	return table
}

// mostConfused is how many classes a table of confusions may have.
const mostConfused = 50

// report adds one evaluation to a report: on a set, or of a model. One of several models, which
// are drawn beside each other already, is without what that shows.
func (s *Scored) report(run *runfolder.Run, page *report.Report, on string, several bool) error {
	on += " " + s.Name
	page.Section("Quality " + on)
	if s.Note != "" {
		page.Callout(report.CalloutWarn, s.Note+".")
	}
	if !several {
		page.Table(s.quality())
	}
	if len(s.Pictures) > 0 && !several {
		if err := addFigures(run, page, []namedFigure{{s.picturesName(),
			"Confidence is the belief in the predicted label, from 0, black, to 1, white.", s.panel()}}); err != nil {
			return err
		}
	}
	for _, t := range s.Tables() {
		page.Table(t)
	}
	if n := len(s.Classes); n > 1 && n <= mostConfused {
		page.Paragraph("Of the nodes of each true class, a row, the share in percent that was predicted as each:")
		page.Confusion(s.Classes, s.Score.Confusion)
	}
	if several {
		return nil
	}
	return addFigures(run, page, []namedFigure{{"reliability-" + s.Name,
		reliabilityText + " Columns: how many nodes have that confidence.", reliability("Reliability "+on, s)}})
}

// picturesName is the file of the pictures of an evaluation.
func (s *Scored) picturesName() string { return "pictures-" + s.Name }

func (s *Scored) panel() report.Panel {
	return report.Panel{Title: "Predictions on " + s.Name, Rows: s.Pictures, Names: s.Classes}
}

// draw writes the pictures of an evaluation in training, which blockbp watch shows.
func (r *run) draw(s *Scored) error {
	if r.files == nil || r.folder.NoReport || r.folder.NoPlots || len(s.Pictures) == 0 {
		return nil
	}
	return r.files.WriteFigure(s.picturesName(), s.panel().SVG)
}

// sideBySide sets the pictures of all models beside each other. They may have learned different classes.
func sideBySide(scored []*Scored) report.Panel {
	panel := report.Panel{Names: slices.Clone(scored[0].Classes)}
	for i, row := range scored[0].Pictures {
		row.Labels, row.Confidence = row.Labels[:1:1], nil
		panel.Rows = append(panel.Rows, row)
		for _, s := range scored {
			place := numeric.Map(s.Classes, func(name string) int32 {
				if !slices.Contains(panel.Names, name) {
					panel.Names = append(panel.Names, name)
				}
				return int32(slices.Index(panel.Names, name))
			})
			panel.Rows[i].Labels = append(panel.Rows[i].Labels, report.PixelLabels{Name: s.Name,
				Labels: numeric.Map(s.Pictures[i].Labels[1].Labels, func(y int32) int32 { return place[y] })})
		}
	}
	return panel
}

// reliabilityText explains a figure.
const reliabilityText = "Accuracy of the predictions of about the same confidence: on the dashed line beliefs are " +
	"calibrated, below it too sure of themselves."

// reliability draws accuracy against confidence, and of one model how many nodes there are of each.
func reliability(title string, sets ...*Scored) report.Curves {
	c := report.Curves{Title: title, XLabel: "mean confidence", YLabel: "accuracy", Height: 360}
	for _, s := range sets {
		curve := report.Series{Name: s.Name}
		for _, bin := range s.Score.Calibration() {
			curve.X, curve.Y = append(curve.X, bin.Confidence), append(curve.Y, bin.Accuracy)
			if len(sets) == 1 {
				c.Columns = append(c.Columns, report.Column{From: bin.From, To: bin.To,
					Height: float64(bin.Nodes) / float64(s.Score.Count()), Label: short(bin.Nodes)})
			}
		}
		c.Series = append(c.Series, curve)
	}
	c.Series = append(c.Series, report.Series{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Dashed: true})
	if len(sets) == 1 {
		c.YLabel = "accuracy; columns: share of nodes"
	}
	return c
}

// short is a number in about three characters.
func short(n int64) string {
	x, unit := float64(n), ""
	for _, next := range []string{"k", "M", "G"} {
		if x < 1000 {
			break
		}
		x, unit = x/1000, next
	}
	if unit != "" && x < 10 {
		return fmt.Sprintf("%.1f%s", x, unit)
	}
	return fmt.Sprintf("%.0f%s", x, unit)
}

// panelRow makes the picture row of one image.
func panelRow(source dataset.ImageSource, truth []int32, b *infer.Beliefs) (report.PanelRow, error) {
	text, err := fileio.Read(source.Path, "a picture", math.MaxInt64)
	if err != nil {
		return report.PanelRow{}, err
	}
	photo, _, err := image.Decode(bytes.NewReader(text))
	if err != nil {
		return report.PanelRow{}, dataf("%s: not a readable picture: %v", source.Path, err)
	}
	row := report.PanelRow{
		Title: source.ID, Photo: photo, Labels: []report.PixelLabels{{Name: "truth", Labels: truth},
			{Name: "prediction", Labels: b.Labels}}, Confidence: make([]float64, len(b.Labels)),
		W: source.Width, H: source.Height,
	}
	for s, y := range b.Labels {
		row.Confidence[s] = b.Of(s)[y]
	}
	return row, nil
}

// ModelScore is what an evaluation says of one model, as JSON, where NaN is null. Likelihoods are in nats per label.
type ModelScore struct {
	Model         string          `json:"model"`
	Decode        string          `json:"decode"` // how beliefs became the labels compared
	Nodes         int64           `json:"nodes"`
	Accuracy      runfolder.Float `json:"accuracy"`
	ClassAccuracy runfolder.Float `json:"class_accuracy"`
	measures
	LogLoss          runfolder.Float        `json:"log_loss"`
	CalibrationError runfolder.Float        `json:"calibration_error"`
	MeanCost         runfolder.Float        `json:"mean_cost"`               // null without costs
	NegativeLog      runfolder.Float        `json:"negative_log_likelihood"` // null where it was not asked for
	Bound            *counting.Bound        `json:"negative_log_likelihood_bound"`
	Entities         *EntityScore           `json:"entities,omitempty"`
	Classes          []ClassScore           `json:"classes"`
	Confusion        [][]int64              `json:"confusion"` // [truth][predicted]
	Calibration      []infer.CalibrationBin `json:"calibration"`
}

// measures are what classes and their mean have alike.
type measures struct {
	F1               runfolder.Float `json:"f1"`
	IoU              runfolder.Float `json:"iou"`
	ROCAUC           runfolder.Float `json:"roc_auc"`
	AveragePrecision runfolder.Float `json:"average_precision"`
}

func measuresOf(c *infer.ClassScore) measures {
	return measures{runfolder.Float(c.F1), runfolder.Float(c.IoU), runfolder.Float(c.ROCAUC),
		runfolder.Float(c.AveragePrecision)}
}

// ClassScore is what it says of one class.
type ClassScore struct {
	Name      string          `json:"name"`
	Nodes     int64           `json:"nodes"`
	Recall    runfolder.Float `json:"recall"`
	Precision runfolder.Float `json:"precision"`
	measures
}

// Of returns a score as JSON has it. decode names how beliefs became labels.
func (s *Scored) Of(model, decode string) ModelScore {
	type float = runfolder.Float
	classes, mean := s.Score.Classes()
	m := ModelScore{
		Model: model, Decode: decode, Nodes: s.Score.Count(), Accuracy: float(s.Score.Accuracy()),
		ClassAccuracy: float(mean.Recall), measures: measuresOf(&mean), LogLoss: float(s.Score.MeanLogLoss()),
		CalibrationError: float(s.Score.CalibrationError()), MeanCost: float(s.MeanCost), NegativeLog: float(math.NaN()),
		Entities: s.Entities.score(), Confusion: s.Score.Confusion,
		Calibration: append([]infer.CalibrationBin{}, s.Score.Calibration()...),
	}
	if l := s.Likelihood; l != nil && l.Labels > 0 {
		m.NegativeLog, m.Bound = float(l.NegativeLog/float64(l.Labels)), &l.Bound
	}
	for i, name := range s.Classes {
		c := &classes[i]
		m.Classes = append(m.Classes, ClassScore{name, c.Nodes, float(c.Recall), float(c.Precision), measuresOf(c)})
	}
	return m
}

// ReportScores writes a report on one or several models into a folder. data names what they were evaluated on.
func ReportScores(run *runfolder.Run, data []string, scored []*Scored, results []ModelScore) error {
	if err := run.WriteJSON("eval.json", results); err != nil {
		return err
	}
	page := &report.Report{Title: "Evaluation on " + strings.Join(data, ", "), Subtitle: report.Date(time.Now())}
	several := len(scored) > 1
	if several {
		if err := reportSideBySide(run, page, scored); err != nil {
			return err
		}
	}
	for _, s := range scored {
		if err := s.report(run, page, "of", several); err != nil {
			return err
		}
	}
	return run.WriteFile(report.ReportFile, page.Write)
}

// reportSideBySide sets several models beside each other.
func reportSideBySide(run *runfolder.Run, page *report.Report, scored []*Scored) error {
	page.Section("Side by side")
	page.Table(MeasuresTable(append(slices.Clone(scored), scored[0].constant())))
	figures := []namedFigure{{"reliability", reliabilityText, reliability("Reliability", scored...)}}
	if len(scored[0].Pictures) > 0 {
		figures = append([]namedFigure{{"pictures", "Photograph, truth, and the prediction of every model.",
			sideBySide(scored)}}, figures...)
	}
	return addFigures(run, page, figures)
}

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

// tag is what a state says of a token: the type of its entity, −1 outside of any, and whether it must be first or last.
type tag struct {
	of           int
	first, final bool
}

// entity is a run of tokens.
type entity struct{ from, to, of int }

// Letters of tags: B begins an entity, I is inside, E ends it, S is alone. Others write M for I, L for E, U or W for S.
const tagLetters, firstLetters, finalLetters = "BIESMLUW", "BSUW", "ESLUW"

// behind matches tags whose letter stands behind the type, as PER-B.
var behind = regexp.MustCompile(`(?m)^(.+)[-_]([` + tagLetters + `])$`)

// newEntities returns nil for states of text that are no such tags.
func newEntities(set *dataset.Set) *Entities {
	if set.Recipe.Kind != "text" {
		return nil
	}
	states := strings.Join(stateNames(set), "\n")
	return cmp.Or(entitiesOf(states), entitiesOf(behind.ReplaceAllString(states, "$2-$1")))
}

// entitiesOf returns nil for lines that are no tags whose letters stand first.
func entitiesOf(states string) *Entities {
	e, letters := &Entities{}, map[byte]bool{}
	for state := range strings.SplitSeq(states, "\n") {
		if state == "O" || state == "0" { // which a keyboard has beside it
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
			t.Rows = append(t.Rows, []string{cmp.Or(x.Type, "all"), strconv.Itoa(x.Truth), strconv.Itoa(x.Predicted),
				strconv.Itoa(x.Right), percent(float64(x.Precision)), percent(float64(x.Recall)), percent(float64(x.F1))})
		}
	}
	return t
}
