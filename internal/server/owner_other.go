//go:build !unix

package server

import "io/fs"

const noFollow = 0

// Here directories of a user are closed to others by the system's own rules, not by modes.
func ownedByUs(fs.FileInfo) bool { return true }

func exposed(fs.FileInfo) bool { return false }
