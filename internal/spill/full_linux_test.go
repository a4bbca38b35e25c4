package spill

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFullDisk: a disk without room is an error at the start, that says how much is free and what to
// do, whether the file system can set room aside or is written to; and takes nothing.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("skipped: no small disk can be made here: ", err)
	}
	defer func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) }()
	space := &Space{Folder: folder}
	err := space.Reserve(2 << 20)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	oracle.WantError(t, err, "--spill "+folder, "2.0 MiB", "1.0 MiB are free", "leave the command's --spill out")
	file := oracle.Must(named(folder))(t)
	if err := writeZeros(file, 2<<20); !full(err) {
		t.Errorf("writing zeros: %v", err)
	}
	file.Close()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Bfree != s.Blocks {
		t.Errorf("%d of %d blocks are free: %v", s.Bfree, s.Blocks, err)
	}
	oracle.OK(t, space.Reserve(1<<20))
	space.Close()
}
