//go:build !windows

package atomicfile

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

type pendingFile struct{ *renameio.PendingFile }

func (p pendingFile) commit() error { return p.CloseAtomicallyReplace() }

func (p pendingFile) discard() { _ = p.Cleanup() }

func create(path string) (pending, error) {
	file, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return nil, err
	}
	return pendingFile{file}, nil
}
