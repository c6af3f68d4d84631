package jsontree

import (
	"crypto/rand"
	"io/fs"
	"path"
	"strings"
)

// asidePrefix begins the names of what stood in the way of a value. No key has a part with such a name.
const asidePrefix = ".in-the-way-"

// clearWay makes room for the file of a value, and reports whether it could: a link in the place of one of its folders,
// or of the file, is removed, which leaves alone what it leads to; a folder in the place of the file, or a file in that
// of a folder, gets another name beside it. The tree belongs to the program that writes it, and one odd entry must not
// keep all later values out of it.
func (t *Tree) clearWay(name string) bool {
	at := ""
	parts := strings.Split(name, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := t.root.Lstat(at)
		if err != nil {
			return false
		}
		isFile := i == len(parts)-1
		switch {
		case i == 0: // the folder of the tree
			continue
		case info.Mode()&fs.ModeSymlink != 0:
			err = t.root.Remove(at)
		case info.IsDir() == isFile:
			err = t.root.Rename(at, path.Join(path.Dir(at), asidePrefix+rand.Text()))
		default:
			continue
		}
		return err == nil
	}
	return false
}
