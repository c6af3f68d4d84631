package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// Enter restricts this process to the Policy in args[0] and executes the command in the rest of args. It returns an
// exit code only if that failed; no part of the command has run then.
func Enter(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "sandbox: it needs a policy and a command")
		return 126
	}
	var p Policy
	if err := json.Unmarshal([]byte(args[0]), &p, json.RejectUnknownMembers(true)); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the policy cannot be read:", err)
		return 126
	}
	runtime.LockOSThread() // the restrictions apply to this thread, and exec replaces all others
	if err := p.restrict(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", err)
		return 126
	}
	err := syscall.Exec(args[1], args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", args[1], err)
	return 127
}

// restrict removes from this thread the rights that the policy does not grant.
func (p Policy) restrict() error {
	if err := Check(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := p.restrictFiles(); err != nil {
		return err
	}
	return p.restrictCalls()
}

// keptCapabilities are the file capabilities that root keeps, so that it can work in directories of other users. None
// of them bypasses Landlock.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// dropCapabilities removes all other capabilities of root, with which it could load code into the kernel, write to raw
// memory, or reconfigure the network.
func dropCapabilities() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if keptCapabilities&(1<<c) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM && err != unix.EINVAL {
			return err
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return err
	}
	for i := range have {
		mask := uint32(uint64(keptCapabilities) >> (32 * i))
		have[i] = unix.CapUserData{Effective: have[i].Effective & mask, Permitted: have[i].Permitted & mask}
	}
	return unix.Capset(&head, &have[0])
}
