package fileattr

import "strings"

// IsSameIdentity reports whether two identities (ReadIdentity) are of one file. The number of its device does not count:
// it changes with the order in which a system finds its disks.
func IsSameIdentity(a, b string) bool {
	return a != "" && withoutDevice(a) == withoutDevice(b)
}

// withoutDevice returns the inode and the time of birth of an identity, which are its last two parts.
func withoutDevice(identity string) string {
	parts := strings.Split(identity, ":")
	return strings.Join(parts[max(0, len(parts)-2):], ":")
}
