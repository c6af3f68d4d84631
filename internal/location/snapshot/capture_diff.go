package snapshot

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-pkgs/gitignore"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxRules bounds a .gitignore file that is read, in bytes.
const maxRules = 1 << 20

// captureDiff is the difference between two captures of the worktree at root, one before a command and one after it.
// Its methods find files that appear in the difference but existed before the command, or hold content that did. The
// first capture does not have them, so a revert would remove the only copy.
type captureDiff struct {
	root    string
	before  capture
	found   []session.FileChange
	omitted []session.FilePath // sorted
	rules   *gitignore.Matcher // what changed .gitignore files ignored before; nil if no such file changed
	blobs   *Blobs             // have the contents of both sides
}

// dropForeign returns the changes without these files, and the omitted files with those that the command changed.
func (c *captureDiff) dropForeign() (found []session.FileChange, omitted []session.FilePath) {
	known := map[string]bool{} // contents that were captured before: a file that has one was moved
	for _, f := range c.found {
		known[f.Before.Blob] = true
	}
	packed := c.hasVanished()
	omitted = slices.Clone(c.omitted)
	for _, f := range c.found {
		switch {
		case !f.Before.IsAbsent():
		case c.isBelowOmitted(f.Path), c.rules != nil && c.wasModifiedEarlier(f.Path):
			continue
		case packed, c.rules != nil && isIgnored(c.rules, string(f.Path)),
			!known[f.After.Blob] && c.wasCreatedEarlier(f.Path) && !c.isMoved(f.After):
			omitted = append(omitted, f.Path)
			continue
		}
		found = append(found, f)
	}
	slices.Sort(omitted)
	omitted = slices.Compact(omitted)
	return slices.DeleteFunc(found, func(f session.FileChange) bool {
		_, isOmitted := slices.BinarySearch(omitted, f.Path)
		return isOmitted
	}), omitted
}

// hasVanished reports whether a file that no capture has was removed: a file that was created may be made from it, such
// as an archive.
func (c *captureDiff) hasVanished() bool {
	for name := range c.before.omitted {
		if _, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(name))); err != nil {
			return true
		}
	}
	return false
}

// isBelowOmitted reports whether the file is below a directory that is named as a whole, such as a repository.
func (c *captureDiff) isBelowOmitted(name session.FilePath) bool {
	for i, char := range name {
		if _, isOmitted := slices.BinarySearch(c.omitted, name[:i]); char == '/' && isOmitted {
			return true
		}
	}
	return false
}

// wasModifiedEarlier reports whether the file was last modified before the command began.
func (c *captureDiff) wasModifiedEarlier(name session.FilePath) bool {
	info, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(string(name))))
	return err == nil && c.isBeforeCommand(info.ModTime())
}

// wasCreatedEarlier reports whether the file was created before the command began.
func (c *captureDiff) wasCreatedEarlier(name session.FilePath) bool {
	made, err := readBirthTime(filepath.Join(c.root, filepath.FromSlash(string(name))))
	return err == nil && c.isBeforeCommand(made)
}

// maxMoved bounds a file of which isMoved compares the content, in bytes.
const maxMoved = 1 << 20

// isMoved reports whether the file that appeared holds most lines of a captured one that is gone: the command moved
// that and changed it.
func (c *captureDiff) isMoved(appeared session.PathState) bool {
	content, err := c.blobs.Read(appeared.Blob, maxMoved)
	if err != nil {
		return false
	}
	lines := listLines(content)
	for _, f := range c.found {
		if !f.After.IsAbsent() || f.Before.Mode != appeared.Mode {
			continue
		}
		gone, err := c.blobs.Read(f.Before.Blob, maxMoved)
		if err == nil && countShared(listLines(gone), lines)*2 >= max(len(lines), 1) {
			return true
		}
	}
	return false
}

// listLines returns the lines of a text that are not blank.
func listLines(text []byte) []string {
	isBlank := func(line string) bool { return strings.TrimSpace(line) == "" }
	return slices.DeleteFunc(strings.Split(string(text), "\n"), isBlank)
}

// countShared returns the number of lines that both lists have. A line that is repeated counts as often as in the list
// that has it less often.
func countShared(a, b []string) (n int) {
	counts := map[string]int{}
	for _, line := range a {
		counts[line]++
	}
	for _, line := range b {
		if counts[line] > 0 {
			counts[line]--
			n++
		}
	}
	return n
}

func (c *captureDiff) isBeforeCommand(at time.Time) bool {
	return at.Before(c.before.began.Add(-fileTimeStep))
}

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
