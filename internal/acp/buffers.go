package acp

import (
	"context"
	"time"

	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
)

// editorTimeout bounds the editor's answer to a read; the tool waits no longer.
const editorTimeout = 2 * time.Second

// serveBuffers answers reads of the session's tools with the texts of the editor, which may have changes that are not
// saved, until ctx ends.
func (s *liveSession) serveBuffers(ctx context.Context) {
	for pause := time.Second; ctx.Err() == nil; {
		read, err := s.client.NextEditorRead(ctx, s.id)
		if err != nil { // the server ends, or is an older one
			if !follow.IsConnectionLost(err) || follow.Sleep(ctx, pause) != nil {
				return
			}
			pause = min(2*pause, time.Minute)
			continue
		}
		if pause = time.Second; read.ID == "" {
			continue
		}
		s.asks.Go(func() { // tools read several files at once
			_ = s.client.AnswerEditorRead(ctx, s.id, read.ID, s.readBuffer(ctx, read.Path)) // the tool may not wait any more
		})
	}
}

// readBuffer returns the text of a file as the editor has it.
func (s *liveSession) readBuffer(ctx context.Context, path string) api.EditorText {
	ctx, cancel := context.WithTimeout(ctx, editorTimeout)
	defer cancel()
	var r v1.ReadTextFileResponse
	err := s.agent.conn.call(ctx, "fs/read_text_file", v1.ReadTextFileRequest{SessionID: string(s.id), Path: path}, &r)
	return api.EditorText{Text: r.Content, Found: err == nil}
}
