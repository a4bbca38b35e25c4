// Package figure draws what a run shows: curves and image panels in one house style. It knows nothing of learning: it
// is given names and numbers.
//
// Curves describes a figure by its data; its SVG and PNG methods draw it for a file, and Element for a page. Panel puts
// photographs, label maps and confidences side by side, and Tiles has them one by one. The same input gives the same
// bytes: no file holds a date, a path or a random number.
package figure
