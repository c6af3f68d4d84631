package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cairn-dev/cairn/internal/client/attach"
	"github.com/cairn-dev/cairn/internal/session"
)

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

// ReadAttachment carries the content of text, images and PDFs. A name may end with lines, such as #10-20, unless there
// is a file of the whole name. A directory is only named: the model looks at it with tools.
func (a *Invocation) ReadAttachment(name string) (session.File, error) {
	path, err := a.ResolvePath(name)
	if err != nil {
		return session.File{}, err
	}
	var lines attach.Lines
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path, lines = attach.CutLines(path)
	}
	f, err := attach.ReadFile(path, lines)
	if err != nil {
		return session.File{}, UsageErrorf("--file: %v", err)
	}
	return f, nil
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
	data, err := io.ReadAll(io.LimitReader(in, attach.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > attach.MaxBytes {
		return nil, UsageErrorf("standard input is larger than %d MiB, the limit of an attachment", attach.MaxBytes>>20)
	}
	// Attach only types that models accept.
	mime := attach.MediaType(data)
	if mime == "" {
		return nil, UsageErrorf("standard input is binary and neither an image nor a PDF")
	}
	return []session.File{attach.DataFile(data, mime, "standard input")}, nil
}
