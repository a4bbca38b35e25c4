package extract

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Variable is the environment variable that names the library, or a folder with it.
const Variable = "BLOCKBP_ONNXRUNTIME"

// ErrNoLibrary says that the library cannot be used here, and how to get it.
var ErrNoLibrary = errors.New("the ONNX Runtime library is not available; install it " +
	"(pip install onnxruntime; Debian, Ubuntu: apt-get install libonnxruntime-dev; macOS: brew install onnxruntime), " +
	"or name the file libonnxruntime.so, .so.1 or .dylib")

// ErrNoLoading is the ErrNoLibrary of a build that loads no libraries at all, as the static
// ones of releases and of wheels for Python.
var ErrNoLoading error = noLoading{}

type noLoading struct{}

func (noLoading) Error() string {
	return "this build of blockbp loads no libraries, and ONNX Runtime is one; on Linux or macOS build a command that " +
		"does (go install github.com/blockbp/blockbp/cmd/blockbp@latest), and give it the library (pip install " +
		"onnxruntime)"
}

// Is reports that there is no library then.
func (noLoading) Is(target error) bool { return target == ErrNoLibrary }

// pythonPatience is the time in which Python says where a package is. It imports nothing.
const pythonPatience = 10 * time.Second

// candidates returns the libraries to try, in this order: what was asked for alone, or
// else what the variable says, alone too, or what the system knows and Python has.
func candidates(asked string) []string {
	if named := cmp.Or(asked, os.Getenv(Variable)); named != "" {
		if info, err := os.Stat(named); err == nil && info.IsDir() {
			return inFolder(named)
		}
		return []string{named}
	}
	names := []string{"libonnxruntime.so.1", "libonnxruntime.so"}
	if runtime.GOOS == "darwin" {
		names = []string{"libonnxruntime.dylib", "/opt/homebrew/lib/libonnxruntime.dylib",
			"/usr/local/lib/libonnxruntime.dylib"}
	}
	return names
}

// inFolder returns the libraries in a folder, or in that of a wheel for Python.
func inFolder(folder string) []string {
	var found []string
	for _, pattern := range []string{"libonnxruntime.so*", "libonnxruntime*.dylib"} {
		for _, inside := range []string{"", "lib", "capi", filepath.Join("onnxruntime", "capi")} {
			more, _ := filepath.Glob(filepath.Join(folder, inside, pattern)) // it fails for a wrong pattern only
			found = append(found, more...)
		}
	}
	return found
}

// fromPython returns the libraries of the package onnxruntime of the Python that is on
// the path, if there is one.
func fromPython(ctx context.Context) []string {
	ctx, stop := context.WithTimeout(ctx, pythonPatience)
	defer stop()
	const where = "import importlib.util as u; s = u.find_spec('onnxruntime'); " +
		"print(list(s.submodule_search_locations)[0] if s else '')"
	for _, python := range []string{"python3", "python"} {
		answer, err := exec.CommandContext(ctx, python, "-c", where).Output()
		if folder := strings.TrimSpace(string(answer)); err == nil && folder != "" {
			return inFolder(folder)
		}
	}
	return nil
}
