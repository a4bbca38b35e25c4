package runfolder

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/blockbp/blockbp/internal/simd"
)

// modulePath is how the build information names this module.
const modulePath = "github.com/blockbp/blockbp"

// Environment describes what a run ran on, for env.json, and when, in UTC. Versions name the commit where a build knows
// it. It names neither the machine nor the user.
func Environment() map[string]any {
	environment := map[string]any{
		"go_version": runtime.Version(),
		"os":         runtime.GOOS,
		"arch":       runtime.GOARCH,
		"cores":      runtime.NumCPU(),
		"gomaxprocs": runtime.GOMAXPROCS(0),
		"kernels":    simd.Name(), // which round differently
		"time":       time.Now().UTC().Format(time.RFC3339),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range append(build.Deps, &build.Main) {
			if module.Path == modulePath {
				environment["blockbp_version"] = module.Version
			}
		}
	}
	return environment
}
