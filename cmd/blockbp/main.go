// Command blockbp learns and uses pairwise Markov random fields and CRFs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/memory"
)

func main() {
	memory.KeepHeapTight()
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}()
	distributed.Exit(cli.RunPromptly(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Exit))
}
