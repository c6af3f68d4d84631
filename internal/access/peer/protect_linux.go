package peer

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ProtectProcess keeps other processes of the user, such as those of tools, from reading this process's memory and
// environment, where keys and the password are. It does not keep out root. Programs that this process starts are not
// protected.
func ProtectProcess() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// ProtectClient is ProtectProcess for a client of the owner's socket: another process of the user could use its
// connection. Where /proc hides processes (hidepid), the owner could not identify a protected client, which then stays
// as it is.
func ProtectClient() error {
	mounts, _ := os.ReadFile("/proc/self/mounts") // unreadable: nothing is known to be hidden
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[1] == "/proc" &&
			strings.Contains(fields[3], "hidepid=") && !strings.Contains(fields[3], "hidepid=off") {
			return nil
		}
	}
	return ProtectProcess()
}
