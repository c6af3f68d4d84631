//go:build !linux

package protected

import (
	"errors"
	"os"
)

// renameFrom would rename a file of parent. A copy is made instead.
func renameFrom(*os.Root, string, string) error { return errors.ErrUnsupported }
