//go:build !linux

package search

import (
	"os"
)

func openBeneath(*os.File, string) (*os.File, bool, error) { return nil, false, nil }
