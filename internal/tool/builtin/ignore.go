package builtin

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/git-pkgs/gitignore"
)

// maxIgnoreFile bounds an ignore file; what is longer is not read.
const maxIgnoreFile = 1 << 20

// ignore is the rules of one directory's ignore files, over those of the directories above. It never changes, so that
// walks may share it. The nearest directory with an opinion decides.
type ignore struct {
	up      *ignore
	dir     string // relative to the root of the walk, with slashes; "." is the root
	matcher *gitignore.Matcher
}

// ignoreFiles are read in this order, later ones winning.
var ignoreFiles = []string{".gitignore", ".ignore"}

// with adds the ignore files of dir. It returns i itself when there are none.
func (i *ignore) with(root *os.Root, dir string) *ignore {
	files := ignoreFiles
	if dir == "." {
		files = append([]string{".git/info/exclude"}, files...)
	}
	var m *gitignore.Matcher
	for _, name := range files {
		rules := smallFile(root, path.Join(dir, name))
		if len(rules) == 0 {
			continue
		}
		if m == nil {
			m = gitignore.New("")
		}
		m.AddPatterns(rules, "")
	}
	if m == nil {
		return i
	}
	return &ignore{up: i, dir: dir, matcher: m}
}

// smallFile returns the content of a small regular file, nil if it is anything else.
func smallFile(root *os.Root, name string) []byte {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile || info.Size() == 0 {
		return nil
	}
	f, err := openPlain(root, filepath.FromSlash(name))
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

// ignores reports whether the entry at rel, relative to the root of the walk, is ignored.
func (i *ignore) ignores(rel string, isDir bool) bool {
	for ; i != nil; i = i.up {
		below := rel
		if i.dir != "." {
			below = strings.TrimPrefix(rel, i.dir+"/")
		}
		if isDir {
			below += "/"
		}
		if m := i.matcher.MatchDetail(below); m.Matched {
			return m.Ignored
		}
	}
	return false
}
