package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxPath bounds the pasted text that may be a path.
const maxPath = 8 << 10

// ListPastedPaths returns the absolute paths that a pasted text may be as a whole, as it is when a file is dropped on a
// terminal: plain, in quotes, with escaped characters, or a file: URL. It does not look at the disk.
func ListPastedPaths(text string) (paths []string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\r\x00") {
		return nil
	}
	for _, path := range []string{text, unquotePath(text), pathOfURL(text)} {
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// FindPastedPath returns the first of the paths of ListPastedPaths that is an existing regular file.
func FindPastedPath(text string) (path string, ok bool) {
	for _, path := range ListPastedPaths(text) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return filepath.Clean(path), true
		}
	}
	return "", false
}

// escapedRune matches a character that a shell reads as it is.
var escapedRune = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(.)`) })

// unquotePath returns the path that a shell would read, "" if it would read more than one word.
func unquotePath(text string) string {
	for _, quote := range []string{"'", `"`} {
		inner, found := strings.CutPrefix(text, quote)
		if inner, ended := strings.CutSuffix(inner, quote); found && ended {
			inner = strings.ReplaceAll(inner, `'\''`, "\x00")
			if strings.Contains(inner, quote) {
				return ""
			}
			return strings.ReplaceAll(inner, "\x00", "'")
		}
	}
	if strings.ContainsAny(escapedRune().ReplaceAllString(text, ""), " \t'\"") {
		return ""
	}
	return escapedRune().ReplaceAllString(text, "$1")
}

// pathOfURL returns the path of a file: URL of this machine, "" for other texts.
func pathOfURL(text string) string {
	u, err := url.Parse(strings.Trim(text, `'"`))
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// File is a file of this machine whose content can be attached.
type File struct {
	Path  string
	Mime  string
	Size  int64
	Lines Lines // that are wanted of it
}

// InspectMedia reports whether the path is that of an image or a PDF, judged by its content.
func InspectMedia(path string) (File, bool) {
	m, err := inspect(path)
	return m, err == nil && m.Mime != "" && m.Mime != "text/plain"
}

// Inspect returns a file of this machine whose content can be attached. Its error says why it cannot, without the path.
func Inspect(path string) (File, error) {
	m, err := inspect(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, errors.New("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return m, errors.New("it cannot be read")
	case err != nil:
		return m, errors.New("it is not a regular file")
	case m.Mime == "":
		return m, errors.New("it is binary and neither an image nor a PDF")
	case m.Size > MaxBytes:
		return m, fmt.Errorf("it is larger than %d MiB, the limit", MaxBytes>>20)
	}
	return m, nil
}

// inspect returns the file with the type of its beginning; "" is unknown.
func inspect(path string) (File, error) {
	f, info, err := statefile.OpenRegular(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head) // an empty file is text
	mime := MediaType(head[:n])
	for cut := n - 1; mime == "" && n == len(head) && cut >= n-3; cut-- {
		mime = MediaType(head[:cut]) // within a character
	}
	return File{Path: path, Mime: mime, Size: info.Size()}, nil
}
