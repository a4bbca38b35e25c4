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

// vcsNames are what env.json calls settings of a build.
var vcsNames = map[string]string{"vcs.revision": "vcs_revision", "vcs.time": "vcs_time", "vcs.modified": "vcs_modified"}

// addBuild adds the version of this module and, where this module is the main one, the state of its repository.
func addBuild(environment map[string]any, build *debug.BuildInfo) {
	for _, module := range append(build.Deps, &build.Main) {
		if module.Path == modulePath {
			environment["blockbp_version"] = module.Version
		}
	}
	for _, setting := range build.Settings {
		if name := vcsNames[setting.Key]; name != "" && build.Main.Path == modulePath {
			environment[name] = setting.Value
		}
	}
	if modified, ok := environment["vcs_modified"]; ok {
		environment["vcs_modified"] = modified == "true"
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
