//go:build !unix

package discovery

import "io/fs"

const noFollow = 0

// isOwnedByUser is always true: these systems protect the directories of a user by their own rules, not by modes.
func isOwnedByUser(fs.FileInfo) bool { return true }

func isExposed(fs.FileInfo) bool { return false }
