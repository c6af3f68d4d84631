package api

import (
	"context"
	"net/http"
	"net/url"

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

// NextEditorRead waits for a tool of the session, or of its subagents, to read a file, up to half a minute. While a client
// calls it again and again, with a name that no other client has, all reads ask that client.
func (c *Client) NextEditorRead(ctx context.Context, id session.ID, name string) (EditorRead, error) {
	var out Data[EditorRead]
	err := c.sendCall(ctx, call{
		method: http.MethodPost, path: apiPath("session", string(id), "editor", "read"),
		query: url.Values{"editor": {name}}, out: &out,
	})
	return out.Data, err
}

// AnswerEditorRead answers a read. One that is not waited for any more is an error of CodeNotFound.
func (c *Client) AnswerEditorRead(ctx context.Context, id session.ID, read string, text EditorText) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "editor", "read", read), text)
}
