// Package dataset turns the files that users bring into instances: it reads, checks, and says precisely what is wrong
// and where. The page docs/reference/formats.md has all formats, as they are read and written.
//
// # Arrays
//
// Any integer type, truth values and float16 to float64 are read, in C or Fortran order; float32 features stay in
// single precision. Instances with the same edges share one graph. FromArrays makes a set of slices instead of files,
// with the same checks. A file dataset.json in the folder of the instances names what they number; see Manifest.
//
// # Image folders
//
// The feature map is upsampled over the picture, whatever its resolution, and interpolated bilinearly between the
// centres of its cells, with the outermost cells' values beyond their centres (align_corners=False).
//
// # Networks and models
//
// ReadNetwork is for networks with explicit tables, which need no features and no model.
//
// Training data make a Schema and a Recipe. Saved with the model, they are given back in Options to read other data
// for that model: then nothing is guessed, and whatever does not go with the model is an error.
package dataset
