//go:build !(linux || darwin) || !(amd64 || arm64) || static

package distributed

import "os"

// Join always fails in this build.
func Join(Launch, Options) (*Group, error) { return nil, ErrNoLoading }

// Exit ends the process.
func Exit(code int) { os.Exit(code) }
