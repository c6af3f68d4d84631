package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// editorTimeout bounds the editor's answer to a read; the tool waits no longer.
const editorTimeout = 2 * time.Second

// serveBuffers answers reads of the tools of the session and its subagents with the texts of the editor, which may have
// changes that are not saved, until ctx ends, or the session does not exist.
func (s *liveSession) serveBuffers(ctx context.Context) {
	name := rand.Text() // other editors can have the session
	for pause := time.Second; ctx.Err() == nil; {
		read, err := s.client.NextEditorRead(ctx, s.id, name)
		switch {
		case errors.Is(err, &session.Error{Code: session.CodeNotFound}): // or the server is an older one
			return
		case err != nil:
			_ = follow.Sleep(ctx, pause) // the loop ends with ctx
			pause = min(2*pause, time.Minute)
			continue
		}
		if pause = time.Second; read.ID == "" {
			continue
		}
		s.asks.Go(func() { s.answerRead(ctx, read) }) // tools read several files at once
	}
}

// answerRead answers a read with the editor's text. A text that is too large counts as missing.
func (s *liveSession) answerRead(ctx context.Context, read api.EditorRead) {
	err := s.client.AnswerEditorRead(ctx, s.id, read.ID, s.readBuffer(ctx, read.Path))
	if errors.Is(err, &session.Error{Code: session.CodeTooLarge}) {
		_ = s.client.AnswerEditorRead(ctx, s.id, read.ID, api.EditorText{}) // the tool may not wait any more
	}
}

// readBuffer returns the text of a file as the editor has it.
func (s *liveSession) readBuffer(ctx context.Context, path string) api.EditorText {
	ctx, cancel := context.WithTimeout(ctx, editorTimeout)
	defer cancel()
	var r struct {
		Content *string `json:"content"` // required by the protocol
	}
	err := s.agent.conn.call(ctx, "fs/read_text_file", v1.ReadTextFileRequest{SessionID: string(s.id), Path: path}, &r)
	if err != nil || r.Content == nil {
		return api.EditorText{}
	}
	return api.EditorText{Text: *r.Content, Found: true}
}
