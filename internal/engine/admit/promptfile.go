package admit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// completeFiles sets the types of files that have none, and adds their bytes to size.
func completeFiles(files []session.File, size *int) error {
	for i := range files {
		f := &files[i]
		if f.URI == "" {
			return session.Errorf(session.CodeInvalid, "file %d has no uri", i+1).At(fileField(i))
		}
		if f.Mime == "" {
			f.Mime = guessMime(f.URI)
		}
		*size += len(f.URI) + len(f.Text)
	}
	return nil
}

func fileField(i int) string { return fmt.Sprintf("prompt.files[%d].uri", i) }

// guessMime guesses a file's type from its URI, without reading it.
func guessMime(uri string) string {
	if rest, ok := strings.CutPrefix(uri, "data:"); ok {
		kind, _, _ := strings.Cut(rest, ",")
		kind, _, _ = strings.Cut(kind, ";")
		return cmp.Or(kind, "text/plain")
	}
	if strings.HasSuffix(uri, "/") {
		return "application/x-directory"
	}
	clean, _, _ := strings.Cut(uri, "?")
	if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(clean))); err == nil {
		return kind
	}
	return "application/octet-stream"
}

// checkFileURIs checks that each file: URI names an existing file or directory. It does not check where that lies:
// only tools read it, and tools ask. A file whose text is there, also that it could not be read, may have vanished.
func checkFileURIs(files []session.File) error {
	for i, f := range files {
		if !strings.HasPrefix(f.URI, "file:") || f.Text != "" {
			continue
		}
		if err := checkFileURI(f, fileField(i)); err != nil {
			return err
		}
	}
	return nil
}

func checkFileURI(f session.File, field string) error {
	name, ok := localPath(f.URI)
	if !ok {
		return session.Errorf(session.CodeInvalid,
			"%s must be like file:///directory/name, got %.200q", field, f.URI).At(field)
	}
	info, err := os.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return session.Errorf(session.CodeInvalid, "file %.200q not found", name).At(field)
	case err != nil:
		return session.Errorf(session.CodeInvalid, "file %.200q cannot be accessed", name).At(field).Because(err)
	case info.IsDir() && isDetectable(f.Mime):
		return session.Errorf(session.CodeInvalid, "%.200q is a directory, not of type %s", name, f.Mime).At(field)
	case !info.IsDir() && !info.Mode().IsRegular():
		return session.Errorf(session.CodeInvalid, "%.200q is neither a file nor a directory", name).At(field)
	}
	return nil
}

// localPath returns the path of a file: URI on this machine.
func localPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" ||
		!path.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	return u.Path, true
}

// isDetectable reports whether the first bytes of content tell the type from all others.
func isDetectable(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/bmp", "application/pdf":
		return true
	}
	return false
}
