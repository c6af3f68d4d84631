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
	argv := append([]string{"", Word}, args...)
	argv, err := PrepareProcess(argv)
	if err == nil && len(args) == 2 && args[1] == trialWord {
		return 0
	}
	runtime.LockOSThread() // the restrictions apply to this thread, and exec replaces all others
	if err == nil {
		args, err = RestrictThread(argv)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", err)
		return 126
	}
	err = syscall.Exec(args[0], args, os.Environ())
	fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
	return 127
}

// PrepareProcess makes ReadOnly paths read-only for this process, and gives it shared memory and terminals of its own,
// if argv has a policy for that: a command line that IsolateCommand returned. It returns the command line for
// RestrictThread.
func PrepareProcess(argv []string) (prepared []string, err error) {
	p, rest, err := unwrapCommand(argv)
	if err != nil || p == nil || p.Namespace == nil {
		return argv, err
	}
	if err := p.enterNamespaces(); err != nil {
		return nil, fmt.Errorf("protect files: %w", err)
	}
	return p.WrapCommand(argv[0], rest)
}

// RestrictThread restricts this thread, to which the caller has locked its goroutine for ever, to the policy in argv, a
// command line that WrapCommand or PrepareProcess returned, and returns the command to start. Processes that the thread
// starts are restricted as well; other threads of this process are not. For another command line it does nothing.
func RestrictThread(argv []string) (command []string, err error) {
	p, command, err := unwrapCommand(argv)
	if err != nil || p == nil {
		return command, err
	}
	return command, p.restrictThread()
}

// restrictThread removes from this thread the rights that the policy does not grant.
func (p Policy) restrictThread() error {
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
