//go:build !((linux || darwin) && (amd64 || arm64) && !nometis)

package partition

import "fmt"

// metisLibrary stands for the library that this program cannot load.
type metisLibrary struct{}

func openMETIS() (*metisLibrary, error) {
	return nil, fmt.Errorf("%w (this program was built without it)", ErrNoMETIS)
}

func (*metisLibrary) partition(weightedCSR, int) ([]int32, error) {
	return nil, ErrNoMETIS
}
