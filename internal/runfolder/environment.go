package runfolder

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// modulePath is how the build information names this module.
const modulePath = "github.com/blockbp/blockbp"

// cpuInfoFile is where Linux describes the processor.
const cpuInfoFile = "/proc/cpuinfo"

// Environment describes what a run ran on, for env.json: go_version, os, arch, cpu_model (where the system tells),
// cores, gomaxprocs, blockbp_version and, where the build knew them, vcs_revision, vcs_time and vcs_modified; and
// time, now in UTC. It names neither the machine nor the user.
func Environment() map[string]any {
	environment := map[string]any{
		"go_version": runtime.Version(),
		"os":         runtime.GOOS,
		"arch":       runtime.GOARCH,
		"cores":      runtime.NumCPU(),
		"gomaxprocs": runtime.GOMAXPROCS(0),
		"time":       time.Now().UTC().Format(time.RFC3339),
	}
	if model := cpuModel(cpuInfoFile); model != "" {
		environment["cpu_model"] = model
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		addBuild(environment, build)
	}
	return environment
}

// addBuild adds the version of this module and, where this module is the main one, the state of its repository.
func addBuild(environment map[string]any, build *debug.BuildInfo) {
	if build.Main.Path != modulePath {
		for _, dependency := range build.Deps {
			if dependency.Path == modulePath {
				environment["blockbp_version"] = dependency.Version
			}
		}
		return
	}
	environment["blockbp_version"] = build.Main.Version
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			environment["vcs_revision"] = setting.Value
		case "vcs.time":
			environment["vcs_time"] = setting.Value
		case "vcs.modified":
			environment["vcs_modified"] = setting.Value == "true"
		}
	}
}

// cpuModel is the first "model name" in a file in the format of /proc/cpuinfo, or "" if there is none.
func cpuModel(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
