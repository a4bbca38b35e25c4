package blockbp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/internal/oracle"
)

// processorTime is what this program has taken.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heap is the memory in use, once none waits to be collected.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// largeTables makes tables of nodes and edges that take a while to read.
func largeTables(t *testing.T, nodes int) (prefix string) {
	t.Helper()
	folder := t.TempDir()
	var n, e strings.Builder
	n.WriteString("id,label,a,b,c\n")
	e.WriteString("source,target,w\n")
	for i := range nodes {
		fmt.Fprintf(&n, "n%d,%d,%d,v%d,%d\n", i, i%3, i%7, i%50, i)
		fmt.Fprintf(&e, "n%d,n%d,%d\nn%d,n%d,1\n", i, (i+1)%nodes, i%5, i, (i*31+7)%nodes)
	}
	for name, text := range map[string]string{"nodes.csv": n.String(), "edges.csv": e.String()} {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return folder
}

// TestCancel: whatever the door is at, it ends soon after its context does, with the error of
// that or with the weights so far, and gives the memory back.
func TestCancel(t *testing.T) {
	oracle.Long(t)
	const nodes, times = 20000, 2
	tables := largeTables(t, nodes)
	open := func() *blockbp.Data { return must(blockbp.Open(tables)) }
	model := must(blockbp.Train(t.Context(), open(), blockbp.Options{MaxPasses: 1}))
	rng := rand.New(rand.NewPCG(1, 1))
	for name, work := range map[string]func(ctx context.Context) error{
		"Train":    func(ctx context.Context) error { _, err := blockbp.Train(ctx, open(), blockbp.Options{}); return err },
		"Predict":  func(ctx context.Context) error { _, err := model.Predict(ctx, open()); return err },
		"Evaluate": func(ctx context.Context) error { _, err := model.Evaluate(ctx, open()); return err },
	} {
		began, before := time.Now(), heap()
		limit, end := context.WithTimeout(t.Context(), 3*time.Second)
		_ = work(limit) // how long it takes, if not too long
		end()
		alone := time.Since(began)
		goroutines := runtime.NumGoroutine()
		for range times {
			ctx, cancel := context.WithCancel(t.Context())
			wait := time.Duration(rng.Float64() * float64(alone))
			var asked time.Time
			var spent time.Duration
			timer := time.AfterFunc(wait, func() { asked, spent = time.Now(), processorTime(); cancel() })
			err := work(ctx)
			if timer.Stop() {
				cancel()
				continue // it had ended
			}
			<-ctx.Done()
			if took, worked := time.Since(asked), processorTime()-spent; min(took, worked) > time.Second {
				t.Errorf("%s: cancelled after %v, it ended %v later", name, wait, took)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: cancelled after %v: error %v, want that of the context", name, wait, err)
			}
			if after := heap(); after > before+4 {
				t.Errorf("%s: cancelled after %v, it keeps %.1f MiB, and had %.1f MiB", name, wait, after, before)
			}
			left := runtime.NumGoroutine() - goroutines
			for range 100 { // those that have ended need not be gone at once
				if left > 0 {
					time.Sleep(10 * time.Millisecond)
					left = runtime.NumGoroutine() - goroutines
				}
			}
			if left > 0 {
				t.Errorf("%s: cancelled after %v, it leaves %d goroutines", name, wait, left)
			}
		}
	}
}
