//go:build !(linux || darwin) || !(amd64 || arm64) || nometis

package distributed

// Join always fails in this build.
func Join(Launch, Options) (*Group, error) { return nil, ErrNoLoading }
