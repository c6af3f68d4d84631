//go:build !unix

package installation

import "os/exec"

// endWithGroup has no effect: install.sh is for Unix.
func endWithGroup(*exec.Cmd) {}
