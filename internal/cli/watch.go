package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/watch"
)

func (a *app) watchCommand() *cobra.Command {
	var port int
	var host string
	cmd := &cobra.Command{
		Use:   "watch RUN... [--port N] [--host ADDRESS]",
		Short: "Follow trainings in the browser: numbers, curves and pictures while they go on",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("watch: name a run folder: blockbp watch RUN")
			}
			return a.watch(args, host, port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "port of the page (default: a free one)")
	cmd.Flags().StringVar(&host, "host", "127.0.0.1", "address of the page; with 0.0.0.0 other machines can read it")
	readsArguments(cmd, "the folder of a run")
	return cmd
}

func (a *app) watch(dirs []string, host string, port int) error {
	for _, dir := range dirs {
		if err := checkWatched(dir); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(a.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("--host %s --port %d: %w; choose another, or leave both out", host, port, err)
	}
	token, at := watch.NewToken(), listener.Addr().String()
	if _, free, _ := net.SplitHostPort(at); listener.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		at = "MACHINE:" + free
	}
	err = a.print(false, nil, "http://%s/%s/ shows %s until Ctrl-C\n", at, token, strings.Join(dirs, ", "))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return watch.Serve(a.ctx, listener, dirs, token)
}

// checkWatched refuses what no training is in. One that has just started has nothing but its lock.
func checkWatched(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return dataf("%s is a file: want the folder of a run", dir)
	}
	if runfolder.CheckUnlocked(dir) != nil || job.IsRunFolder(dir) || exists(filepath.Join(dir, runfolder.MetricsFile)) {
		return nil
	}
	return dataf("%s has neither config.json nor %s: it is no run folder", dir, runfolder.MetricsFile)
}
