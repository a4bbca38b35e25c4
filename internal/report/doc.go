// Package report draws and writes for people. It knows nothing of learning: it is given names, numbers and texts.
//
// A Report collects text, tables and figures into one HTML file that needs no network, no
// other file and no script. A Table is aligned text for a terminal. Curves describes a figure by its data; SVG draws it
// for a file, and Element for a page. Panel puts photographs, label maps and confidences side by
// side. The same input gives the same bytes: no file holds a path or a random number.
package report
