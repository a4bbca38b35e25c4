package atomicfile

import (
	"os"
	"path/filepath"
)

// pendingFile stands in for renameio, which does not support Windows. os.Rename
// replaces an existing file there too.
type pendingFile struct {
	*os.File
	path string
	done bool
}

func (p *pendingFile) commit() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.path); err != nil {
		return err
	}
	p.done = true
	return nil
}

func (p *pendingFile) discard() {
	if p.done {
		return
	}
	_ = p.Close()
	_ = os.Remove(p.Name())
}

func create(path string) (pending, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	return &pendingFile{File: file, path: path}, nil
}
