package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespace describes the namespaces that the starter of a process gave it.
type Namespace struct {
	Outside string `json:"outside"`       // the mount namespace of the starter
	User    bool   `json:"user,omitzero"` // a user namespace as well, in which the ids below are to be mapped
	UID     int    `json:"uid,omitzero"`
	GID     int    `json:"gid,omitzero"`

	Private []string `json:"private,omitzero"` // paths in privateMounts, which EnterNamespace made
}

// IsolateCommand prepares attr so that the kernel enforces the policy's ReadOnly paths and Freeze. argv is what
// WrapCommand returned; the process has to be started with attr and the result. If that fails, the process may be
// started with its own argv and attr instead: it refuses to run the command if the policy is Isolated or has Freeze,
// else the ReadOnly paths can be written then. ok is false if there is nothing to prepare or this system permits no
// namespaces.
func IsolateCommand(argv []string, attr *syscall.SysProcAttr) (isolated []string, ok bool) {
	p, rest, err := unwrapCommand(argv)
	if err != nil || p == nil || !p.UsesNamespace() {
		return nil, false
	}
	if p.Namespace, err = NewNamespace(attr); err != nil {
		return nil, false
	}
	isolated, err = p.WrapCommand(argv[0], rest)
	return isolated, err == nil
}

// UsesNamespace reports whether a mount namespace enforces a part of the policy and this system permits one.
func (p Policy) UsesNamespace() bool { return p.needsNamespace() && CheckNamespace() == nil }

func (p Policy) needsNamespace() bool {
	return len(p.ReadOnly)+len(p.Nested) > 0 || p.Isolated || p.Freeze
}

// NewNamespace sets in attr the flags with which a process starts in namespaces of its own, and returns what its policy
// needs to enter them. The superuser needs a mount namespace. Others need a user namespace to get one, which some
// systems forbid.
func NewNamespace(attr *syscall.SysProcAttr) (*Namespace, error) {
	outside, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, err
	}
	attr.Cloneflags |= unix.CLONE_NEWNS
	if os.Geteuid() == 0 {
		return &Namespace{Outside: outside}, nil
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID} // to map ids and to mount
	return &Namespace{Outside: outside, User: true, UID: os.Getuid(), GID: os.Getgid()}, nil
}

// EnterNamespace makes ReadOnly paths read-only for this process, and gives it shared memory and terminals of its own.
// It does nothing if the policy has no Namespace.
func (p Policy) EnterNamespace() error {
	ns := p.Namespace
	if ns == nil {
		return nil
	}
	// Check and prepare the namespaces.
	if inside, err := os.Readlink("/proc/self/ns/mnt"); err != nil || inside == ns.Outside {
		return fmt.Errorf("the process has no mount namespace of its own (%w)", err)
	}
	if ns.User {
		if err := ns.mapIDs(); err != nil {
			return fmt.Errorf("map ids: %w", err)
		}
	}

	// Mount: first what is read-only, so that the private file systems stay writable.
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("detach mounts: %w", err)
	}
	if err := p.mountReadOnly(); err != nil {
		return err
	}
	if err := p.freezeMounts(); err != nil {
		return err
	}
	for _, m := range privateMounts {
		if err := unix.Mount(m.kind, m.dir, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC|m.flags, m.options); err == nil {
			ns.Private = append(ns.Private, m.paths...)
		} // else the system has no such directory, or a container forbids it: its files stay read-only
	}
	return os.Chdir(dir) // the working directory is the one below the new mounts
}

// privateMounts are the file systems of which each command has its own: shared memory, which semaphores of Python and
// Chrome's renderers need, and terminals that the command opens. paths can be written to.
var privateMounts = []struct {
	kind, dir string
	flags     uintptr
	options   string
	paths     []string
}{
	{"tmpfs", "/dev/shm", unix.MS_NODEV, "mode=1777", []string{"/dev/shm"}},
	{"devpts", "/dev/pts", 0, "ptmxmode=0666,mode=0600", []string{"/dev/pts", "/dev/ptmx"}},
}

// mapIDs maps the ids of the user to themselves. Other ids have no name in the namespace.
func (ns *Namespace) mapIDs() error {
	for _, m := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", ns.UID, ns.UID)},
		{"gid_map", fmt.Sprintf("%d %d 1", ns.GID, ns.GID)},
	} {
		if err := os.WriteFile("/proc/self/"+m.file, []byte(m.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// mountReadOnly mounts each ReadOnly path that exists on itself, read-only. The directories between it and the
// writable one are mounted on themselves: the kernel renames no mount point, so no other path leads there.
func (p Policy) mountReadOnly() error {
	points, readOnly := p.listMountPoints()
	for _, path := range points {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
		if !readOnly[path] {
			continue
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("mount %s read-only: %w", path, err)
		}
	}
	return nil
}

// freezeMounts makes all mounts read-only if the policy has Freeze, except for mounts of the paths in Write on
// themselves: then also modes, owners, times and extended attributes of files elsewhere cannot be changed.
func (p Policy) freezeMounts() error {
	if !p.Freeze {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("mount everything read-only: %w", err)
	}
	attr = unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, path := range p.resolveWritable() {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("mount %s writable: %w", path, err)
		}
	}
	return nil
}

// listMountPoints returns the resolved ReadOnly paths that exist below writable directories, and the directories
// between them, each before those below it. It runs at the start of every command, and most paths do not exist.
func (p Policy) listMountPoints() (points []string, readOnly map[string]bool) {
	tops := p.resolveWritable()
	readOnly = map[string]bool{}
	for i, r := range slices.Concat(p.ReadOnly, p.Nested) {
		if _, err := os.Lstat(r); err != nil {
			continue
		}
		path := resolveLinks(r)
		if _, err := os.Stat(path); err != nil || readOnly[path] { // a link to nothing cannot be a mount point
			continue
		}
		readOnly[path] = true
		if i >= len(p.ReadOnly) {
			points = append(points, path)
			continue
		}
		for _, top := range tops {
			for at := path; at != top && isWithin(top, at); at = filepath.Dir(at) {
				points = append(points, at)
			}
		}
	}
	slices.SortFunc(points, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	return slices.Compact(points), readOnly
}
