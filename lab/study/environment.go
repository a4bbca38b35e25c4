package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// Environment is where a part was measured, which times depend on. It is kept with the
// part: figures may be drawn elsewhere.
type Environment struct {
	CPU     string `json:"cpu_model"`
	Cores   int    `json:"cores"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Go      string `json:"go_version"`
	Version string `json:"blockbp_version"`
	// Clock is what seconds are read from: "processor" or "wall".
	Clock string `json:"clock"`
}

// hereAndNow is the environment of this process.
func hereAndNow() Environment {
	all := runfolder.Environment()
	text := func(key string) string {
		if v, ok := all[key]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	cores, _ := all["cores"].(int)
	return Environment{
		CPU: text("cpu_model"), Cores: cores, OS: text("os"), Arch: text("arch"), Go: text("go_version"),
		Version: strings.TrimSpace(text("blockbp_version") + " " + text("vcs_revision")), Clock: clockName(),
	}
}

// String names what differs between machines for a reader.
func (e Environment) String() string {
	cpu := e.CPU
	if cpu == "" {
		cpu = "a processor that does not tell its name"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, with %s and blockbp %s", cpu, e.Cores, e.OS, e.Arch, e.Go, e.Version)
}

// measuredIn is an environment with the number of parts that were measured there.
type measuredIn struct {
	Environment
	Parts int `json:"parts"`
}

// environments lists where some parts were measured, each place once, the one of the
// most parts first.
func (r results) environments(parts []part) []measuredIn {
	var all []measuredIn
	for _, p := range parts {
		kept := r[p.id()]
		if kept == nil {
			continue
		}
		i := slices.IndexFunc(all, func(m measuredIn) bool { return m.Environment == kept.Environment })
		if i < 0 {
			i, all = len(all), append(all, measuredIn{Environment: kept.Environment})
		}
		all[i].Parts++
	}
	slices.SortStableFunc(all, func(a, b measuredIn) int { return b.Parts - a.Parts })
	return all
}

// measuredWords says where the numbers of a page come from.
func measuredWords(all []measuredIn) string {
	switch len(all) {
	case 0:
		return "Nothing was measured yet."
	case 1:
		return fmt.Sprintf("Measured on %v.", all[0].Environment)
	}
	var words []string
	for _, m := range all {
		words = append(words, fmt.Sprintf("%d parts on %v", m.Parts, m.Environment))
	}
	return "Measured in several places, whose times do not compare: " + strings.Join(words, "; ") + "."
}

// clockWords says what times are, by the clocks that they were read from.
func clockWords(all []measuredIn, apart bool) string {
	of := func(clock string) bool {
		return slices.ContainsFunc(all, func(m measuredIn) bool { return m.Clock == clock })
	}
	switch {
	case of(processorClock) && of(wallClock):
		return "Times are of two kinds, of the processor and of a clock on the wall, as the machines told them"
	case of(wallClock):
		return "Times are those of a clock on the wall: what else the machine did is in them"
	case apart:
		return "Times are processor time of the process, which other programs hardly change (those of steps, whose runs go side by side, are of a clock on the wall)"
	}
	return "Times are processor time of the process, which other programs hardly change"
}
