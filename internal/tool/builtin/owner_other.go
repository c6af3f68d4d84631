//go:build !unix

package builtin

import (
	"io/fs"
	"os"
)

func keepOwner(*os.Root, string, fs.FileInfo) {}
