package job

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// runFiles are all that a training leaves in its folder, as patterns of path.Match.
var runFiles = []string{
	configFile, envFile, dataFile, choiceFile, ResultFile, ModelFile, bestModelFile, checkpointFile,
	CouplingsFile, ErrorsFile, report.ReportFile, runfolder.MetricsFile, runfolder.PlotFolder + "/*.svg",
	runfolder.PlotFolder + "/*.png",
	// of earlier versions
	"l2.json", "checkpoint/l2.safetensors", "checkpoint/choice.*", "metrics.csv",
}

// IsRunFile reports whether a training leaves a file of this name, with slashes, in its folder.
func IsRunFile(name string) bool {
	return slices.ContainsFunc(runFiles, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// IsReadOfRun reports whether a file of a training, by its name as for IsRunFile, is
// there to be read by programs. The others are for people.
func IsReadOfRun(name string) bool {
	return IsRunFile(name) && name != report.ReportFile && path.Dir(name) != runfolder.PlotFolder
}

// RunFiles lists the files of the training in a folder, config.json last. A folder that holds anything else, or no
// training, is an *Error of kind Usage: its files are nothing to be removed.
func RunFiles(dir string) (files []string, err error) {
	if _, err := ReadConfig(dir); err != nil {
		return nil, usagef("%q is not the folder of a training, so it cannot be started anew: choose another, or remove "+
			"it", dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, file)
		if name := filepath.ToSlash(inside); err == nil && name != configFile && name != runfolder.LockFile {
			if !IsRunFile(name) && !slices.ContainsFunc(strings.Split(name, "/"), runfolder.IsLeftover) {
				return usagef("%q holds %q, which no training left there: move it away, or choose another folder", dir, name)
			}
			files = append(files, file)
		}
		return err
	})
	return append(files, filepath.Join(dir, configFile)), err
}

// removeRun empties the folder of a training, for another to start in it anew.
func removeRun(dir string) error {
	files, err := RunFiles(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // which fails unless it is empty now
	}
	return nil
}
