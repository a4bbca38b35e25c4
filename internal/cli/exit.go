package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Exit codes of the command; docs/reference/errors.md explains them to users.
const (
	exitDone         = 0
	exitIO           = 1
	exitUsage        = 2
	exitBadData      = 3
	exitNumerical    = 4
	exitNotConverged = 5
	exitBug          = 70
	exitInterrupted  = 130
)

// exitError is an error whose exit code is decided where it arises.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef reports a mistake in the command line.
func usagef(format string, a ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, option.Literals(format, a)...)}
}

// dataf reports data or a model that cannot be used.
func dataf(format string, a ...any) error {
	return &exitError{exitBadData, fmt.Errorf(format, option.Literals(format, a)...)}
}

// codeOf maps an error to the exit code.
func codeOf(err error) int {
	var (
		coded  *exitError
		undone *job.Error
		data   *dataset.Error
		choice interface{ Usage() bool }
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &undone):
		return map[job.Kind]int{job.Usage: exitUsage, job.Data: exitBadData, job.Interrupted: exitInterrupted}[undone.Kind]
	case is[*learn.DivergedError](err), is[*exact.NotFoundError](err):
		return exitNumerical
	case errors.As(err, &data) && data.Option != "", is[*runfolder.NotEmptyError](err),
		errors.As(err, &choice) && choice.Usage():
		return exitUsage
	case is[*bp.NumericalError](err), errors.Is(err, infer.ErrZero), errors.Is(err, infer.ErrUnsuited), data != nil,
		is[*option.Error](err), is[*graph.EdgeError](err), errors.Is(err, learn.ErrState), is[*crf.Error](err),
		is[*learn.MemoryError](err), is[*memory.Error](err):
		return exitBadData
	}
	return exitIO
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

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
