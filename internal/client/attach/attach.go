// Package attach reads files of this machine for prompts. Their content travels with the prompt, because the server may
// run elsewhere, and because the person has named the file.
package attach

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// MaxBytes bounds one attached file. Base64 and the prompt's other parts must fit into the engine's 16 MiB.
const MaxBytes = 10 << 20

// ReadFile returns a file with its content: text, or of it the lines, an image or a PDF. A directory is only named: the
// model looks at it with tools. Its errors name the file.
func ReadFile(path string, lines Lines) (session.File, error) {
	// What is no regular file is named or refused.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return session.File{}, fmt.Errorf("%s not found", path)
	case err != nil:
		return session.File{}, err
	case info.IsDir():
		return session.File{URI: fileuri.Format(path) + "/", Mime: "application/x-directory", Name: filepath.Base(path)}, nil
	case !info.Mode().IsRegular():
		return session.File{}, fmt.Errorf("%s is not a regular file", path)
	}
	// Read it within the limit. Its content decides the type, not its name.
	data, err := readAtMost(path, MaxBytes)
	if err != nil {
		return session.File{}, err
	}
	mime, name := MediaType(data), filepath.Base(path)
	switch {
	case mime == "":
		return session.File{}, fmt.Errorf(
			"%s is binary and neither an image nor a PDF; name it in the prompt instead", path,
		)
	case lines.First == 0:
	case mime != "text/plain":
		return session.File{}, fmt.Errorf("%s has no lines: it is of type %s", path, mime)
	default:
		if data, err = lines.cutText(data); err != nil {
			return session.File{}, fmt.Errorf("%s %w", path, err)
		}
		name += lines.String()
	}
	return DataFile(data, mime, name), nil
}

// DataFile returns a file of a prompt that carries its content.
func DataFile(data []byte, mime, name string) session.File {
	return session.File{URI: session.EncodeDataURI(mime, data), Mime: mime, Name: name}
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, _, err := statefile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf(
			"%s is larger than %d MiB, the limit; name it in the prompt instead, so that the model reads what it needs",
			path, limit>>20,
		)
	}
	return data, nil
}

// MediaType returns the media type, judged by content, of a file that models can read; "" for any other file.
func MediaType(data []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return kind
	}
	if utf8.Valid(data) && !strings.ContainsRune(string(data), 0) {
		return "text/plain"
	}
	return ""
}
