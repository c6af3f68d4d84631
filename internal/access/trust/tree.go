package trust

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Bounds of one claim. A larger one cannot be trusted.
const (
	maxFiles = 4096
	maxBytes = 32 << 20
)

// AddTree adds the files below a directory, except for the files and directories that skip excludes, and returns every
// path that it examined. The directory, below the root with slashes, need not exist. A link that leads out of the project or to a
// directory makes the claim a problem: its target is not part of the project, or could change unnoticed.
func (c *Claim) AddTree(dir, why string, skip func(fs.DirEntry) bool) (seen []string) {
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return nil
	}
	defer root.Close()
	// every error is a problem of the claim
	_ = fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		seen = append(seen, filepath.Join(c.Root, filepath.FromSlash(name)))
		switch {
		case err != nil && name == dir:
			// A directory above it may be a link out of the project, which root does not follow and other readers do.
			if _, lerr := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(name))); lerr == nil {
				c.SetProblem(name, "cannot be read, or leads out of the project")
			}
			return fs.SkipAll
		case err != nil:
			c.SetProblem(name, "cannot be read")
			return nil
		case name == dir && d.Type()&fs.ModeSymlink != 0:
			c.SetProblem(name, "is a link: make it a directory of the project")
			return fs.SkipAll
		case name != dir && skip != nil && skip(d):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		return c.addFile(root, name, why)
	})
	return seen
}

// AddFile adds one file of the project, or the problem that it is. It reports whether the root could be opened.
func (c *Claim) AddFile(name, why string) bool {
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	_ = c.addFile(root, name, why) // kept as the claim's problem
	return true
}

// AddImport adds a file that a script imports. It reports whether the claim lacked it.
func (c *Claim) AddImport(name, script string) (isNew bool) {
	isNew = !c.has(name)
	return c.AddFile(name, whyImport+path.Base(script)) && isNew
}

// Read returns the content of a file of the claim. It is an error if that is no longer what was hashed.
func (c *Claim) Read(name string) ([]byte, error) {
	i := slices.IndexFunc(c.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return nil, fmt.Errorf("%s did not exist when the project was trusted", name)
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && sha256.Sum256(content) != c.Files[i].Sum {
		err = fmt.Errorf("%s has changed since the project was trusted", name)
	}
	return content, err
}

// Verify returns an error if a file of the claim has changed, or one that must not exist does.
func (c *Claim) Verify() error {
	for _, f := range c.Files {
		if _, err := c.Read(f.Path); err != nil {
			return err
		}
	}
	for _, name := range c.Absent {
		if _, err := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s did not exist when the project was trusted", name)
		}
	}
	return nil
}

func (c *Claim) addFile(root *os.Root, name, why string) error {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		c.SetProblem(name, "cannot be read, or leads out of the project")
		return nil
	case !info.Mode().IsRegular():
		c.SetProblem(name, "is neither a file nor a directory")
		return nil
	}
	c.bytes += info.Size()
	if len(c.Files) >= maxFiles || c.bytes > maxBytes {
		c.SetProblem(name, "and the files before it exceed the limit of a claim")
		return fs.SkipAll
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
	if err != nil {
		c.SetProblem(name, "cannot be read")
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil || len(content) > maxBytes {
		c.SetProblem(name, "cannot be read")
		return nil
	}
	c.Add(name, content, why)
	return nil
}
