// Package dataset turns the files that users bring into instances: it reads, checks, and says precisely what is wrong
// and where. The page docs/reference/formats.md has all formats, as they are read and written.
//
// # Instance files, and arrays in memory
//
// One network per .npz, as numpy.savez or numpy.savez_compressed write it, with the arrays that Arrays names. Any
// integer type, truth values and float16 to float64 are read, in C or Fortran order; float32 features stay in single
// precision. Nodes without features have potentials of zero; edges with neither features nor bins have the constant
// feature one. Instances with the same edges share one graph. FromArrays makes a set of slices instead of files, with
// the same checks.
//
// A file dataset.json in the folder of the instances names what they number; see Manifest. The number of states is
// what it says, or the array states, or one more than the largest label in the whole set, which is worth a warning; a
// label far above all others is an error.
//
// Where nothing says so, edges between nodes of one type have no direction: the weights of the states a, b of the
// ends are those of b, a, in data of all kinds. But where every edge leads from a row to the next, and there are four
// or more for each pair of states, they are directed.
//
// # Image folders
//
// The nodes are the pixels, row by row, joined to 4 or 8 neighbours, or superpixels. The feature map is upsampled
// over the picture, whatever its resolution, and interpolated bilinearly between the centres of its cells, with the
// outermost cells' values beyond their centres (align_corners=False); a last column "bias" is one.
//
// # Graph tables and tagged text
//
// A table of nodes and one of edges with a header: Options.Columns gives roles to columns, and the Recipe has them.
// Or, without a header, lists of features by index. A last feature "bias" is one, and so is that of edges,
// "constant". A repeated edge or a loop is left out with a warning.
//
// Of tagged text each sentence is an instance. Attributes are sparse features; their names are in the schema.
//
// # Networks and models
//
// ReadNetwork is for networks with explicit tables, which need no features and no model.
//
// Training data make a Schema and a Recipe. Saved with the model, they are given back in Options to read other data
// for that model: then nothing is guessed, and whatever does not go with the model is an error.
package dataset
