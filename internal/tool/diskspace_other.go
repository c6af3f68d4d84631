//go:build !linux && !darwin

package tool

import "os"

func freeSpace(*os.File) (int64, bool) { return 0, false }

func diskSize(*os.File) int64 { return 0 }
