package snapshot

import "log/slog"

// Options describe a worktree. All fields but Scope, Git and MaxFiles are required.
type Options struct {
	Blobs *Blobs // shared by all worktrees
	// Dir holds the captures and copies of this worktree alone. It need not exist; its modification time is that of the
	// newest capture.
	Dir    string
	Root   string // the directory; of a repository its top
	Scope  string // the part of the worktree that is captured, relative to Root; "" is all of it
	Git    string // the absolute path of the program; "" captures without it
	Logger *slog.Logger
	// MaxFiles bounds the files of a directory that is captured without git; 0 is the default.
	MaxFiles int
}
