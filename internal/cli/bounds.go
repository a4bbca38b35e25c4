package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/memory"
)

// threadsVar registers the option --threads, a number that this machine has a use for.
func threadsVar(fl *pflag.FlagSet, threads *int, help string) {
	*threads = runtime.GOMAXPROCS(0)
	wanted := fmt.Sprintf("a number from 1 to %d; this machine has %d processors", memory.MostThreads(), runtime.NumCPU())
	fl.Var(optionValue{"int", wanted, func() string { return strconv.Itoa(*threads) }, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || memory.ThreadsProblem(n) != "" {
			return errors.New("want " + wanted)
		}
		*threads = n
		return nil
	}}, "threads", help)
}

// withMemoryRemedy says what allows what was refused for its memory. Training says that by itself.
func withMemoryRemedy(err error) error {
	var large *memory.Error
	if !errors.As(err, &large) {
		return err
	}
	return &exitError{codeOf(err), fmt.Errorf("%w; {memory=%s} allows it", err, large.Enough())}
}
