package snapshot

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-pkgs/gitignore"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxRules bounds a .gitignore file that is read, in bytes.
const maxRules = 1 << 20

// A file that a command seems to have created may have existed and been ignored, if the command changed the rules. A
// revert must not remove it: it was not changed at all, or what it held before is not known.

// readOldRules returns what the .gitignore files among the changes ignored before; nil if no such file changed.
func readOldRules(blobs *Blobs, changes []session.FileChange) *gitignore.Matcher {
	var rules *gitignore.Matcher
	for _, c := range changes {
		if path.Base(string(c.Path)) != ".gitignore" {
			continue
		}
		if rules == nil {
			rules = gitignore.New("")
		}
		if raw, err := blobs.Read(c.Before.Blob, maxRules); err == nil {
			rules.AddPatterns(raw, strings.TrimPrefix(path.Dir(string(c.Path)), "."))
		}
	}
	return rules
}

// isIgnored reports whether the rules ignore the file or a directory above it.
func isIgnored(rules *gitignore.Matcher, name string) bool {
	for i, c := range name {
		if c == '/' && rules.MatchPath(name[:i], true) {
			return true
		}
	}
	return rules.MatchPath(name, false)
}

// isOlder reports whether the file below root was last changed before the capture.
func isOlder(root string, name session.FilePath, captured time.Time) bool {
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(string(name))))
	return err == nil && info.ModTime().Before(captured.Add(-fileTimeStep))
}
