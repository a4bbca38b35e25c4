//go:build (linux || darwin) && (amd64 || arm64) && !static

package distributed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestMain is a rank where a launcher starts the test binary with the argument "rank".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "rank" {
		if err := rank(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		Exit(0)
	}
	os.Exit(m.Run())
}

// rank does what a test wants of a rank.
func rank(what string, arguments []string) error {
	// As the command does: a first SIGTERM asks for an end in good order.
	_, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	launch, found := Detect()
	if !found {
		return errors.New("no job is found")
	}
	stall := time.Duration(0)
	if len(arguments) > 0 {
		ms, err := strconv.Atoi(arguments[0])
		if err != nil {
			return err
		}
		stall = time.Duration(ms) * time.Millisecond
	}
	g, err := Join(launch, stall)
	if err != nil {
		return err
	}
	if g.Rank() == 0 {
		fmt.Println("library", g.engine.name(), "by", launch.By)
	}
	switch what {
	case "check":
		hash, err := everything(g)
		if err = NewTeam(g).Common(err, nil); err != nil {
			return err
		}
		fmt.Println("hash", hash, "of", g.Size())
	case "recover":
		if err := recovers(); err != nil {
			return err
		}
		fmt.Println("recovered")
	case "alone": // as process 0 is when the model is learned
		if g.Rank() == 0 {
			time.Sleep(3 * time.Second)
			fmt.Println("written")
		}
	case "late":
		if err := lateToLeave(g); err != nil {
			return err
		}
	default:
		fail(g, what)
	}
	return g.Close()
}

// recovers: with handlers of libraries, this would end the process.
func recovers() (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("no panic at a nil pointer")
		}
	}()
	var p *int
	*p = 1
	return nil
}

// lateToLeave lets rank 0 wait in MPI_Finalize for rank 1, longer than it has patience.
func lateToLeave(g *Group) error {
	leavePatience = 100 * time.Millisecond
	g.engine.(*mpi).hangs = false
	if g.Rank() > 0 {
		g.any(opLeave, false)
		select {} // until the launcher ends this rank
	}
	return g.Close()
}

// fail works until rank 1 does what a test wants.
func fail(g *Group, how string) {
	fmt.Println("rank", g.Rank(), "process", os.Getpid())
	x := make([]float64, 1000)
	for round := 0; ; round++ {
		if g.Rank() == 1 && round == 20 {
			fmt.Println("now", how)
			doFail(g, how)
		}
		g.Agree(x)
		g.Any(false)
		time.Sleep(5 * time.Millisecond)
	}
}

func doFail(g *Group, how string) {
	switch how {
	case "panic":
		go panic("rank 1 has a mistake")
		select {}
	case "exit":
		os.Exit(3)
	case "abort":
		g.Abort("rank 1 has had enough", 3)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nobody is there to read an error
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // all its threads
	case "hang":
		select {}
	case "other":
		g.Gather(make([]float64, g.Size()), []float64{1}, slices.Repeat([]int{1}, g.Size()))
	}
}
