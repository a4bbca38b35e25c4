//go:build (linux || darwin) && (amd64 || arm64) && !static

package distributed

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is the output of a job, while it comes.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// when returns the time at which a text came.
func (l *lines) when(t *testing.T, text string) time.Time {
	t.Helper()
	for begin := time.Now(); !strings.Contains(l.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > jobPatience {
			t.Fatalf("%q did not come:\n%s", text, l.String())
		}
	}
	return time.Now()
}
