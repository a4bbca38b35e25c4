package machine

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

const (
	// memoryFile is where Linux says how much memory is free or can be freed.
	memoryFile = "/proc/meminfo"
	// limitFile and usedFile are where a container of Linux (cgroup 2) finds its own
	// bound and what it uses.
	limitFile = "/sys/fs/cgroup/memory.max"
	usedFile  = "/sys/fs/cgroup/memory.current"
	// assumedMemory is taken where the system does not tell.
	assumedMemory = 2 << 30
)

// AvailableMemory returns how many bytes a program may take without pushing others
// out of memory: as Linux says it, within the bound of a container; 2 GiB where
// nothing is known.
func AvailableMemory() int64 { return availableMemory(memoryFile, limitFile, usedFile) }

func availableMemory(memory, limit, used string) int64 {
	available, ok := memAvailable(memory)
	if !ok {
		available = assumedMemory
	}
	bound, err := strconv.ParseInt(readWord(limit), 10, 64)
	if err != nil {
		return available // no container, or "max"
	}
	taken, err := strconv.ParseInt(readWord(used), 10, 64)
	if err != nil {
		return available
	}
	return max(0, min(available, bound-taken))
}

// memAvailable reads the line "MemAvailable: N kB".
func memAvailable(path string) (bytes int64, ok bool) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err == nil
		}
	}
	return 0, false
}
