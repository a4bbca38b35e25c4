// Package dataset turns the files that users bring into instances: it reads,
// checks, and says precisely what is wrong and where.
//
// # Instance files
//
// One network per .npz, as numpy.savez or numpy.savez_compressed write it. Any
// integer type, truth values and float16 to float64 are read, in C or Fortran
// order; float32 features stay in single precision. Arrays (n nodes, m edges):
//
//	edges          [m, 2] int    the two ends, nodes 0 … n-1; no loops, no repetitions, but
//	                             that an edge without direction may be there both ways round
//	node_features  [n, d] float  optional
//	edge_features  [m, d] float  optional; or else
//	edge_bins      [m] int       optional: one-hot features, given by the index of the one
//	labels         [n] int, or [samples, n]; −1 unobserved; optional
//	node_types     [n] int       optional; without it all nodes are of type 0
//	edge_types     [m] int       optional; without it the types of the ends decide
//	grid_shape     [2] int       rows, columns of the grid the nodes lie on; optional
//	states         [] or [n] int number of states of all nodes, or of each; optional
//	weight         [] float      what the instance's samples count in learning; optional
//	directed       [] int        1: edges lead from their first end to the second; optional
//
// Types that differ in their features have arrays of their own instead, such as
// node_features.pixel and node_features.region with a row for each node of the
// type, in node order; a type without a name goes by its number. Nodes without
// features have potentials of zero; edges with neither features nor bins have
// the constant feature one. Instances with the same edges share one graph.
//
// The number of states is what dataset.json says, or the array states, or one
// more than the largest label in the whole set, which is worth a warning. The
// number of bins is what dataset.json says, or one more than the largest.
//
// A file dataset.json in the folder of the instances names what they number;
// see Manifest. All its fields are optional, and unknown ones are errors:
//
//	{
//	  "states": ["sky", "tree"],                   or their number; of all types without their own
//	  "node_features": ["height", "bias"],
//	  "edge_features": ["contrast"],
//	  "edge_bins": 10,
//	  "node_types": ["pixel", {"name": "region", "states": ["in", "out"], "features": ["size"]}],
//	  "edge_types": ["next", {"name": "part of", "u": "pixel", "v": "region", "bins": 4}],
//	  "forbidden_states": ["none"],                a type may have its own: "forbidden": […]
//	  "forbidden_pairs": [["sky", "tree"]],        of the states of first and second end
//	  "directed": true,                            edges lead from first to second end; also of a type
//	  "hidden_labels": true                        −1 hides, also where all other labels are 1
//	}
//
// Where nothing says so, edges between nodes of one type have no direction: the weights of
// the states a, b of the ends are those of b, a, in data of all kinds. But where every edge leads
// from a row to the next, and there are four or more for each pair of states, they are directed.
//
// # Image folders
//
//	images/ID.jpg (.jpeg, .png)     the pictures
//	labels/ID.regions.txt           one line per pixel row; negative: unobserved; or else
//	labels/ID.png                   8-bit, with a palette or grey; 255: unobserved
//	features/ID.npy                 [h, w, d] or [d, h, w] unary features, in this or any other folder
//	dataset.json                    "states", "node_features", "hidden_labels" and what is forbidden
//
// The nodes are the pixels, row by row, joined to 4 or 8 neighbours. The feature
// map is stretched over the picture, whatever its resolution, and interpolated
// bilinearly between the centres of its cells, with the outermost cells' values
// beyond their centres (align_corners=False); a last column "bias" is one. An
// edge's feature is the bin of the ℓ2 distance of its ends' features, without
// the bias. The bins divide the edges of the training data evenly; their edges
// are in the Recipe, from where data to predict take them.
//
// # Graph tables
//
// A table of nodes and one of edges with a header, NAME.nodes.csv and NAME.edges.csv or
// any two: an identifier, a label and a split of nodes, two ends of edges, and features
// in all other columns. Options.Columns gives roles to columns of other names. Numbers
// are one feature, texts one for each that is frequent. The Recipe has the columns.
//
// Or, without a header, NAME.nodes.tsv with the columns node, label (−1 none), split and
// features (indices, or index:value, separated by blanks; ? where they are not known),
// separated by tabs; and NAME.edges.tsv with two nodes per line. Lines that begin with #
// are comments. Nodes whose features are not known have a feature of their own in the
// place of the bias.
//
// A last feature "bias" is one, and so is that of edges, "constant". A repeated edge or a
// loop is left out with a warning.
//
// # Tagged text
//
// A line per token and an empty line between sentences, each an instance: either token,
// further columns and label, of which attributes are made, or label and attributes as
// crfsuite reads them. Attributes are sparse features; their names are in the schema.
//
// # In memory
//
// FromArrays makes a set of slices instead of files, with the same checks, numbers of
// states and names. ReadNetwork and WriteNetwork are for networks with explicit tables,
// which need no features and no model.
//
// # Models
//
// Training data make a Schema and a Recipe. Saved with the model, they are given
// back in Options to read other data for that model: then nothing is guessed,
// and whatever does not go with the model is an error.
package dataset
