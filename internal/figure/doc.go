// Package figure draws what a run shows: curves, bars, confusion matrices and image
// panels in one house style. It knows nothing of learning: it is given names and
// numbers.
//
// Curves, Bars and ConfusionMatrix describe a figure by its data; their SVG and PNG
// methods draw it. Panel puts photographs, label maps and confidences side by side. The
// same input gives the same bytes: no file holds a date, a path or a random number.
package figure
