package cli

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxAttachment bounds one attached file. Base64 and the prompt's other parts must fit into the engine's 16 MiB.
const maxAttachment = 10 << 20

// ReadAttachments reads the files of --file.
func (a *Invocation) ReadAttachments(names []string) ([]session.File, error) {
	var files []session.File
	for _, name := range names {
		f, err := a.ReadAttachment(name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// ReadAttachment carries the content of text, images and PDFs. A directory is only named: the model looks at it with
// tools.
func (a *Invocation) ReadAttachment(name string) (session.File, error) {
	// Find the file; what is no regular file is named or refused.
	path, err := a.ResolvePath(name)
	if err != nil {
		return session.File{}, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return session.File{}, UsageErrorf("--file: %s not found", path)
	case err != nil:
		return session.File{}, UsageErrorf("--file: %v", err)
	case info.IsDir():
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path) + "/"}
		return session.File{URI: u.String(), Mime: "application/x-directory", Name: filepath.Base(path)}, nil
	case !info.Mode().IsRegular():
		return session.File{}, UsageErrorf("--file: %s is not a regular file", path)
	}
	// Read it within the limit. Its content decides the type, not its name.
	data, err := readAtMost(path, maxAttachment)
	if err != nil {
		return session.File{}, err
	}
	mime := mimeOf(data)
	if mime == "" {
		return session.File{}, UsageErrorf(
			"--file: %s is binary and neither an image nor a PDF; name it in the prompt instead",
			path,
		)
	}
	// The content travels in the prompt, since a server may run on another machine.
	return session.File{
		URI:  "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data),
		Mime: mime, Name: filepath.Base(path),
	}, nil
}

// pipeTimeout bounds the wait for the first byte of standard input.
const pipeTimeout = 3 * time.Second

// ReadPipedAttachment returns what is piped to standard input as an attachment. Nothing is attached if standard
// input is no pipe, or stays silent: programs that start cairn may leave a pipe open that they never write to.
func (a *Invocation) ReadPipedAttachment() ([]session.File, error) {
	// Only a pipe is read, not a terminal, a device or a regular file.
	f, ok := a.Stdin.(*os.File)
	if !ok {
		return nil, nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return nil, nil
	}
	// Wait for the first byte for a limited time.
	in, first := bufio.NewReader(f), make(chan error, 1)
	go func() { _, err := in.Peek(1); first <- err }() // ends with the pipe, or with the process
	select {
	case err := <-first:
		if err != nil { // its end, without data
			return nil, nil
		}
	case <-time.After(pipeTimeout):
		a.Note("nothing arrived on standard input within 3s: it is not attached; use - to wait for it")
		return nil, nil
	}
	// Read one byte more than the limit, to detect input that is larger.
	data, err := io.ReadAll(io.LimitReader(in, maxAttachment+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxAttachment {
		return nil, UsageErrorf("standard input is larger than %d MiB, the limit of an attachment", maxAttachment>>20)
	}
	// Attach only types that models accept.
	mime := mimeOf(data)
	if mime == "" {
		return nil, UsageErrorf("standard input is binary and neither an image nor a PDF")
	}
	uri := "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
	return []session.File{{URI: uri, Mime: mime, Name: "standard input"}}, nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, UsageErrorf("--file: %v", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, UsageErrorf(
			"--file: %s is larger than %d MiB, the limit; name it in the prompt instead, so that the model reads what it needs",
			path,
			limit>>20,
		)
	}
	return data, nil
}

// mimeOf returns the media type, judged by content, of a file that models can read; "" for any other file.
func mimeOf(data []byte) string {
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
