package protected

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameFrom renames a file, a link or a directory of parent, whatever the path of parent leads to now.
func renameFrom(parent *os.Root, name, to string) error {
	dir, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return unix.Renameat(int(dir.Fd()), name, unix.AT_FDCWD, to)
}
