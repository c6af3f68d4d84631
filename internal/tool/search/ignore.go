package search

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/git-pkgs/gitignore"
)

// maxIgnoreFile bounds an ignore file; a longer one is not read.
const maxIgnoreFile = 1 << 20

// ignoreRules is the rules of the ignore files in one directory and in those above. It is immutable, so that goroutines
// can share it. The order is that of ripgrep: a matching rule of any .rgignore decides, then of any .ignore, then of
// any .gitignore; among files of one name that of the nearest directory.
type ignoreRules struct {
	up       *ignoreRules
	dir      string // relative to the root of the search, with slashes; "." is the root
	matchers [len(ignoreFiles)]*gitignore.Matcher
}

// ignoreFiles are the names of ignore files. The rules of a later one take precedence.
var ignoreFiles = [...]string{".gitignore", ".ignore", ".rgignore"}

// addDir adds the ignore files of dir. It returns i itself if dir has none.
func (i *ignoreRules) addDir(root *os.Root, dir string) *ignoreRules {
	next := &ignoreRules{up: i, dir: dir}
	for kind, name := range ignoreFiles {
		if dir == "." && kind == 0 {
			next.addFile(kind, readSmallFile(root, ".git/info/exclude"))
		}
		next.addFile(kind, readSmallFile(root, path.Join(dir, name)))
	}
	if next.matchers == [len(ignoreFiles)]*gitignore.Matcher{} {
		return i
	}
	return next
}

// addFile adds the rules of a file named ignoreFiles[kind].
func (i *ignoreRules) addFile(kind int, rules []byte) {
	if len(rules) == 0 {
		return
	}
	if i.matchers[kind] == nil {
		i.matchers[kind] = gitignore.New("")
	}
	i.matchers[kind].AddPatterns(rules, "")
}

// readUserRules returns the rules of the user: the file in git's core.excludesFile, or git/ignore in the configuration
// directory.
func readUserRules() *ignoreRules {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	if home == "" {
		return nil
	}
	file := filepath.Join(config, "git", "ignore")
	for _, path := range []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")} {
		if named := parseExcludesFile(readUserFile(path)); named != "" {
			file = named
		}
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(home, rest)
	}
	rules := readUserFile(file)
	if len(rules) == 0 {
		return nil
	}
	i := &ignoreRules{dir: "."}
	i.addFile(0, rules)
	return i
}

// parseExcludesFile returns the value of core.excludesFile in a git configuration, "" if it has none.
func parseExcludesFile(config []byte) string {
	section, value := "", ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		name, v, _ := strings.Cut(line, "=")
		if section == "core" && strings.EqualFold(strings.TrimSpace(name), "excludesFile") {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return value
}

// readUserFile returns the content of a small regular file of the user, nil for any other.
func readUserFile(path string) []byte {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	return readSmallFile(dir, filepath.Base(path))
}

// readSmallFile returns the content of a small regular file, nil for any other.
func readSmallFile(root *os.Root, name string) []byte {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile || info.Size() == 0 {
		return nil
	}
	f, err := openRegularFile(root, filepath.FromSlash(name))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return data
}

// isIgnored reports whether the entry at rel, relative to the root of the search, is ignored.
func (i *ignoreRules) isIgnored(rel string, isDir bool) bool {
	for kind := len(ignoreFiles) - 1; kind >= 0; kind-- {
		for at := i; at != nil; at = at.up {
			if at.matchers[kind] == nil {
				continue
			}
			below := rel
			if at.dir != "." {
				below = strings.TrimPrefix(rel, at.dir+"/")
			}
			if isDir {
				below += "/"
			}
			if m := at.matchers[kind].MatchDetail(below); m.Matched {
				return m.Ignored
			}
		}
	}
	return false
}
