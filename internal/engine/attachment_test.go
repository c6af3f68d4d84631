package engine

import (
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

const pngHead = "\x89PNG\r\n\x1a\n"

func dataOf(kind, content string) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

func fileURI(parts ...string) string {
	return (&url.URL{Scheme: "file", Path: filepath.Join(parts...)}).String()
}

// Attachments are checked before anything is written; the error names the field and the limit.
func TestAttachmentsAreChecked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := pngHead + strings.Repeat("x", 4<<20)
	for name, c := range map[string]struct {
		file    session.File
		code    session.Code // "" is admitted
		message string       // part of the error
	}{
		"image":           {session.File{URI: dataOf("image/png", pngHead)}, "", ""},
		"declared beside": {session.File{URI: dataOf("", pngHead), Mime: "image/png"}, "", ""},
		"jpg":             {session.File{URI: dataOf("image/jpg", "\xff\xd8\xff")}, "", ""},
		"pdf":             {session.File{URI: dataOf("application/pdf", "%PDF-1.7")}, "", ""},
		"drawing":         {session.File{URI: dataOf("image/svg+xml", "<svg/>")}, "", ""},
		"text":            {session.File{URI: "data:,hello%20there"}, "", ""},
		"empty text":      {session.File{URI: "data:text/plain;base64,"}, "", ""},
		"broken base64":   {session.File{URI: "data:image/png;base64,!!!"}, session.CodeInvalid, "base64"},
		"no comma":        {session.File{URI: "data:image/png"}, session.CodeInvalid, "data:"},
		"broken escape":   {session.File{URI: "data:,%zz"}, session.CodeInvalid, "data:"},
		"text for an image": {
			session.File{URI: dataOf("image/png", "hello"), Name: "a.png"},
			session.CodeInvalid,
			`"a.png" is not of type image/png; it looks like text/plain`,
		},
		"another image":        {session.File{URI: dataOf("image/png", "GIF89a")}, session.CodeInvalid, "image/gif"},
		"nothing for an image": {session.File{URI: "data:image/png;base64,"}, session.CodeInvalid, "image/png"},
		"text for a PDF": {
			session.File{URI: dataOf("application/pdf", "hello")},
			session.CodeInvalid,
			"application/pdf",
		},
		"large image": {
			session.File{URI: dataOf("image/png", large)},
			session.CodeTooLarge,
			"the limit is 5242880",
		},
		"large drawing": {
			session.File{URI: dataOf("image/svg+xml", large)},
			session.CodeTooLarge,
			"the limit is 5242880",
		},
		"text as large as that": {session.File{URI: dataOf("text/plain", large)}, "", ""},
		"large text": {
			session.File{URI: dataOf("text/plain", strings.Repeat("x", 10<<20+1))},
			session.CodeTooLarge, "the limit is 10485760",
		},
		"named file":              {session.File{URI: fileURI(dir, "a b.txt") + "?start=1&end=2"}, "", ""},
		"named directory":         {session.File{URI: fileURI(dir) + "/"}, "", ""},
		"missing file":            {session.File{URI: fileURI(dir, "nope")}, session.CodeInvalid, "nope"},
		"a file as directory":     {session.File{URI: fileURI(dir, "a b.txt") + "/"}, session.CodeInvalid, "a b.txt"},
		"a directory as an image": {session.File{URI: fileURI(dir), Mime: "image/png"}, session.CodeInvalid, "directory"},
		"a device":                {session.File{URI: "file://" + os.DevNull}, session.CodeInvalid, "neither"},
		"another machine's":       {session.File{URI: "file://elsewhere/a"}, session.CodeInvalid, "file:///"},
		"relative":                {session.File{URI: "file:a.txt"}, session.CodeInvalid, "file:///"},
		"on the web":              {session.File{URI: "https://example.com/a.png"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(
					t,
					script.Script{
						Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}},
					},
				)
				defer w.close(t)
				if _, err := w.engine.Commands.CreateSession(t.Context(),
					admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: dir}}); err != nil {
					t.Fatal(err)
				}
				files := []session.File{{URI: "data:,x"}, c.file}
				_, err := w.engine.Commands.AdmitPrompt(
					t.Context(),
					admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "x", Files: files}},
				)
				if c.code == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e, ok := errors.AsType[*session.Error](err)
				if !ok || e.Code != c.code || e.Field != "prompt.files[1].uri" ||
					!strings.Contains(e.Message, c.message) ||
					len(e.Message) > 500 {
					t.Errorf("got %+v", err)
				}
				if n := len(allEvents(t, w.store)); n != 1 {
					t.Errorf("%d events were written", n-1)
				}
			})
		})
	}
}

// An admitted prompt keeps its receipt when the files and agents that it names are gone; a new prompt is refused.
func TestAReceiptOutlivesWhatIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			t,
			script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}}},
		)
		defer w.close(t)
		w.agents["helper"] = session.Agent{ID: "helper", Mode: session.ModeSubagent}
		if _, err := w.engine.Commands.CreateSession(t.Context(),
			admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "a.txt")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r := admit.PromptRequest{SessionID: "ses_a", ID: "msg_a", Prompt: session.Prompt{
			Text: "@helper look", Files: []session.File{{URI: fileURI(file)}}, Agents: []session.AgentMention{{Name: "helper"}},
		}}
		first, err := w.engine.Commands.AdmitPrompt(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the turn reads the agents
		delete(w.agents, "helper")
		again, err := w.engine.Commands.AdmitPrompt(t.Context(), r)
		if err != nil || again.AdmittedSeq != first.AdmittedSeq {
			t.Errorf("again: %+v, %v", again, err)
		}
		r.ID, r.Prompt.Files = "msg_b", nil
		_, err = w.engine.Commands.AdmitPrompt(t.Context(), r)
		e, ok := errors.AsType[*session.Error](err)
		if !ok || e.Code != session.CodeNotFound || e.Field != "prompt.agents[0].name" ||
			!cmp.Equal(e.Nearest, []string{"build"}) {
			t.Errorf("got %+v", err)
		}
	})
}
