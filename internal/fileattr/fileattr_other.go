//go:build !unix

package fileattr

import (
	"io/fs"
	"os"
)

// CopyOwner does nothing here.
func CopyOwner(*os.Root, string, fs.FileInfo) {}

// CountLinks returns 0: the number of links is not known here.
func CountLinks(fs.FileInfo) uint64 { return 0 }
