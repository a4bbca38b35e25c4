//go:build !(linux || darwin) || !(amd64 || arm64) || static

package distributed

import (
	"os"
	"time"
)

// Join always fails in this build.
func Join(Launch, time.Duration) (*Group, error) { return nil, ErrNoLoading }

// Exit ends the process.
func Exit(code int) { os.Exit(code) }
