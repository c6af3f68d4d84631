package transfer

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Export says what of a session is given away.
type Export struct {
	API      *api.Client
	Sanitize bool     // nothing that was said or done, as OpenCode's --sanitize
	Secrets  bool     // secrets too
	Known    []string // secrets that are known

	replaced map[string]*Replacement // by kind
}

// pageSize is the number of messages that are held at once.
const pageSize = 100

// Write writes the session's document and reports how many secrets were left out.
func (e *Export) Write(ctx context.Context, w io.Writer, s *session.Session) (left int, err error) {
	enc := jsontext.NewEncoder(w, jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	c := &secretFilter{export: e}
	info := opencode.ToOpenCode(s)
	if e.Sanitize {
		before := info
		info = opencode.SanitizeSession(info.Clone())
		e.noteDifference(before, info)
	}
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String("info")); err != nil {
		return 0, err
	}
	if err := c.writeClean(enc, info); err != nil {
		return 0, err
	}
	if err := writeTokens(enc, jsontext.String("messages"), jsontext.BeginArray); err != nil {
		return 0, err
	}
	if err := e.writeMessages(ctx, s, func(raw jsontext.Value) error { return c.writeClean(enc, raw) }); err != nil {
		return c.left, err
	}
	if err := writeTokens(enc, jsontext.EndArray); err != nil {
		return c.left, err
	}
	if s.Import != nil && !e.Sanitize {
		if err := e.writeExtra(enc, c, s.Import.Beside); err != nil {
			return c.left, err
		}
	}
	return c.left, writeTokens(enc, jsontext.EndObject)
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
func (e *Export) writeExtra(enc *jsontext.Encoder, c *secretFilter, v jsontext.Value) error {
	var all map[string]jsontext.Value
	if v == nil || json.Unmarshal(v, &all) != nil {
		return nil
	}
	for name, member := range all {
		if err := writeTokens(enc, jsontext.String(name)); err != nil {
			return err
		}
		if err := c.writeClean(enc, member); err != nil {
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

// secretFilter removes secrets and counts the texts that it changed.
type secretFilter struct {
	export *Export
	left   int
}

// writeClean writes the value without the secrets of its texts.
func (c *secretFilter) writeClean(enc *jsontext.Encoder, v jsontext.Value) error {
	if c.export.Secrets {
		return enc.WriteValue(v)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowInvalidUTF8(true))
	name := ""
	for dec.StackDepth() > 0 || dec.InputOffset() == 0 {
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if t.Kind() == '"' {
			kind, n := dec.StackIndex(dec.StackDepth())
			if isName := kind == '{' && n%2 == 1; isName {
				name = t.String()
			} else if s := t.String(); s != "" {
				t = jsontext.String(c.filterText(name, s))
			}
		}
		if err := enc.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// CleanValue returns the value without the secrets of its texts, unless the export has secrets.
func (e *Export) CleanValue(v jsontext.Value) (jsontext.Value, error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true))
	err := (&secretFilter{export: e}).writeClean(enc, v)
	return bytes.TrimSpace(out.Bytes()), err
}

// cleanMessage returns the message without the secrets of its texts, unless the export has secrets. What describes a
// message cuts texts, and a part of a secret has no shape: so they are removed first.
func (c *secretFilter) cleanMessage(m session.Message) (session.Message, error) {
	if c.export.Secrets {
		return m, nil
	}
	raw, err := session.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := c.writeClean(jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true)), raw); err != nil {
		return nil, err
	}
	clean, err := session.DecodeMessage(out.Bytes())
	if err == nil {
		clean.Meta().Seq = m.Meta().Seq
	}
	return clean, err
}

// cleanSession does the same for a session.
func (c *secretFilter) cleanSession(s *session.Session) (*session.Session, error) {
	if c.export.Secrets {
		return s, nil
	}
	raw, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := c.writeClean(jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true)), raw); err != nil {
		return nil, err
	}
	clean := new(session.Session)
	return clean, json.Unmarshal(out.Bytes(), clean, jsontext.AllowInvalidUTF8(true))
}

func (c *secretFilter) filterText(member, s string) string {
	b := []byte(s)
	if redact.IsCredentialName(redact.FoldName(member)) {
		b = []byte(redact.Mark)
	}
	if data, ok := c.filterDataURL(s); ok {
		return data
	}
	b = c.mask(b)
	// Colours hide secrets: what is masked without them leaves without them.
	if plain := terminal.CleanOutput(s); strings.Contains(s, "\x1b") {
		if masked := c.mask([]byte(plain)); string(masked) != plain {
			b = masked
		}
	}
	if string(b) != s {
		c.left++
		c.export.note(kindSecret, s)
	}
	return string(b)
}

// mask returns the text without secrets.
func (c *secretFilter) mask(text []byte) []byte {
	return redact.MaskText(redact.MaskValues(text, c.export.Known))
}

// filterDataURL filters an attachment. Texts are decoded; images and the like stay as they are.
func (c *secretFilter) filterDataURL(s string) (filtered string, ok bool) {
	head, data, ok := strings.Cut(s, ";base64,")
	if !ok || !strings.HasPrefix(head, "data:") || strings.ContainsAny(head, " \n") {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !utf8.Valid(text) {
		return s, err == nil
	}
	if b := c.filterText("", string(text)); b != string(text) {
		return head + ";base64," + base64.StdEncoding.EncodeToString([]byte(b)), true
	}
	return s, true
}
