package snapshot

import (
	"io/fs"
	"slices"
	"time"
)

// maxFormer bounds permissions.former.
const maxFormer = 10_000

// permissions holds the permissions of the captured files that others cannot read: a capture has the execute bit only.
type permissions struct {
	now    map[string]uint32  // by name; files that are gone keep theirs
	former []formerPermission // oldest first
}

// formerPermission is the permissions that a file had until a capture found others.
type formerPermission struct {
	name string
	perm uint32
	end  time.Time
}

func newPermissions() *permissions { return &permissions{now: map[string]uint32{}} }

// readTight returns the permissions of a file that the group or others cannot read, 0 for every other file.
func readTight(info fs.FileInfo) uint32 {
	if perm := uint32(info.Mode().Perm()); info.Mode().IsRegular() && perm&0o044 != 0o044 {
		return perm
	}
	return 0
}

// noteFile notes the permissions of a file that is captured.
func (p *permissions) noteFile(name string, info fs.FileInfo) {
	old, perm := p.now[name], readTight(info)
	if old != 0 && old != perm {
		p.former = append(p.former, formerPermission{name, old, time.Now()})
		p.former = slices.Delete(p.former, 0, max(0, len(p.former)-maxFormer))
	}
	if perm != 0 {
		p.now[name] = perm
	} else {
		delete(p.now, name)
	}
}

// find returns the permissions that the file had in the capture that ended at a time; 0 if others could read it.
func (p *permissions) find(name string, ended time.Time) uint32 {
	for _, f := range p.former {
		if f.name == name && f.end.After(ended) {
			return f.perm
		}
	}
	return p.now[name]
}
