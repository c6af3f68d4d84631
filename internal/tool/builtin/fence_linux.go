package builtin

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fencePrefix  = "cairn-"
	fenceThreads = 16          // the tasks that the kernel counts are threads: so many for each process that may be
	fenceAge     = time.Minute // after which a command is in its fence
	cgroupKill   = "cgroup.kill"
)

// fence is a control group around one command. It ends all that is in it at once, whatever forks meanwhile, and where the
// controller for it is on, the kernel refuses more tasks than it holds. Nil is none: nobody gave us a place for it.
type fence struct {
	dir    string
	handle *os.File
}

// newFence makes a fence for so many processes, in a group that the system has handed over to us.
func newFence(processes int) *fence {
	mounted, own, ok := controlGroup()
	if !ok {
		return nil
	}
	var plain *fence
	for _, rel := range slices.Compact([]string{filepath.Dir(own), own}) { // beside ours, where controllers may be on; else below it
		parent := filepath.Join(mounted, rel)
		if !delegated(parent, rel) {
			continue
		}
		removeFences(parent, time.Now().Add(-fenceAge))
		f, counts := makeFence(parent, processes)
		if counts {
			plain.remove()
			return f
		}
		if f != nil && plain != nil {
			f.remove()
		} else if f != nil {
			plain = f
		}
	}
	return plain
}

// makeFence returns nil if the group cannot be made or cannot be killed, and whether the kernel counts its tasks.
func makeFence(parent string, processes int) (f *fence, counts bool) {
	dir := filepath.Join(parent, fencePrefix+rand.Text())
	if os.Mkdir(dir, 0o755) != nil {
		return nil, false
	}
	handle, err := os.Open(dir)
	f = &fence{dir, handle}
	if _, kill := os.Stat(filepath.Join(dir, cgroupKill)); err != nil || kill != nil {
		f.remove()
		return nil, false
	}
	return f, os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(processes*fenceThreads)), 0) == nil
}

// around puts a command that is to be started into the fence.
func (f *fence) around(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if f != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(f.handle.Fd())
	}
	return attr
}

// kill ends all that is in the fence.
func (f *fence) kill() {
	if f != nil {
		_ = os.WriteFile(filepath.Join(f.dir, cgroupKill), []byte("1"), 0) // the rest is killed one by one
	}
}

// remove removes the fence, if nothing is in it any more; else a later command does.
func (f *fence) remove() {
	if f == nil {
		return
	}
	if f.handle != nil {
		_ = f.handle.Close()
	}
	_ = syscall.Rmdir(f.dir)
}

// removeFences removes what commands before then left because something went on in it. Those in use stay.
func removeFences(parent string, before time.Time) {
	old, err := filepath.Glob(filepath.Join(parent, fencePrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && info.ModTime().Before(before) {
			_ = syscall.Rmdir(dir) // the system refuses it while anything is in it
		}
	}
}

// delegated reports whether groups may be made there: in what belongs to us, which systemd sees to for users, in what is
// marked as handed over, and at the top of a container.
func delegated(dir, rel string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	if os.Geteuid() != 0 || rel == "/" {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// controlGroup returns where the groups of version 2 are mounted, and ours among them.
func controlGroup() (mounted, own string, ok bool) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	groups, err2 := os.ReadFile("/proc/self/cgroup")
	if errors.Join(err, err2) != nil {
		return "", "", false
	}
	for line := range strings.Lines(string(groups)) {
		if path, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); is {
			own = path
		}
	}
	for line := range strings.Lines(string(mounts)) {
		mount, rest, _ := strings.Cut(line, " - ")
		f := strings.Fields(mount)
		if len(f) < 6 || !strings.HasPrefix(rest, "cgroup2 ") {
			continue
		}
		below, within := below(f[3], own)
		return f[4], filepath.Join("/", below), own != "" && within
	}
	return "", "", false
}
