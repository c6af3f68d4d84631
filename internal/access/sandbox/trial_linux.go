package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// trialWord is the command of a process that enters namespaces and ends.
const trialWord = "__trial"

// trialVariable is in the environment of that process.
const trialVariable = "CAIRN_NAMESPACE_TRIAL"

// trialTime bounds the trial of namespaces.
const trialTime = 10 * time.Second

// CheckNamespace returns nil if this system permits the mount namespace that protects ReadOnly paths and that Freeze
// needs, else the reason why not. It starts this program in such a namespace. Later calls return the same result,
// unless the trial took too long.
func CheckNamespace() error {
	trial.Lock()
	defer trial.Unlock()
	if !trial.isDone {
		trial.err = tryNamespace()
		trial.isDone = !errors.Is(trial.err, context.DeadlineExceeded)
	}
	return trial.err
}

// trial is the outcome of tryNamespace.
var trial struct {
	sync.Mutex // guards the fields
	isDone     bool
	err        error
}

// tryNamespace starts this program in namespaces, in which it mounts its own directory read-only.
func tryNamespace() error {
	if os.Getenv(trialVariable) != "" { // a program that does not call Enter would start itself again and again
		return errors.New("this process tries it")
	}
	// Prepare a policy that needs a mount: a read-only directory inside of a writable one.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Dir(self)
	attr := &syscall.SysProcAttr{}
	p := Policy{Write: []string{filepath.Dir(dir)}, ReadOnly: []string{dir}}
	if p.Namespace, err = NewNamespace(attr); err != nil {
		return err
	}
	argv, err := p.WrapCommand(self, []string{trialWord})
	if err != nil {
		return err
	}
	// Run the program in it for a limited time.
	ctx, cancel := context.WithTimeout(context.Background(), trialTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", append(os.Environ(), trialVariable+"=1"), attr
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the trial of a mount namespace did not end: %w", ctx.Err())
	}
	// The output of the program says more than its exit code.
	if text := strings.TrimSpace(string(out)); text != "" {
		err = errors.New(text)
	}
	return fmt.Errorf("this system permits no mount namespace%s: %w", findForbiddingSetting(), err)
}

// findForbiddingSetting returns the settings of the kernel that may forbid user namespaces, as part of a message.
func findForbiddingSetting() (found string) {
	for _, s := range [][2]string{
		{"user/max_user_namespaces", "0"},
		{"kernel/unprivileged_userns_clone", "0"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1"},
	} {
		if value, err := os.ReadFile("/proc/sys/" + s[0]); err == nil && strings.TrimSpace(string(value)) == s[1] {
			found += " (/proc/sys/" + s[0] + " is " + s[1] + ")"
		}
	}
	return found
}
