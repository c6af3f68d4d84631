package session

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// The modes of files, as in git's trees.
const (
	ModeFile       uint32 = 0o100644
	ModeExecutable uint32 = 0o100755
	ModeLink       uint32 = 0o120000
	ModeSubmodule  uint32 = 0o160000
)

// PathState is the state of a path. The zero value: nothing exists there.
type PathState struct {
	Blob string `json:"blob,omitzero"` // git's id of the content, or of the target of a link
	Mode uint32 `json:"mode,omitzero"`
}

// IsAbsent reports whether nothing exists at the path.
func (s PathState) IsAbsent() bool { return s == PathState{} }

// FileChange is the change of one file.
type FileChange struct {
	Path   FilePath  `json:"path"`
	Before PathState `json:"before,omitzero"`
	After  PathState `json:"after,omitzero"`
	// Perm is the permissions that the file had if it was removed or replaced and others could not read it; 0 otherwise.
	// A content that comes back has them.
	Perm uint32 `json:"perm,omitzero"`
}

// Status returns what happened to the file: "added", "deleted" or "modified".
func (c FileChange) Status() string { return changeStatus(c.Before, c.After) }

func changeStatus(before, after PathState) string {
	switch {
	case before.IsAbsent():
		return "added"
	case after.IsAbsent():
		return "deleted"
	default:
		return "modified"
	}
}

// FilePath is a path relative to the root of a worktree, with slashes, or an absolute path outside of it. A name can
// have any bytes: one that is not UTF-8 is quoted as in Go in its JSON form.
type FilePath string

// MarshalText returns the path, quoted if it is not UTF-8 or begins with a quote.
func (p FilePath) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(p)) && (p == "" || p[0] != '"') {
		return []byte(p), nil
	}
	return strconv.AppendQuoteToASCII(nil, string(p)), nil
}

// Quote returns the path as people read it: quoted if it is not UTF-8, so that no two paths look alike.
func (p FilePath) Quote() string {
	text, _ := p.MarshalText()
	return string(text)
}

// UnmarshalText reads what MarshalText returns.
func (p *FilePath) UnmarshalText(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		*p = FilePath(text)
		return nil
	}
	plain, err := strconv.Unquote(string(text))
	*p = FilePath(plain)
	return err
}

// ChangedFile is the change of one file in lines.
type ChangedFile struct {
	Path      FilePath `json:"path"`
	Status    string   `json:"status"` // "added", "deleted" or "modified"
	Additions int      `json:"additions"`
	Deletions int      `json:"deletions"`
	Patch     string   `json:"patch"` // "" for a binary file and for one that is too large

	By     []ID `json:"by,omitempty"`     // subagents that changed it
	Shared []ID `json:"shared,omitempty"` // other sessions whose commands ran at the same time and may have changed it
}

// Equal reports whether the changes are the same.
func (f ChangedFile) Equal(g ChangedFile) bool {
	return f.Path == g.Path && f.Status == g.Status && f.Additions == g.Additions && f.Deletions == g.Deletions &&
		f.Patch == g.Patch && slices.Equal(f.By, g.By) && slices.Equal(f.Shared, g.Shared)
}

// Changes counts what a session has changed in its files.
type Changes struct {
	Additions int `json:"additions"` // lines
	Deletions int `json:"deletions"`
	Files     int `json:"files"`
}
