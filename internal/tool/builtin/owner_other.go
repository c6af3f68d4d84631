//go:build !unix

package builtin

import (
	"io/fs"
	"os"
)

func keepOwner(*os.Root, string, fs.FileInfo) {}

func links(fs.FileInfo) uint64 { return 0 }
