package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// mimeOf guesses a file's type from its URI alone; no content is read (spec/v2 AD-3).
func mimeOf(uri string) string {
	if rest, ok := strings.CutPrefix(uri, "data:"); ok {
		kind, _, _ := strings.Cut(rest, ",")
		kind, _, _ = strings.Cut(kind, ";")
		if kind != "" {
			return kind
		}
		return "text/plain"
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

// checkFiles completes the prompt's files and refuses those that no model could be sent.
func (l Limits) checkFiles(p session.Prompt) error {
	size := len(p.Text)
	for i := range p.Files {
		f := &p.Files[i]
		if f.URI == "" {
			return session.Errorf(session.CodeInvalid, "file %d has no uri", i+1).At(fileField(i))
		}
		if f.Mime == "" {
			f.Mime = mimeOf(f.URI)
		}
		size += len(f.URI) + len(f.Text)
	}
	if size > l.PromptBytes {
		return session.Errorf(session.CodeTooLarge, "the prompt with its attachments has %d bytes, the limit is %d", size, l.PromptBytes).At("prompt")
	}
	for i, f := range p.Files {
		if err := l.checkContent(f, fileField(i)); err != nil {
			return err
		}
	}
	return nil
}

func fileField(i int) string { return fmt.Sprintf("prompt.files[%d].uri", i) }

// checkContent refuses an attachment whose content a model could not be sent: it cannot be decoded, is too large, or
// is not of the type that it is said to be. What is only named has no content.
func (l Limits) checkContent(f session.File, field string) error {
	if !strings.HasPrefix(f.URI, "data:") {
		return nil
	}
	_, data, ok := session.DataURI(f.URI)
	encoded := base64.StdEncoding.EncodedLen(len(data))
	switch {
	case !ok:
		return session.Errorf(session.CodeInvalid, "%s is no valid data: URI: it must be data:TYPE;base64, and base64 text", field).At(field)
	case strings.HasPrefix(f.Mime, "image/") && encoded > l.ImageBytes:
		return session.Errorf(session.CodeTooLarge, "the image %s has %d bytes in base64, the limit is %d", nameOf(f), encoded, l.ImageBytes).At(field)
	case len(data) > l.FileBytes:
		return session.Errorf(session.CodeTooLarge, "the file %s has %d bytes, the limit is %d", nameOf(f), len(data), l.FileBytes).At(field)
	}
	if is := http.DetectContentType(data); recognisable(f.Mime) && !sameType(f.Mime, is) {
		return session.Errorf(session.CodeInvalid, "the content of %s is not of type %s; it looks like %s", nameOf(f), f.Mime, is).At(field)
	}
	return nil
}

func nameOf(f session.File) string {
	if f.Name == "" {
		return "attachment"
	}
	return fmt.Sprintf("%.100q", f.Name)
}

// recognisable reports whether content of the type can be told from all other by its first bytes.
func recognisable(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/bmp", "application/pdf":
		return true
	}
	return false
}

func sameType(said, is string) bool {
	return said == is || said == "image/jpg" && is == "image/jpeg"
}

// present refuses a prompt that names files or agents which are not there.
func (e *Engine) present(ctx context.Context, s *session.Session, p session.Prompt) error {
	for i, f := range p.Files {
		if err := checkNamed(f, fileField(i)); err != nil {
			return err
		}
	}
	if len(p.Agents) == 0 {
		return nil
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return err
	}
	defer release()
	for i, a := range p.Agents {
		if _, ok := scope.Agents[a.Name]; !ok {
			return session.NotFound("agent", a.Name, scope.AgentNames(session.Agent.Mentionable)...).At(fmt.Sprintf("prompt.agents[%d].name", i))
		}
	}
	return nil
}

// checkNamed looks whether a file: URI names a file or a directory. Where it lies is not asked: its content is read
// by tools only, which ask.
func checkNamed(f session.File, field string) error {
	if !strings.HasPrefix(f.URI, "file:") {
		return nil
	}
	name, ok := history.FilePath(f.URI)
	if !ok {
		return session.Errorf(session.CodeInvalid, "%s must be like file:///directory/name, got %.200q", field, f.URI).At(field)
	}
	info, err := os.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return session.Errorf(session.CodeInvalid, "there is no file %.200q", name).At(field)
	case err != nil:
		return session.Errorf(session.CodeInvalid, "the file %.200q cannot be looked at", name).At(field).Because(err)
	case info.IsDir() && recognisable(f.Mime):
		return session.Errorf(session.CodeInvalid, "%.200q is a directory, not of type %s", name, f.Mime).At(field)
	case !info.IsDir() && !info.Mode().IsRegular():
		return session.Errorf(session.CodeInvalid, "%.200q is neither a file nor a directory", name).At(field)
	}
	return nil
}

// checkPresent is present for a prompt that is new. One that was admitted before gets its receipt, whatever became of
// what it names.
func (e *Engine) checkPresent(ctx context.Context, r PromptRequest) error {
	if len(r.Prompt.Files) == 0 && len(r.Prompt.Agents) == 0 {
		return nil
	}
	var s *session.Session
	var admitted bool
	err := e.store.View(ctx, func(rd store.Reader) (err error) {
		if s, err = journal.FindSession(rd, r.SessionID); err == nil {
			_, admitted, err = store.FindInput(rd, r.ID)
		}
		return err
	})
	if err != nil || admitted {
		return err
	}
	return e.present(ctx, s, r.Prompt)
}
