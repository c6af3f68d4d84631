package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
)

// protectedCell is a repository in a writable directory, with a file and a directory that are read-only.
func protectedCell(t *testing.T) *cell {
	t.Helper()
	c := newCell(t)
	for _, name := range []string{
		".git/hooks/pre-commit", ".git/config", ".git/HEAD", ".envrc", "sub/.git/config", "sub/a",
	} {
		path := filepath.Join(c.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.policy.Network = true
	for _, name := range []string{".git/hooks", ".git/config", ".envrc", "sub/.git/config", ".absent"} {
		c.policy.ReadOnly = append(c.policy.ReadOnly, filepath.Join(c.work, name))
	}
	return c
}

// runIsolated runs a script in the cell, in the namespaces that protect its ReadOnly paths.
func (c *cell) runIsolated(t *testing.T, script string) string {
	t.Helper()
	argv, err := c.policy.WrapCommand("/proc/self/exe", []string{"/bin/bash", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{}
	argv, ok := IsolateCommand(argv, attr)
	if !ok {
		t.Skip("no namespaces here: ", CheckNamespace())
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.SysProcAttr = c.work, attr
	cmd.Env = append(os.Environ(), "WORK="+c.work)
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Skip("no namespaces here: ", err)
	}
	return string(out)
}

// readAll returns the contents of all protected files.
func (c *cell) readAll(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, r := range c.policy.ReadOnly {
		_ = filepath.WalkDir(r, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				text, _ := os.ReadFile(path)
				b.WriteString(path + ": " + string(text))
			}
			return nil
		})
	}
	return b.String()
}

// Whatever a command tries, files in ReadOnly stay as they are, while everything around them can be changed.
func TestReadOnlyPaths(t *testing.T) {
	attempts := []string{
		"echo new > .git/config", "echo new >> .envrc", "rm -f .envrc", "rm -rf .git/hooks", "rm -rf .git",
		"mv .git moved && cp -r moved .git && echo new > .git/config", "mv .git/config .git/old", "mv .envrc other",
		"echo new > x && mv -f x .envrc", "echo new > x && cp x .git/hooks/pre-commit", "ln -sf x .envrc",
		"echo new > .git/hooks/post-commit", "mkdir .git/hooks/d", "touch .git/hooks/f", "chmod 000 .git/config",
		"ln .git/config hard && echo new > hard", "cp /bin/true .git/hooks/pre-commit", "cd .git && echo new > config",
		"cd .git/hooks && echo new > pre-commit", "echo new > /proc/self/cwd/.envrc",
		"echo new > /proc/self/root$WORK/.envrc",
		"echo new > /proc/$PPID/root$WORK/.envrc", "echo new > /proc/1/root$WORK/.envrc",
		"exec 3<.git; echo new > /proc/self/fd/3/config", "mount -o remount,rw,bind .envrc", "umount -l .git/hooks",
		"umount -l .git; echo new > .git/config",
		"unshare -rm sh -c 'umount -l .git/hooks; echo new > .git/hooks/pre-commit'",
		"unshare -m umount .envrc", "nsenter -t 1 -m sh -c 'echo new > '$WORK/.envrc",
		"mv sub sub2; echo new > sub2/.git/config",
		"git config --file .git/config user.name x", "sed -i s/old/new/ .envrc", "truncate -s 0 .git/config",
		"dd if=/dev/zero of=.git/config count=1", "perl -e 'rename(\".git\", \"g\"); mkdir(\".git\")'",
		"python3 -c 'import os; os.rename(\"sub\", \"s2\"); os.mkdir(\"sub\")'",
		"tar -cf t.tar .git && tar -xf t.tar", "cd .. && mv work work2 && mkdir work",
	}
	c := protectedCell(t)
	before := c.readAll(t)
	if before == "" {
		t.Fatal("nothing is protected")
	}
	around := "cd $WORK && mkdir -p d/e .git && rm -rf f && mv d/e f && echo done | tee .git/HEAD sub/a fresh"
	var all strings.Builder
	for _, script := range attempts {
		fmt.Fprintf(&all, "(%s); (%s) >/dev/null || echo CANNOT WRITE AFTER %q\n", script, around, script)
	}
	out := c.runIsolated(t, all.String())
	if strings.Contains(out, "CANNOT WRITE") {
		t.Error(out)
	}
	if c.readAll(t) == before {
		return
	}
	t.Error(out)
	for _, script := range attempts { // one by one
		c := protectedCell(t)
		before := c.readAll(t)
		if out := c.runIsolated(t, script); c.readAll(t) != before {
			t.Errorf("%s\nchanged\n%sto\n%s%s", script, before, c.readAll(t), out)
		}
	}
}

// A command starts in the working directory below the protecting mounts.
func TestReadOnlyWorkingDirectory(t *testing.T) {
	c := protectedCell(t)
	before := c.readAll(t)
	c.work = filepath.Join(c.work, ".git")
	out := c.runIsolated(t, "echo new > config; echo new > hooks/pre-commit; pwd")
	if after := c.readAll(t); after != before || !strings.Contains(out, c.work) {
		t.Errorf("changed to\n%s%s", after, out)
	}
}

// A policy that needs namespaces is refused by a process that has none of its own.
func TestNamespacesAreNotShared(t *testing.T) {
	c := protectedCell(t)
	argv, err := c.policy.WrapCommand("/proc/self/exe", []string{"/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	argv, ok := IsolateCommand(argv, &syscall.SysProcAttr{})
	if !ok {
		t.Skip("no namespaces here")
	}
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no mount namespace of its own") {
		t.Errorf("%v: %s", err, out)
	}
}

const sandboxUser = 12345

// TestReadOnlyAsUser runs the tests above as a user without privileges, who needs a user namespace.
func TestReadOnlyAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests ran without privileges")
	}
	dir, err := os.MkdirTemp("/tmp", "readonly")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "sandbox.test")
	if err := os.WriteFile(self, bin, 0o755); err != nil { //nolint:gosec // another user runs it
		t.Fatal(err)
	}
	if err := os.Chown(dir, sandboxUser, sandboxUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(
		t.Context(),
		self,
		"-test.run=^(TestReadOnly(Paths|WorkingDirectory)|TestFreeze|TestNamespaces.*|TestInside|TestWritesOutside.*)$",
		"-test.v",
	)
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sandboxUser, Gid: sandboxUser}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Under Freeze nothing changes outside of the writable directories: no content, mode, time, owner or attribute, also
// not for the superuser.
func TestFreeze(t *testing.T) {
	c := newCell(t)
	own := filepath.Join(filepath.Dir(c.work), "own")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal("make the folder:", err)
	}
	c.policy = Policy{Write: []string{own}, Freeze: true}
	describe := func() string {
		out, err := exec.Command("bash", "-c", "find "+c.work+" "+c.outside+
			" -printf '%p %m %T@ %C@ %U %G %l\n' | sort").Output() // an attribute changes the time of change
		if err != nil {
			t.Fatal("list the files:", err)
		}
		return string(out)
	}
	before := describe()
	out := c.runIsolated(t, fmt.Sprintf(`cd %[1]s; for d in . %[2]s %[3]s; do
		chmod 600 $d/file; chmod 700 $d; touch -d 2001-01-01 $d/file; touch $d/file; touch -h -d 2001-01-01 $d/out
		chown 1:1 $d/file; chgrp $(id -g) $d/file; chown -h $(id -u) $d/out; echo x > $d/file; mkdir $d/new
		ln $d/file $d/hard
		setfattr -n user.x -v y $d/file; python3 -c "import os; os.setxattr('$d/file', 'user.x', b'y')"
		python3 -c "import os; os.utime('$d/file', (1, 1))"; mount -o remount,rw $d; mount -o remount,rw /
	done 2>/dev/null
	(echo x > /etc/hosts) 2>/dev/null; touch -d 2001-01-01 /etc/hosts 2>/dev/null
	cd %[4]s && echo in > f && chmod 600 f && touch -d 2001-01-01 f && mkdir d && mv f d/g && cat d/g
	echo x > /dev/null
	echo done; cat %[2]s/file`, c.work, c.outside, filepath.Dir(c.work), own))
	if after := describe(); after != before {
		t.Errorf("changed from\n%s\nto\n%s\n%s", before, after, out)
	}
	mustHave(t, out, "in\ndone\nwhat is in outside")
}

// A system without namespaces is found by a trial, and what needs one is refused there.
func TestWithoutNamespaces(t *testing.T) {
	if !sandboxtest.RunWithoutNamespaces(t) {
		return
	}
	c := newCell(t)
	if err := CheckNamespace(); err == nil || !strings.Contains(err.Error(), "permits no mount namespace") {
		t.Errorf("the trial says %v", err)
	}
	for _, p := range []Policy{
		{Write: c.policy.Write, Isolated: true},
		{Write: c.policy.Write, Freeze: true},
		{Write: c.policy.Write, ReadOnly: []string{filepath.Join(c.work, "file")}},
	} {
		c.policy = p
		argv, err := p.WrapCommand("/proc/self/exe", []string{"/bin/true"})
		if err != nil {
			t.Fatal("wrap the command:", err)
		}
		if _, ok := IsolateCommand(argv, &syscall.SysProcAttr{}); ok {
			t.Errorf("%+v is isolated", p)
		}
		out := c.run(t, "echo ran")
		if refused := strings.Contains(out, "it has no mount namespace"); refused != (p.Isolated || p.Freeze) ||
			refused == strings.Contains(out, "ran\n") {
			t.Errorf("%+v: %s", p, out)
		}
	}
}

// The trial succeeds where a namespace can be made, and the programs of this test need it.
func TestCheckNamespace(t *testing.T) {
	c := protectedCell(t)
	c.runIsolated(t, "true") // skips the test where the system permits none
	if err := CheckNamespace(); err != nil {
		t.Error("the trial failed:", err)
	}
}
