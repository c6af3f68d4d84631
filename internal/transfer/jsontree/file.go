package jsontree

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodev1"
)

// readFile reads a file that holds one value.
func (t *tree) readFile(name string) opencodev1.Row {
	row := opencodev1.Row{Name: name}
	// Only files are opened: that of a pipe may never end.
	if info, err := fs.Stat(t.data, name); err == nil && !info.Mode().IsRegular() {
		row.Reason = "it is not a regular file"
		return row
	}
	f, err := t.data.Open(name)
	if err != nil {
		row.Reason = explainError(err)
		return row
	}
	defer f.Close()
	text, _, long, err := foreign.ReadText(f, maxFile)
	switch {
	case err != nil:
		row.Reason = explainError(err)
	case long:
		row.Reason = fmt.Sprintf("it is larger than %d MiB", maxFile>>20)
	case len(text) == 0:
		row.Reason = "it is empty"
	default:
		row.Data = text
	}
	return row
}

// listDir returns the entries of a folder in the order of their names, none if the folder does not exist.
func listDir(data fs.FS, name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(data, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// explainError returns an error of the file system in words, without the path.
func explainError(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing"
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read: permission denied"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return "it cannot be read: " + err.Error()
}
