// Package extract makes feature maps of photographs by a layer of a neural network in an
// ONNX file.
//
// Parse reads of a file what is needed to choose a layer, and Layer.Network writes the
// part of the network that leads to it. Open loads the ONNX Runtime library, which
// computes it: no network is computed here.
//
// The library is loaded at run time through its C interface, of which each version keeps
// the functions of earlier ones, and their places in one table. Programs built with the
// tag static, or for systems other than Linux and macOS on amd64 and arm64, load no
// libraries: Open then returns ErrNoLoading.
package extract

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"math"
	"path/filepath"
	"runtime"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// Options say what is made. The zero value of each is its default.
type Options struct {
	Network string // the ONNX file
	Layer   string // "": the only output
	Library string // a file or folder; "": found out

	// Mean and Deviation are of red, green and blue from 0 to 1, in this order or, with
	// BGR, the other way round, as the network has them; nil: those of ImageNet. They are
	// not for networks of bytes.
	Mean, Deviation []float64
	BGR             bool

	Width, Height int    // of what the network is given; 0: as the network says, or else the photograph's
	Batch         int    // photographs at a time; 0: as the network says, or else 1
	Layout        string // one of Layouts, of the input; "": found out
	LayerLayout   string // of the layer

	Threads int
	Memory  int64 // in bytes; 0: as in memory.Allowed
}

// Mean and standard deviation of the colours of ImageNet, on which most networks were
// trained with these numbers.
var (
	ImageNetMean      = []float64{0.485, 0.456, 0.406}
	ImageNetDeviation = []float64{0.229, 0.224, 0.225}
)

// OptionError says what is wrong with the value of an option.
type OptionError struct{ Option, Problem string }

// Error implements error.
func (e *OptionError) Error() string { return "{" + e.Option + "}: " + e.Problem }

// Settings are what feature maps depend on, beside the photographs: maps of one folder
// share them. A file keeps them as JSON.
type Settings struct {
	Network     string    `json:"network"` // its SHA-256
	Layer       string    `json:"layer"`
	Mean        []float64 `json:"mean,omitempty"`
	Deviation   []float64 `json:"std,omitempty"`
	BGR         bool      `json:"bgr,omitempty"`
	Width       int       `json:"width,omitempty"` // 0: the photograph's
	Height      int       `json:"height,omitempty"`
	Layout      string    `json:"layout"`
	LayerLayout string    `json:"layer_layout,omitempty"`
}

// Extractor is a network that is ready for photographs.
type Extractor struct {
	Settings Settings
	Version  string // of the library

	o       Options
	g       geometry
	session *Session
	tables  [colours][256]float32
	cells   size   // of a map of all that the network is given; 0: photographs have their own size
	depth   int    // features; 0: not known yet
	others  string // the layers that could be chosen
}

// New loads the library and the network.
func New(ctx context.Context, o Options) (*Extractor, error) {
	file, err := infile.ReadIf(o.Network, "a network in ONNX format", math.MaxInt64, func(bytes int64) error {
		// The file, the part of it that is run, and what the library makes of that.
		return memory.Check("the network "+o.Network, 3*float64(bytes), o.Memory)
	})
	if err != nil {
		return nil, err
	}
	wrong := func(err error) error {
		if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
			return err
		}
		return &dataset.Error{File: o.Network, Problem: err.Error(), Cause: err}
	}
	model, err := Parse(file)
	if err != nil {
		return nil, wrong(err)
	}
	layer, err := model.Layer(o.Layer)
	if err != nil {
		return nil, wrong(err)
	}
	e := &Extractor{o: o, others: Listed(model.Layers())}
	if e.g, err = newGeometry(layer.Input, &o); err != nil {
		return nil, wrong(err)
	}
	if err := e.finish(); err != nil {
		return nil, err
	}
	library, err := Open(ctx, o.Library)
	if err != nil {
		return nil, err
	}
	e.Version = library.Version()
	if e.session, err = library.NewSession(layer, filepath.Dir(o.Network), o.Threads); err != nil {
		return nil, wrong(err)
	}
	e.Settings = Settings{
		Network: fmt.Sprintf("%x", sha256.Sum256(file)), Layer: layer.Name, BGR: o.BGR,
		Width: e.g.width, Height: e.g.height, Layout: NCHW, LayerLayout: o.LayerLayout,
	}
	if e.g.last {
		e.Settings.Layout = NHWC
	}
	if e.g.kind != Uint8 {
		e.Settings.Mean, e.Settings.Deviation = e.o.Mean, e.o.Deviation
	}
	if err := e.measure(ctx); err != nil {
		e.Close()
		return nil, wrong(e.inLayer(err))
	}
	return e, nil
}

// Close lets go of the network.
func (e *Extractor) Close() { e.session.Close() }

// inLayer says which layer an error is about.
func (e *Extractor) inLayer(err error) error {
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("layer %s: %w", e.Settings.Layer, err)
}

// finish takes defaults, and checks the numbers that pixels become.
func (e *Extractor) finish() error {
	if e.g.kind == Uint8 {
		if e.o.Mean != nil || e.o.Deviation != nil {
			return &OptionError{"mean", "the network is given bytes: leave {mean} and {std} out"}
		}
	}
	if e.o.Mean == nil {
		e.o.Mean = ImageNetMean
	}
	if e.o.Deviation == nil {
		e.o.Deviation = ImageNetDeviation
	}
	for c := range colours {
		// So numbers fit into 16 bits.
		if mean, deviation := e.o.Mean[c], e.o.Deviation[c]; !(math.Abs(mean) <= math.MaxUint8) ||
			!(deviation >= 1e-3 && deviation <= math.MaxUint8) {
			return &OptionError{"std", fmt.Sprintf("mean %v and deviation %v: want numbers for colours from 0 to 1, and "+
				"deviations of 0.001 to 255", mean, deviation)}
		}
	}
	e.tables = e.o.tables()
	switch {
	case e.g.batch != 0 && e.o.Batch != 0 && e.g.batch != e.o.Batch:
		return &OptionError{"batch", fmt.Sprintf("the network takes %d photographs at a time, not %d", e.g.batch, e.o.Batch)}
	case e.g.batch == 0:
		e.g.batch = max(e.o.Batch, 1)
	}
	return nil
}

// measure finds out the shape of the map where all photographs have one size in the
// network, by running it on nothing.
func (e *Extractor) measure(ctx context.Context) error {
	if e.g.width == 0 {
		return nil
	}
	outer := size{e.g.width, e.g.height}
	batch, err := e.batch(outer)
	if err != nil {
		return err
	}
	_, shape, err := e.run(ctx, batch, outer)
	e.cells = shape.cells
	return err
}

// batch is one without photographs.
func (e *Extractor) batch(outer size) ([]byte, error) {
	bytes := e.g.batch * colours * outer.width * outer.height * e.g.kind.Size()
	if err := memory.Check(fmt.Sprintf("a batch of %d pictures of %d×%d pixels", e.g.batch, outer.width, outer.height),
		float64(bytes), e.o.Memory); err != nil {
		return nil, err
	}
	batch := make([]byte, bytes)
	if e.g.kind == Uint8 {
		for i := range batch {
			batch[i] = grey
		}
	}
	return batch, nil
}

// run computes the layer.
func (e *Extractor) run(ctx context.Context, batch []byte, outer size) (Tensor, mapShape, error) {
	out, err := e.session.Run(ctx, Tensor{Type: e.g.kind, Dims: e.g.dims(e.g.batch, outer), Data: batch})
	if err != nil {
		return out, mapShape{}, err
	}
	shape, err := e.g.shapeOf(out, e.g.batch, outer, &e.o)
	if unsuited := (*unsuitedError)(nil); errors.As(err, &unsuited) {
		err = &unsuitedError{unsuited.problem + "; choose another layer: " + e.others}
	}
	if err == nil && e.depth != 0 && shape.depth != e.depth {
		err = &OptionError{"layer-layout", fmt.Sprintf("the layer has the shape %s for this photograph, and %d features "+
			"for one before: name %s or %s", shapeText(out.Dims), e.depth, NCHW, NHWC)}
	}
	e.depth = shape.depth
	return out, shape, err
}

// Map is a feature map.
type Map struct {
	Rows, Columns, Features int
	Data                    []float32 // [rows, columns, features]
}

// prepared is a batch of photographs.
type prepared struct {
	photos []int
	frames []frame
	batch  []byte
	err    error
}

// Run makes the maps of photographs, which take gets in an order of their own: those of
// one size follow each other. The next photographs are read while the network runs.
func (e *Extractor) Run(ctx context.Context, photos []dataset.ImageSource, take func(i int, m Map) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ready := make(chan prepared)
	go func() {
		defer close(ready)
		for _, group := range e.groups(photos) {
			select {
			case ready <- e.prepare(ctx, photos, group):
			case <-ctx.Done():
				return
			}
		}
	}()
	for p := range ready {
		if err := e.make(ctx, photos, p, take); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// groups sorts photographs into batches.
func (e *Extractor) groups(photos []dataset.ImageSource) (groups [][]int) {
	open := map[size]int{} // the group of a size that is not full
	for i, p := range photos {
		outer := e.g.frameOf(size{p.Width, p.Height}, e.cells).outer
		at, ok := open[outer]
		if !ok {
			at = len(groups)
			open[outer] = at
			groups = append(groups, nil)
		}
		if groups[at] = append(groups[at], i); len(groups[at]) == e.g.batch {
			delete(open, outer)
		}
	}
	return groups
}

// prepare reads the photographs of a batch.
func (e *Extractor) prepare(ctx context.Context, photos []dataset.ImageSource, group []int) (p prepared) {
	p = prepared{photos: group, frames: make([]frame, len(group))}
	for at, i := range group {
		p.frames[at] = e.g.frameOf(size{photos[i].Width, photos[i].Height}, e.cells)
	}
	outer := p.frames[0].outer
	if p.batch, p.err = e.batch(outer); p.err != nil {
		return p
	}
	problems := make([]error, len(group))
	p.err = parallel.Each(ctx, len(group), runtime.GOMAXPROCS(0), func(at int) {
		var picture *image.RGBA
		if picture, problems[at] = pixels(photos[group[at]], p.frames[at].inner); problems[at] == nil {
			e.g.fill(p.batch, at, outer, picture, e.o.BGR, &e.tables)
		}
	})
	if p.err == nil {
		p.err = errors.Join(problems...)
	}
	return p
}

// make computes the maps of a batch.
func (e *Extractor) make(
	ctx context.Context, photos []dataset.ImageSource, p prepared, take func(i int, m Map) error,
) error {
	if p.err != nil {
		return p.err
	}
	at := func(i int, err error) error {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return &dataset.Error{File: photos[i].Path, Problem: e.inLayer(err).Error(), Cause: err}
	}
	outer := p.frames[0].outer
	out, shape, err := e.run(ctx, p.batch, outer)
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
		return err
	}
	if err != nil {
		unsuited := (*unsuitedError)(nil)
		known := errors.As(err, &unsuited)
		err = at(p.photos[0], err)
		if problem := (*dataset.Error)(nil); e.g.width == 0 && !known && errors.As(err, &problem) {
			problem.Remedy = fmt.Sprintf("some networks want sizes that a power of two divides: name one for all "+
				"photographs, such as {size=%dx%d}", roundUp(outer.width), roundUp(outer.height))
			return option.Message((*option.Error)(problem).References(), problem)
		}
		return err
	}
	for k, i := range p.photos {
		part := p.frames[k].mapped
		if part.width == 0 {
			part = shape.cells
		}
		data, err := shape.cut(out, k, part)
		if err == nil {
			err = take(i, Map{part.height, part.width, shape.depth, data})
		} else {
			err = at(i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// roundUp is the next multiple of what the sizes of most networks are multiples of.
func roundUp(pixels int) int {
	const step = 32
	return (pixels + step - 1) / step * step
}
