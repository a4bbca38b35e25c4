package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/extract"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// featuresFile keeps what the maps of a folder depend on.
const featuresFile = "features.json"

// Values of --dtype.
const (
	float16     = "float16"
	float32Name = "float32"
)

// featuresFlags are the options of features.
type featuresFlags struct {
	options     extract.Options
	out, list   string
	size, dtype string
	resume      bool
	json, quiet bool
}

// madeFeatures is what featuresFile says.
type madeFeatures struct {
	extract.Settings
	Type string `json:"dtype"`
}

func (a *app) featuresCommand() *cobra.Command {
	var f featuresFlags
	cmd := &cobra.Command{
		Use:   "features PHOTOS --network NET.onnx -o DIR [flags]",
		Short: "Make feature maps of photographs by a neural network, for train",
		Long: `Runs an ONNX network on the photographs of a folder, or of its folder images, and
writes a layer of it for each: ID.npy, [rows, columns, features], which train reads.

The ONNX Runtime library is loaded for that. pip install onnxruntime has it, as have
distributions; ` + extract.Variable + ` or --onnxruntime names it elsewhere.

Photographs keep their size where the network takes any. Otherwise they are scaled
to fit, and their part of the map is kept.`,
		Example: "  blockbp features photos --network net.onnx -o photos/features\n  blockbp features photos --network " +
			"net.onnx --layer /layer4/Relu_output_0 --size 640x480 -o features",
		RunE: func(cmd *cobra.Command, args []string) error { return a.features(&f, args) },
	}
	fl, o := cmd.Flags(), &f.options
	fl.StringVar(&o.Network, "network", "", "the network, an ONNX file")
	fl.StringVar(&o.Layer, "layer", "", "the layer to write (default: the network's output)")
	fl.StringVarP(&f.out, "out", "o", "", "folder to make")
	readsArguments(cmd, "a folder of photographs, or one with a folder images")
	reads(fl, "a network in ONNX format", "network")
	a.writes(cmd, "out", func(string, []string) outputKind {
		if f.resume {
			return outputNone
		}
		return outputFolder
	})
	forceable(cmd, forceHelp)
	fl.BoolVar(&f.resume, "resume", false, "make the maps that are not there yet")
	fl.StringVar(&f.list, "list", "", "file with one image id per line (default: all photographs)")
	reads(fl, "a list of image ids", "list")
	fl.Float64SliceVar(&o.Mean, "mean", nil, "`MEANS` of red, green and blue, of 0 to 1 (default 0.485,0.456,0.406)")
	fl.Float64SliceVar(&o.Deviation, "std", nil, "their `DEVIATIONS` (default 0.229,0.224,0.225)")
	fl.Lookup("mean").DefValue, fl.Lookup("std").DefValue = "", "" // help would show no numbers
	fl.BoolVar(&o.BGR, "bgr", false, "network, --mean and --std have blue first")
	fl.StringVar(&f.size, "size", "", "WIDTHxHEIGHT that photographs get (default: the network's, or their own)")
	fl.IntVar(&o.Batch, "batch", 0, "photographs at a time (default: the network's, or 1)")
	fl.StringVar(&o.Layout, "layout", "", "axes of the input: nchw or nhwc (default: by its shape)")
	fl.StringVar(&o.LayerLayout, "layer-layout", "", "axes of the layer (default: by its shape)")
	fl.StringVar(&f.dtype, "dtype", float16, "type of the features: float16 or float32")
	fl.StringVar(&o.Library, "onnxruntime", "", "the library, or its folder (default: found out)")
	reads(fl, "the ONNX Runtime library, or a folder with it", "onnxruntime")
	threadsVar(fl, &o.Threads, "number of threads")
	fl.Var(sizeValue(&o.Memory), "memory", memoryHelp)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// validate reports the first option whose value cannot be used.
func (f *featuresFlags) validate() error {
	o := &f.options
	for _, layout := range []struct{ name, value string }{{"layout", o.Layout}, {"layer-layout", o.LayerLayout}} {
		if layout.value != "" && !slices.Contains(extract.Layouts, layout.value) {
			return usagef("--%s %q: want %s", layout.name, layout.value, strings.Join(extract.Layouts, " or "))
		}
	}
	for _, list := range []struct {
		name   string
		values []float64
	}{{"mean", o.Mean}, {"std", o.Deviation}} {
		if list.values != nil && len(list.values) != 3 {
			return usagef("--%s has %d numbers, want 3, of red, green and blue", list.name, len(list.values))
		}
	}
	if f.dtype != float16 && f.dtype != float32Name {
		return usagef("--dtype %q: want %s or %s", f.dtype, float16, float32Name)
	}
	const most = 1 << 12
	if o.Batch < 0 || o.Batch > most {
		return usagef("--batch %d: want 1 to %d", o.Batch, most)
	}
	return f.parseSize()
}

// parseSize reads WIDTHxHEIGHT.
func (f *featuresFlags) parseSize() error {
	if f.size == "" {
		return nil
	}
	const most = 1 << 14
	width, height, _ := strings.Cut(f.size, "x")
	w, err1 := strconv.ParseUint(width, 10, 31)
	h, err2 := strconv.ParseUint(height, 10, 31)
	if err1 != nil || err2 != nil || w < 1 || h < 1 || w > most || h > most {
		return usagef("--size %q: want WIDTHxHEIGHT, such as 640x480, each 1 to %d", f.size, most)
	}
	f.options.Width, f.options.Height = int(w), int(h)
	return nil
}

func (a *app) features(f *featuresFlags, args []string) error {
	if f.options.Network == "" || f.out == "" || len(args) != 1 {
		return usagef("features: want blockbp features PHOTOS --network NET.onnx -o DIR")
	}
	if err := f.validate(); err != nil {
		return err
	}
	started := time.Now()
	photos, err := dataset.Pictures(args[0], f.list, f.options.Memory)
	if err != nil {
		return err
	}
	e, err := extract.New(a.ctx, f.options)
	if err != nil {
		return featuresError(err)
	}
	defer e.Close()
	run, err := a.featuresFolder(f)
	if err != nil {
		return err
	}
	made := madeFeatures{e.Settings, f.dtype}
	left, err := a.stillToMake(f, run, made, photos)
	if err != nil {
		return err
	}
	progress := a.newTimedCounter(f.quiet, "computing features", "photographs")
	features, done := 0, 0
	err = e.Run(a.ctx, left, func(i int, m extract.Map) error {
		if done == 0 && !f.resume { // before the first map, and not where there is none
			if err := run.WriteJSON(featuresFile, made); err != nil {
				return err
			}
		}
		if err := run.WriteFile(left[i].ID+".npy", func(w io.Writer) error { return writeMap(w, m, f.dtype) }); err != nil {
			return err
		}
		features = m.Features
		done++
		progress.show(done, len(left))
		return nil
	})
	progress.done()
	if err != nil {
		return a.featuresStopped(featuresError(err), f, done, len(left))
	}
	result := struct {
		Out      string  `json:"out"`
		Made     int     `json:"made"`
		Kept     int     `json:"kept"`
		Features int     `json:"features,omitempty"`
		Layer    string  `json:"layer"`
		Library  string  `json:"onnxruntime"`
		Seconds  float64 `json:"seconds"`
	}{f.out, len(left), len(photos) - len(left), features, made.Layer, e.Version, time.Since(started).Seconds()}
	if len(left) == 0 {
		return a.print(f.json, result, "%s: all %d feature maps are there already\n", f.out, len(photos))
	}
	return a.print(f.json, result, "%s: %s of %s each, layer %s, in %.1f s\n",
		f.out, describe.Counted(len(left), "feature map"), describe.Counted(features, "feature"), made.Layer, result.Seconds)
}

// featuresError gives errors of the network their exit codes.
func featuresError(err error) error {
	option := (*extract.OptionError)(nil)
	switch {
	case errors.As(err, &option):
		return usagef("%w", err)
	case errors.Is(err, extract.ErrNoLoading):
		return &exitError{exitIO, err} // no file that is named would help
	case errors.Is(err, extract.ErrNoLibrary):
		return &exitError{exitIO, fmt.Errorf("%w; --onnxruntime and %s take that file, or its folder", err, extract.Variable)}
	}
	return err
}

// featuresStopped says how to go on after an error.
func (a *app) featuresStopped(err error, f *featuresFlags, done, all int) error {
	if a.ctx.Err() != nil {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	if done == 0 {
		return err
	}
	return &exitError{codeOf(err), fmt.Errorf("%w; %d of %d maps are in %s: go on with --resume", err, done, all, f.out)}
}

// featuresFolder makes the folder, or opens the one to go on in.
func (a *app) featuresFolder(f *featuresFlags) (*runfolder.Run, error) {
	if !f.resume {
		return a.newFolder("out")
	}
	run, err := runfolder.Open(f.out)
	if err != nil {
		return nil, err
	}
	a.opened = append(a.opened, run)
	return run, run.RemoveLeftovers()
}

// stillToMake returns the photographs whose maps are not there, and sees to it that maps
// of one folder are made alike.
func (a *app) stillToMake(f *featuresFlags, run *runfolder.Run, made madeFeatures,
	photos []dataset.ImageSource) ([]dataset.ImageSource, error) {
	if !f.resume {
		return photos, nil
	}
	path := run.Path(featuresFile)
	text, err := infile.Read(path, "what feature maps depend on", infile.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dataf("%s: there is no such file, which says how the maps of the folder were made; leave --resume "+
			"out, and choose another folder", path)
	}
	if err != nil {
		return nil, err
	}
	var before madeFeatures
	if err := infile.JSON(text, &before); err != nil {
		return nil, dataf("%s: %v; leave --resume out, and choose another folder", path, err)
	}
	if name, was, is := differ(before, made); name != "" {
		return nil, usagef("--resume: the maps in %s were made with %s %s, and not %s; choose another folder, or the same "+
			"options", f.out, name, was, is)
	}
	var left []dataset.ImageSource
	for _, p := range photos {
		if _, err := os.Stat(filepath.Join(f.out, p.ID+".npy")); errors.Is(err, fs.ErrNotExist) {
			left = append(left, p)
		} else if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// differ returns the first setting in which two differ.
func differ(before, now madeFeatures) (name, was, is string) {
	asMap := func(m madeFeatures) (values map[string]any) {
		text, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(text, &values)
		}
		if err != nil {
			panic(err) // numbers are finite
		}
		return values
	}
	a, b := asMap(before), asMap(now)
	for _, key := range []string{"network", "layer", "mean", "std", "bgr", "width", "height", "layout", "layer_layout",
		"dtype"} {
		if !reflect.DeepEqual(a[key], b[key]) {
			return key, settingText(a[key]), settingText(b[key])
		}
	}
	return "", "", ""
}

func settingText(v any) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(v)
}

// writeMap writes a map in the type that is asked for.
func writeMap(w io.Writer, m extract.Map, dtype string) error {
	shape := []int{m.Rows, m.Columns, m.Features}
	if dtype == float32Name {
		return npy.Write(w, shape, m.Data)
	}
	halves := make([]npy.Half, len(m.Data))
	for i, x := range m.Data {
		var ok bool
		if halves[i], ok = npy.HalfOf(x); !ok {
			return dataf("a feature is %v, beyond the numbers of float16, of at most 65504; use --dtype float32", x)
		}
	}
	return npy.Write(w, shape, halves)
}
