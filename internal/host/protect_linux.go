package host

import "golang.org/x/sys/unix"

// protectProcess keeps other processes of the user, such as those of tools, from reading this process's memory and
// environment, where keys and the password are. It does not keep out root. Programs that this process starts are not
// protected.
func protectProcess() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
