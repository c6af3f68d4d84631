package snapshot

import "log/slog"

// Options describe a worktree. All fields but Scope, Git and MaxFiles are required.
type Options struct {
	Blobs  *Blobs
	Dir    string // in which captures are kept, of this worktree alone; its time is that of the newest one
	Root   string // the directory; of a repository its top
	Scope  string // the part of the worktree that is captured, relative to Root; "" is all of it
	Git    string // the program; "" captures without it
	Logger *slog.Logger
	// MaxFiles bounds the files of a directory that is captured without git; 0 is the default.
	MaxFiles int
}

// maxUntracked bounds a file that is captured and not tracked by git, in bytes, as in OpenCode.
const maxUntracked = 2 << 20
