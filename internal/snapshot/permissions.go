package snapshot

import "io/fs"

// permissions holds the permissions of the captured files that others cannot read, by name: a capture has the execute
// bit only. Files that are gone keep theirs.
type permissions map[string]uint32

// readTight returns the permissions of a file that the group or others cannot read, 0 for every other file.
func readTight(info fs.FileInfo) uint32 {
	if perm := uint32(info.Mode().Perm()); info.Mode().IsRegular() && perm&0o044 != 0o044 {
		return perm
	}
	return 0
}

// noteFile notes the permissions of a file that is captured.
func (p permissions) noteFile(name string, info fs.FileInfo) {
	if perm := readTight(info); perm != 0 {
		p[name] = perm
	} else {
		delete(p, name)
	}
}
