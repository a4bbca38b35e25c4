package ceilings

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cache is one level of the caches that a core reads data through.
type cache struct {
	Level int // 1, 2, …
	Bytes int
}

// systemCaches is where Linux describes the caches of the first core.
const systemCaches = "/sys/devices/system/cpu/cpu0/cache"

// assumedCaches stand in where the system does not tell: sizes that most
// processors of the last ten years have or exceed.
var assumedCaches = []cache{{1, 32 << 10}, {2, 512 << 10}, {3, 8 << 20}}

// dataCaches returns the data caches of the first core, smallest level first, and
// whether the system told: Linux does, for others usual sizes are assumed.
func dataCaches() (caches []cache, known bool) {
	if caches = readCaches(systemCaches); len(caches) > 0 {
		return caches, true
	}
	return slices.Clone(assumedCaches), false
}

// readCaches reads a folder in the form of systemCaches; nothing if it cannot be read or makes no sense.
func readCaches(folder string) []cache {
	entries, err := filepath.Glob(filepath.Join(folder, "index*"))
	if err != nil {
		return nil
	}
	var caches []cache
	for _, entry := range entries {
		level, err := strconv.Atoi(readWord(filepath.Join(entry, "level")))
		size := parseSize(readWord(filepath.Join(entry, "size")))
		if err == nil && size > 0 && readWord(filepath.Join(entry, "type")) != "Instruction" {
			caches = append(caches, cache{level, size})
		}
	}
	slices.SortFunc(caches, func(a, b cache) int { return cmp.Compare(a.Level, b.Level) })
	for i := 1; i < len(caches); i++ {
		if caches[i].Bytes <= caches[i-1].Bytes {
			return nil // levels that do not grow are not what this package takes them for
		}
	}
	return caches
}

// readWord returns the text of a small file without blanks around it, or nothing.
func readWord(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// parseSize reads sizes such as 48K and 32M; 0 if it is none.
func parseSize(text string) int {
	factor := 1
	switch {
	case strings.HasSuffix(text, "K"):
		factor = 1 << 10
	case strings.HasSuffix(text, "M"):
		factor = 1 << 20
	case strings.HasSuffix(text, "G"):
		factor = 1 << 30
	}
	n, err := strconv.Atoi(strings.TrimRight(text, "KMG"))
	if err != nil || n < 0 {
		return 0
	}
	return n * factor
}
