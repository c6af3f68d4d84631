package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's access rights by version of its interface. Version 3 is the first that restricts truncation.
const (
	minLandlockVersion = 3
	signalVersion      = 6 // restricts signals and abstract sockets

	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// writeRights omits device nodes, which would bypass every file rule.
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
	devices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// fileRights are the rights that a rule on a file may have; others are for directories.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// harmlessDevices are devices that every command may write to.
var harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockVersion returns the version of Landlock's interface.
func landlockVersion() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// makeWriteRuleset returns the rules for writing, devices, signals and abstract sockets. They permit all reads.
func (p Policy) makeWriteRuleset() (ruleset, error) {
	version, err := landlockVersion()
	if err != nil {
		return ruleset{}, err
	}
	// Handle what the kernel knows. An older one gets the structure without the fields that it does not know.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: readRights | writeRights | devices}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	var ioctl uint64 // the right to control devices, 0 if this kernel does not restrict that
	if version >= 5 {
		ioctl = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		attr.Handled_access_fs |= ioctl
	}
	if version >= signalVersion { // signals to processes outside, and without a network their abstract sockets
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.Network || p.NoLocalSockets {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	// Allow reading everywhere, and writing where the policy permits it.
	r, err := newRuleset(&attr, size)
	if err != nil {
		return r, err
	}
	grants := []grant{{"/", readRights}}
	for _, dir := range p.Write {
		grants = append(grants, grant{dir, readRights | writeRights})
	}
	if p.Namespace != nil {
		for _, path := range p.Namespace.Private {
			grants = append(grants, grant{path, readRights | writeRights | ioctl})
		}
	}
	// Programs expect to write to a few devices, such as /dev/null.
	for _, device := range harmlessDevices {
		grants = append(grants, grant{device, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE})
	}
	return r, r.allowPaths(grants)
}

// grant is a path and the rights there and below.
type grant struct {
	path   string
	rights uint64
}

// ruleset is a Landlock ruleset.
type ruleset struct{ fd int }

func newRuleset(attr *unix.LandlockRulesetAttr, size uintptr) (ruleset, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, 0)
	if errno != 0 {
		return ruleset{-1}, fmt.Errorf("make rules: %w", errno)
	}
	return ruleset{int(fd)}, nil
}

func (r ruleset) close() { _ = unix.Close(r.fd) }

// restrictThread restricts this thread.
func (r ruleset) restrictThread() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

func (r ruleset) allowPaths(grants []grant) error {
	for _, g := range grants {
		if err := r.allowEntry(unix.AT_FDCWD, g.path, g.rights, 0); err != nil {
			return err
		}
	}
	return nil
}

// allowEntry grants the rights below an entry of a directory, or on a file those that apply to files. flags are further
// flags to open it. What cannot be opened is skipped.
func (r ruleset) allowEntry(dir int, name string, rights uint64, flags int) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil //nolint:nilerr // missing, or not accessible
	}
	defer func() { _ = unix.Close(fd) }()
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	errno := r.addRule(&attr)
	if errno == unix.EINVAL && rights&^fileRights != 0 { // it is not a directory
		attr.Allowed_access &= fileRights
		errno = r.addRule(&attr)
	}
	if errno != 0 {
		return fmt.Errorf("%s: %w", name, errno)
	}
	return nil
}

func (r ruleset) addRule(attr *unix.LandlockPathBeneathAttr) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	return errno
}
