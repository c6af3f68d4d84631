package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
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
		hidden[i] = strings.Trim(resolveLinks(path), "/")
	}
	return r.allowAround(unix.AT_FDCWD, "/", hidden)
}

// allowAround allows reading everything below the directory called name in parent except the hidden paths, which are
// relative to it. Landlock rules only grant rights, so it adds a rule for every path that is not hidden. It runs at the
// start of every command, and a home has hundreds of entries, so a file gets the rights of files at once.
func (r ruleset) allowAround(parent int, name string, hidden []string) error {
	if len(hidden) == 0 {
		return r.allowEntry(parent, name, reading, unix.O_NOFOLLOW)
	}
	below := map[string][]string{} // the hidden paths below each entry
	for _, path := range hidden {
		if path == "" {
			return nil
		}
		first, rest, _ := strings.Cut(path, "/")
		below[first] = append(below[first], rest)
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // if the directory cannot be listed, nothing below it is granted
	}
	dir := os.NewFile(uintptr(fd), name)
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(-1) // what cannot be listed is not granted
	for _, e := range entries {
		var err error
		switch {
		case e.Type()&fs.ModeSymlink != 0: // the target has a rule of its own
		case e.IsDir():
			err = r.allowAround(fd, e.Name(), below[e.Name()])
		case below[e.Name()] == nil:
			err = r.allowEntry(fd, e.Name(), reading&fileRights, unix.O_NOFOLLOW)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allowPath grants the rights below a directory, or on a file those that apply to files. A path that cannot be opened
// is skipped.
func (r ruleset) allowPath(path string, rights uint64) error {
	return r.allowEntry(unix.AT_FDCWD, path, rights, 0)
}

// allowEntry is allowPath for an entry of a directory, with further flags to open it.
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
