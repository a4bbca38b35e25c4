//go:build !(linux || darwin) || !(amd64 || arm64) || static

package extract

import "context"

// Library is the loaded library.
type Library struct{}

// Open always fails in this build.
func Open(context.Context, string) (*Library, error) {
	return nil, ErrNoLoading
}

// Version is that of the library.
func (l *Library) Version() string { return "" }

// Session is a network that is ready to run.
type Session struct{}

// NewSession makes a network ready to run.
func (l *Library) NewSession(*Layer, string, int) (*Session, error) { return nil, ErrNoLibrary }

// Run computes the layer.
func (s *Session) Run(context.Context, Tensor) (Tensor, error) { return Tensor{}, ErrNoLibrary }

// Close lets go of the network.
func (s *Session) Close() {}
