package runstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PartPath is where a part of the state at path is.
func PartPath(path string, part, generation int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.part-%02d.%d%s", strings.TrimSuffix(path, ext), part, generation, ext)
}

// RemoveParts removes the parts of the state at path that are not of a generation. One that cannot be
// removed takes room, and is met again by the next state.
func RemoveParts(path string, generation int) {
	folder, name := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return
	}
	ext := filepath.Ext(name)
	for _, e := range entries {
		inside, ours := strings.CutPrefix(e.Name(), strings.TrimSuffix(name, ext)+".part-")
		words := strings.Split(strings.TrimSuffix(inside, ext), ".")
		if !ours || len(words) != 2 {
			continue
		}
		part, err1 := strconv.Atoi(words[0])
		of, err2 := strconv.Atoi(words[1])
		if err1 == nil && err2 == nil && of != generation && PartPath(name, part, of) == e.Name() {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// SyncFolder sees to it that a crash of the system leaves the names of files that were written. Where
// the system cannot, as on Windows, files follow each other on the disk as it likes.
func SyncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
