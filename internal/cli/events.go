package cli

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/blockbp/blockbp/internal/printable"
)

// progressVariable is the variable of the environment that, where it is json, makes
// standard error a sequence of events for a program: one JSON object a line.
const progressVariable = "BLOCKBP_PROGRESS"

// startEvent is the first: who speaks.
type startEvent struct {
	Version string `json:"version"`
}

// noteEvent is a note, in the words of the command; Refers names options as references, for other languages.
type noteEvent struct {
	Note   string `json:"note"`
	Refers string `json:"refers"`
}

// progressEvent says how much of the work at hand is done, in words and as a share.
type progressEvent struct {
	Progress string `json:"progress"`
	Done     int    `json:"done"`
	Total    int    `json:"total"`
}

// errorEvent is the last of a command that failed, with its exit code.
type errorEvent struct {
	Error  string `json:"error"`
	Refers string `json:"refers"`
	Code   int    `json:"code"`
}

// events are written to a program. There are none in nil.
type events struct {
	mutex sync.Mutex
	to    io.Writer
}

// send writes one event, and reports whether there is a program to read it.
func (e *events) send(event any) bool {
	if e == nil {
		return false
	}
	text, err := printable.EncodeResult(event, "")
	if err != nil {
		return false // of texts and numbers there is no error
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	_, _ = e.to.Write(append(text, '\n')) // there is nobody to tell
	return true
}

// parentEvery is the time between looks whether the program that reads is still there.
const parentEvery = 200 * time.Millisecond

// whileParentLives returns a context that ends with the process that started this one: a
// program that was killed reads no events, and wants no result. Windows does not tell.
func whileParentLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent, ticker := os.Getppid(), time.NewTicker(parentEvery)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}
