// Package runfolder keeps what a run leaves behind: a folder with JSON files and the metrics as data.
//
// Create makes a new folder and refuses one that already holds something; Open continues one. Every file is written
// beside its final place, synced and then renamed, so that a reader never meets half a file.
//
// A Metric is one line of metrics.jsonl. Its names are fixed: iter, pass, wall_s, block, objective, grad_norm,
// theta_dist, step, bp_sweeps, bp_residual, suboptimality and eval.<set>.<metric>. What is not known is NaN in memory
// (−1 for a block) and absent from the file. A MetricsWriter appends whole lines, so a killed run loses at most the
// line being written, and the readers here forgive exactly that: a torn last line.
package runfolder
