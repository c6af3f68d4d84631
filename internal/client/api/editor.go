package api

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/session"
)

// EditorRead asks an editor for the text of a file as it has it. Without an ID nothing is asked.
type EditorRead struct {
	ID   string `json:"id,omitzero"`
	Path string `json:"path,omitzero"` // absolute
}

// EditorText is the answer: the text, or that the editor does not have the file.
type EditorText struct {
	Text  string `json:"text,omitzero"`
	Found bool   `json:"found"`
}

// NextEditorRead waits for a tool of the session to read a file, up to half a minute. While a client of the session calls
// it again and again, reads ask that client.
func (c *Client) NextEditorRead(ctx context.Context, id session.ID) (EditorRead, error) {
	var out Data[EditorRead]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", string(id), "editor", "read"), out: &out})
	return out.Data, err
}

// AnswerEditorRead answers a read. One that is not waited for any more is an error of CodeNotFound.
func (c *Client) AnswerEditorRead(ctx context.Context, id session.ID, read string, text EditorText) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "editor", "read", read), text)
}
