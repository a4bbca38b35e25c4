//go:build !linux

package memory

import "errors"

func offerLargePages([]byte) error { return errors.ErrUnsupported }
