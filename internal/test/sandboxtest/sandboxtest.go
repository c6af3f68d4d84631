// Package sandboxtest lets tests run as on a system that permits no mount and user namespaces, as in most containers.
package sandboxtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const variable = "CAIRN_TEST_WITHOUT_NAMESPACES"

// RestartWithoutNamespaces executes this test program again under a filter that refuses namespaces, if the environment
// asks for it. It is called at the start of TestMain.
func RestartWithoutNamespaces() {
	if os.Getenv(variable) != "start" {
		return
	}
	_ = os.Setenv(variable, "on")
	panic(restartFiltered())
}

// RunWithoutNamespaces runs the test again in a process that can make no namespaces. isInside is true in that process,
// in which the rest of the test runs.
func RunWithoutNamespaces(t *testing.T) (isInside bool) {
	t.Helper()
	if os.Getenv(variable) == "on" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=start")
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case strings.Contains(text, "--- SKIP"):
		t.Skip(text)
	case !strings.Contains(text, "--- PASS"):
		t.Error("the test did not run: ", text)
	}
	return false
}
