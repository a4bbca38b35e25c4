package memory

import "golang.org/x/sys/unix"

// askForLargePages gives advice that fails where large pages are switched off, or none is free. MADV_COLLAPSE came
// with Linux 6.1; the first advice lets the kernel do the same later.
func askForLargePages(memory []byte) error {
	if err := offerLargePages(memory); err != nil {
		return err
	}
	return unix.Madvise(memory, unix.MADV_COLLAPSE)
}

// offerLargePages has memory that nothing has touched made of large pages when something does.
func offerLargePages(memory []byte) error { return unix.Madvise(memory, unix.MADV_HUGEPAGE) }
