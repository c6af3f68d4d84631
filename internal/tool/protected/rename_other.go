//go:build !linux

package protected

import (
	"errors"
	"os"
)

// renameFrom is unsupported; the caller copies the file instead.
func renameFrom(*os.Root, string, string) error { return errors.ErrUnsupported }
