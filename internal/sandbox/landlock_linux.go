package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's access rights by version of its interface. Version 3 is the first that restricts truncation.
const (
	minLandlockVersion = 3
	signalVersion      = 6 // restricts signals and abstract sockets

	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
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

// restrictFiles restricts this thread by Landlock.
func (p Policy) restrictFiles() error {
	version, err := landlockVersion()
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: reading | writeRights | devices}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	r := ruleset{}
	if version >= 5 {
		r.ioctl = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		attr.Handled_access_fs |= r.ioctl
	}
	if version >= signalVersion { // signals to processes outside, and without a network their abstract sockets
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.Network {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: make rules: %w", errno)
	}
	r.fd = int(fd)
	defer func() { _ = unix.Close(r.fd) }()
	if err := r.addPolicy(p); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

// ruleset is a Landlock ruleset.
type ruleset struct {
	fd    int
	ioctl uint64 // the right to control devices, 0 if this kernel does not restrict that
}

func (r ruleset) addPolicy(p Policy) error {
	for _, dir := range p.Write {
		if err := r.allowPath(dir, reading|writeRights); err != nil {
			return err
		}
	}
	if p.Namespace != nil {
		for _, path := range p.Namespace.Private {
			if err := r.allowPath(path, reading|writeRights|r.ioctl); err != nil {
				return err
			}
		}
	}
	for _, dir := range p.Show {
		if err := r.allowPath(dir, reading); err != nil {
			return err
		}
	}
	for _, device := range harmlessDevices {
		if err := r.allowPath(device, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil {
			return err
		}
	}
	if err := r.allowPath("/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil { // file names may be listed everywhere
		return err
	}
	hidden := make([]string, len(p.Hide))
	for i, path := range p.Hide {
		hidden[i] = resolveLinks(path)
	}
	return r.allowAround("/", hidden)
}

// allowAround allows reading everything below dir except the hidden paths. Landlock rules only grant rights, so it adds
// a rule for every path that is not hidden.
func (r ruleset) allowAround(dir string, hidden []string) error {
	leads := false
	for _, h := range hidden {
		if isWithin(h, dir) {
			return nil
		}
		leads = leads || isWithin(dir, h)
	}
	if !leads {
		return r.allowPath(dir, reading)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // if the directory cannot be listed, nothing below it is granted
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 { // the target has a rule of its own
			continue
		}
		if err := r.allowAround(filepath.Join(dir, e.Name()), hidden); err != nil {
			return err
		}
	}
	return nil
}

// allowPath grants the rights below a directory, or on a file those that apply to files. A path that cannot be opened
// is skipped.
func (r ruleset) allowPath(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // missing, or not accessible
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%s: %w", path, errno)
	}
	return nil
}
