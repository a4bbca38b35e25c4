package study

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // photographs
	_ "image/png"  // photographs
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Segmentation is a model of images, trained and judged.
type Segmentation struct {
	TrainImages int `json:"train_images"`
	TestImages  int `json:"test_images"`
	// Status and Reason say how training ended, after Passes and Seconds.
	Status  learn.Status `json:"status"`
	Reason  string       `json:"reason"`
	Passes  float64      `json:"passes"`
	Seconds float64      `json:"seconds"`
	// Accuracy is the share of labelled test pixels that are right, and Unsettled the
	// number of test images whose inference did not converge.
	Accuracy  runfolder.Float `json:"accuracy"`
	Pixels    int64           `json:"pixels"`
	Unsettled int             `json:"not_converged"`
	Classes   []string        `json:"classes"`
	Samples   []sampleImage   `json:"samples,omitempty"`
}

// sampleImage is a test image with its prediction.
type sampleImage struct {
	ID         string  `json:"id"`
	Path       string  `json:"path"`
	Width      int     `json:"width"`
	Height     int     `json:"height"`
	Truth      []int32 `json:"truth"`
	Prediction []int32 `json:"prediction"`
}

// segmentationPlan says what is trained and judged.
type segmentationPlan struct {
	Images imagePlan `json:"images"`
	Test   int       `json:"test"` // images
	Passes float64   `json:"passes"`
	Edges  string    `json:"edges"` // features of edges
}

// labelTolerance and labelSweeps end the inference for labels; where it was cut short
// the results say so (not_converged).
const (
	labelTolerance = 1e-4
	labelSweeps    = 200
)

// trainTolerance is ten times learn's default, for which photographs take many more passes.
const trainTolerance = 1e-4

// paperAccuracy is that of the paper with FCN-32 features, in percent, and samplesDrawn how many test images are drawn.
const (
	paperAccuracy = 80.4
	samplesDrawn  = 4
)

// fig6 is segmentation with the trained model.
func fig6() *Study {
	return &Study{
		Name: "fig6", Title: "Segmentation of test images",
		Paper:     "80.4 % of the pixels of 20 test images are labelled right, with features of an FCN-32 network.",
		needsData: true,
		parts: func(s Settings) []part {
			return []part{segmentationPart(s, "bins"), segmentationPart(s, "contrast")}
		},
		conclude: func(s Settings, r results) (*Findings, error) {
			f := &Findings{}
			var all []*Segmentation
			for _, edges := range []string{"bins", "contrast"} {
				found, err := resultsOf[Segmentation](r, []part{segmentationPart(s, edges)})
				if err != nil {
					return nil, err
				}
				for _, x := range found {
					if err := f.addSegmentation(x, edges); err != nil {
						return nil, err
					}
				}
				all = append(all, found...)
			}
			f.Data = all
			return f, nil
		},
	}
}

// edgeWords say what features of edges are.
var edgeWords = map[string]string{
	"bins":     "the paper's bins of distances between features",
	"contrast": "contrasts of colours, as train takes them by default",
}

// addSegmentation tells of a model with these features of edges.
func (f *Findings) addSegmentation(x *Segmentation, edges string) error {
	f.Notes = append(f.Notes, x.note(edges))
	f.Claims = append(f.Claims, Claim{
		Name: "accuracy, edges with " + edges, Held: 100*x.Accuracy >= paperAccuracy,
		Paper: fmt.Sprintf("%.1f %% of pixels, with FCN-32 features", paperAccuracy),
		Measured: fmt.Sprintf("%.1f %% of %d labelled pixels of %d images, with the features given and %s",
			100*x.Accuracy, x.Pixels, x.TestImages, edgeWords[edges]),
	})
	panel, err := x.panel()
	if err != nil {
		return err
	}
	title := "Photograph, truth and prediction, with " + edgeWords[edges] + "."
	f.Pictures = append(f.Pictures, Picture{"samples-" + edges, title, panel})
	x.Samples = nil // they are in the picture
	return nil
}

// note says how the model was trained, and what the claim leaves out.
func (x *Segmentation) note(edges string) string {
	how := "converged"
	if x.Status != learn.Converged {
		how = "was stopped, not converged,"
	}
	text := fmt.Sprintf("With %s, learning from %d images by BBPL with automatic steps %s after %.0f message passes, "+
		"%.0f s (%s). Features of pixels are those given, not the paper's FCN-32, so that accuracies compare only roughly.",
		edgeWords[edges], x.TrainImages, how, x.Passes, x.Seconds, x.Reason)
	if x.Unsettled > 0 {
		text += fmt.Sprintf(" Inference did not converge on %d of the %d test images.", x.Unsettled, x.TestImages)
	}
	return text
}

// contrastShare of the passes are what contrasts get: a pass costs more, and predictions change little
// long before the gradient is small.
const contrastShare = 0.1

func segmentationPart(s Settings, edges string) part {
	x := s.sizes()
	plan := segmentationPlan{Images: s.imagePlan(), Test: x.testImages, Passes: x.trainPasses, Edges: edges}
	if edges == "contrast" {
		plan.Passes *= contrastShare
	}
	return part{
		name: "segmentation-" + edges, plan: plan,
		measure: func(ctx context.Context, threads int) (any, error) { return plan.measure(ctx, threads) },
	}
}

func (p segmentationPlan) measure(ctx context.Context, threads int) (*Segmentation, error) {
	train, err := openImages(ctx, p.Images.Data, p.Images.Features, trainList, p.Edges, p.Images.Images, nil)
	if err != nil {
		return nil, err
	}
	test, err := openImages(ctx, p.Images.Data, p.Images.Features, testList, p.Edges, p.Test, train)
	if err != nil {
		return nil, err
	}
	a, err := newAlbum(train.Instances, train.Schema, threads)
	if err != nil {
		return nil, err
	}
	r, err := fit(ctx, a.problem, learn.Settings{
		Method: learn.BBPL, Threads: threads, MaxPasses: p.Passes, RelativeTolerance: trainTolerance, Assign: a.assign,
	})
	if err != nil {
		return nil, err
	}
	x := &Segmentation{
		TrainImages: len(train.Instances), TestImages: len(test.Instances),
		Status: r.Status, Reason: r.Reason, Passes: r.Passes, Seconds: r.Seconds,
		Classes: r.Model.Schema.NodeTypes[0].States,
	}
	return x, x.judge(ctx, r.Model, test)
}

// judge predicts the test images, by the inference that was learnt with.
func (x *Segmentation) judge(ctx context.Context, model *crf.Model, test *dataset.Set) error {
	predictor := &infer.Predictor{
		Model: model, Limits: infer.Limits{Tolerance: labelTolerance, MaxSweeps: labelSweeps},
	}
	score := infer.NewScore(len(x.Classes))
	for i, in := range test.Instances {
		beliefs, err := predictor.Predict(ctx, in, nil)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !beliefs.Outcome.Converged {
			x.Unsettled++
		}
		truth := in.Samples()[0]
		score.Add(beliefs, truth, nil)
		if i < samplesDrawn {
			source := test.Images[i]
			x.Samples = append(x.Samples, sampleImage{
				source.ID, source.Path, source.Width, source.Height, truth, beliefs.Labels,
			})
		}
	}
	x.Accuracy, x.Pixels = runfolder.Float(score.Accuracy()), score.Count()
	return nil
}

// regions are the classes of the Stanford Background data set, in the order of the numbers in its labels.
var regions = []string{"sky", "tree", "road", "grass", "water", "building", "mountain", "foreground"}

// names are those of the classes: the data set's own where the data have numbers only.
func (x *Segmentation) names() []string {
	numbers := crf.NumberedStates(len(regions))
	if slices.Equal(x.Classes, numbers) {
		return regions
	}
	return x.Classes
}

// panel draws the samples; photographs that are gone are left out.
func (x *Segmentation) panel() (report.Panel, error) {
	p := report.Panel{Title: "Test images", Names: x.names()}
	for _, s := range x.Samples {
		row := report.PanelRow{Title: s.ID, W: s.Width, H: s.Height,
			Labels: []report.PixelLabels{{Name: "truth", Labels: s.Truth}, {Name: "prediction", Labels: s.Prediction}}}
		if text, err := fileio.Read(s.Path, "a picture", fileio.Text); err == nil {
			if row.Photo, _, err = image.Decode(bytes.NewReader(text)); err != nil {
				return p, fmt.Errorf("%s: %w", s.Path, err)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p, nil
}
