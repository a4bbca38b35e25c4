//go:build !linux

package memory

import "errors"

func askForLargePages([]byte) error { return errors.ErrUnsupported }

func offerLargePages([]byte) error { return errors.ErrUnsupported }
