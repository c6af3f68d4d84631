package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Enter restricts this process to the Policy in args[0] and executes the command in the rest of args. It returns an
// exit code only if that failed; no part of the command has run then.
func Enter(args []string) int {
	p, command, err := unwrapCommand(append([]string{"", Word}, args...))
	if err == nil {
		err = p.EnterNamespace()
	}
	if err == nil && len(command) == 1 && command[0] == trialWord {
		return 0
	}
	runtime.LockOSThread() // the restrictions apply to this thread, and exec replaces all others
	if err == nil {
		err = p.RestrictThread()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", err)
		return 126
	}
	err = syscall.Exec(command[0], command, os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", command[0], err)
	return 127
}

// RestrictThread removes the rights that the policy does not grant from this thread, to which the caller has locked its
// goroutine for ever. Processes that the thread starts are restricted as well; other threads of this process are not.
func (p Policy) RestrictThread() error {
	if err := Check(); err != nil {
		return err
	}
	if (p.Isolated || p.Freeze) && p.Namespace == nil {
		return errors.New("it has no mount namespace, which this sandbox needs")
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

// restrictFiles restricts this thread by two Landlock rulesets, and a file can be used if both permit it: one says what
// may be written, the other, which takes long to make, what may be read.
func (p Policy) restrictFiles() error {
	r, err := p.makeWriteRuleset()
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	defer r.close()
	if err := r.restrictThread(); err != nil {
		return err
	}
	read := ruleset{p.ReadRuleset}
	if p.ReadRuleset == 0 {
		made, err := p.makeReadRuleset(p.resolveHidden())
		if err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
		read = made.ruleset
	}
	defer read.close()
	return read.restrictThread()
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
