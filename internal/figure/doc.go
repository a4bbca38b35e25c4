// Package record keeps what a run leaves behind: the run folder with its JSON
// files, the metrics as data, figures, image panels and one self-contained
// report. It knows nothing of learning: it is given names and numbers.
//
// # The run folder
//
// Create makes a new folder and refuses one that already holds something; Open
// continues one. Every file is written beside its final place, synced and then
// renamed, so that a reader never meets half a file.
//
// # Metrics
//
// A Metric is one line of metrics.jsonl. Its names are fixed: iter, pass,
// wall_s, block, objective, grad_norm, theta_dist, step, bp_sweeps, bp_residual
// and eval.<set>.<metric>. What is not known is NaN in memory (−1 for a block)
// and simply absent from the file. A MetricsWriter appends whole lines, so a
// killed run loses at most the line being written, and the readers here forgive
// exactly that: a torn last line.
//
// # Figures
//
// Curves, Bars and ConfusionMatrix describe a figure by its data; their SVG and
// PNG methods draw it in the house style. Panel puts photographs, label maps and
// confidences side by side. The same input gives the same bytes: no file holds a
// date, a path or a random number.
//
// # Report
//
// Report collects text, tables and figures into one HTML file that needs no
// network, no other file and no script.
package figure
