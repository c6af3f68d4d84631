package transfer

import (
	"context"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// Export says what of a session is given away.
type Export struct {
	API      *api.Client
	Sanitize bool     // nothing that was said or done, as OpenCode's --sanitize
	Secrets  bool     // secrets too
	Known    []string // secrets that are known

	replaced map[string]*Replacement // by kind
}

// NewFilter returns the filter of one document. What it replaces is counted for ListReplacements.
func (e *Export) NewFilter() *redaction.Filter {
	return &redaction.Filter{
		Known: e.Known, KeepSecrets: e.Secrets, OnReplace: func(text string) { e.note(kindSecret, text) },
	}
}

// pageSize is the number of messages that are held at once.
const pageSize = 100

// Write writes the session's document and returns how many texts had secrets, which were replaced.
func (e *Export) Write(ctx context.Context, w io.Writer, s *session.Session) (replaced int, err error) {
	enc := jsontext.NewEncoder(w, jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	f := e.NewFilter()
	private := *s
	private.Share = nil // its address gives access
	info := opencode.ToOpenCode(&private)
	if e.Sanitize {
		before := info
		info = opencode.SanitizeSession(info.Clone())
		e.noteDifference(before, info)
	}
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String("info")); err != nil {
		return 0, err
	}
	if err := f.WriteJSON(enc, info); err != nil {
		return 0, err
	}
	if err := writeTokens(enc, jsontext.String("messages"), jsontext.BeginArray); err != nil {
		return 0, err
	}
	if err := e.writeMessages(ctx, s, func(raw jsontext.Value) error { return f.WriteJSON(enc, raw) }); err != nil {
		return f.Replaced(), err
	}
	if err := writeTokens(enc, jsontext.EndArray); err != nil {
		return f.Replaced(), err
	}
	if s.Import != nil && !e.Sanitize {
		if err := e.writeExtra(enc, f, s.Import.Beside); err != nil {
			return f.Replaced(), err
		}
	}
	return f.Replaced(), writeTokens(enc, jsontext.EndObject)
}

func writeTokens(enc *jsontext.Encoder, all ...jsontext.Token) error {
	for _, t := range all {
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// writeExtra writes the members that an imported document had beside the session.
func (e *Export) writeExtra(enc *jsontext.Encoder, f *redaction.Filter, v jsontext.Value) error {
	var all map[string]jsontext.Value
	if v == nil || json.Unmarshal(v, &all) != nil {
		return nil
	}
	for name, member := range all {
		if err := writeTokens(enc, jsontext.String(name)); err != nil {
			return err
		}
		if err := f.WriteJSON(enc, member); err != nil {
			return err
		}
	}
	return nil
}

// writeMessages calls give with each message, oldest first. The next page is read and rendered meanwhile.
func (e *Export) writeMessages(ctx context.Context, s *session.Session, give func(jsontext.Value) error) error {
	ctx, cancel := context.WithCancel(ctx)
	rendered := make(chan []jsontext.Value)
	var failure error // of the reader; read once rendered is closed
	go func() {       // ends with ctx, which is cancelled below; then the channel is drained
		defer close(rendered)
		failure = e.renderMessages(ctx, s, func(page []jsontext.Value) error {
			select {
			case rendered <- page:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	defer func() {
		cancel()
		for range rendered { //nolint:revive // until it is closed
		}
	}()
	for page := range rendered {
		for _, raw := range page {
			if e.Sanitize {
				before := raw.Clone()
				raw = opencode.SanitizeMessage(raw)
				e.noteDifference(before, raw)
			}
			if err := give(raw); err != nil {
				return err
			}
		}
	}
	return failure
}

// renderMessages calls give with the messages of each page, oldest first. Prompts are shown once it is known what
// follows them.
func (e *Export) renderMessages(ctx context.Context, s *session.Session, give func([]jsontext.Value) error) error {
	q := api.MessageQuery{Oldest: true, Limit: pageSize}
	var held []session.Message
	for {
		page, err := e.API.Messages(ctx, s.ID, q)
		if err != nil {
			return err
		}
		held = append(held, page.Data...)
		// Messages after the newest turn are held back: they are rendered with what follows them.
		last := len(page.Data) < q.Limit || page.Cursor.Next == ""
		ready := len(held)
		for !last && ready > 0 && !isAssistant(held[ready-1]) {
			ready--
		}
		// Render what is complete.
		var out []jsontext.Value
		for _, m := range opencode.RenderExport(s, held[:ready]) {
			raw, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true))
			if err != nil {
				return err
			}
			out = append(out, raw)
		}
		if err := give(out); err != nil || last {
			return err
		}
		held = append([]session.Message(nil), held[ready:]...)
		q.Cursor = page.Cursor.Next
	}
}

func isAssistant(m session.Message) bool {
	_, ok := m.(*session.Assistant)
	return ok
}
