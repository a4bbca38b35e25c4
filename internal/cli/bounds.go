package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/memory"
)

// threadsValue is a number of threads that this machine has a use for.
type threadsValue struct{ threads *int }

// threadsVar registers the option --threads.
func threadsVar(fl *pflag.FlagSet, threads *int, help string) {
	*threads = runtime.GOMAXPROCS(0)
	fl.Var(threadsValue{threads}, "threads", help)
}

// String implements pflag.Value.
func (v threadsValue) String() string {
	if v.threads == nil {
		return ""
	}
	return strconv.Itoa(*v.threads)
}

// Set implements pflag.Value.
func (v threadsValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || memory.ThreadsProblem(n) != "" {
		return errors.New("want " + wantedThreads())
	}
	*v.threads = n
	return nil
}

// Type implements pflag.Value.
func (v threadsValue) Type() string { return "int" }

// withMemoryRemedy says what allows what was refused for its memory. Training says that by
// itself.
func withMemoryRemedy(err error) error {
	var large *memory.Error
	if !errors.As(err, &large) {
		return err
	}
	return &exitError{codeOf(err), fmt.Errorf("%w; --memory %s allows it", err, large.Enough())}
}

func wantedThreads() string {
	return fmt.Sprintf("a number from 1 to %d; this machine has %d processors", memory.MostThreads(), runtime.NumCPU())
}
