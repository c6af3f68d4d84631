package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// A conversation is sent anew with every turn. One part of it that a provider refuses would make every later turn fail
// too: it is left out from then on, and the turn is tried once more. What the provider names is left out alone; where it
// only says of which kind it is, all of the kind are, and so they are once too many were named one by one.

// maxNamed is how many pieces of a kind are left out one by one: each costs a request.
const maxNamed = 8

// complaints are the words by which providers blame a kind of content, beside a word for what is wrong with it.
var complaints = []struct {
	kind  session.ContentKind
	names []string
	wrong []string
}{
	{
		session.ContentReasoning,
		[]string{"thinking", "signature", "thought", "reasoning", "encrypted_content", "encrypted content", "encrypted_index", "item with id", "file_id", "container_id"},
		[]string{"invalid `encrypted_", "signature", "cannot be modified", "could not be verified", "could not be decrypted", "invalid_encrypted_content", "not found", "without its required", "redacted_thinking"},
	},
	{
		session.ContentDocuments,
		[]string{"pdf", "document", "file_data", "'file'"},
		[]string{
			"could not process", "not valid", "invalid", "corrupt", "unable to process", "password", "encrypted", "too many pages", "maximum of", "unsupported", "no pages", "failed to",
			"not supported", "doesn't support", "does not support", "source.type: field required",
		},
	},
	{
		session.ContentImages,
		[]string{"image", "multimodal", "content must be a string"},
		[]string{"not a multimodal", "content must be a string", "missing data required", "could not process", "unable to process", "invalid", "not valid", "not a valid", "corrupt", "unsupported", "not supported", "doesn't support", "does not support", "does not match", "exceed", "too large", "dimension", "failed to", "media type", "media_type", "unable to"},
	},
}

// poisoned returns what of the conversation the provider blames for its refusal; nil if it blames nothing that was sent.
// What is excluded once is not sent again, so that no request is sanitised twice for the same reason.
func poisoned(t *turn, e *llm.Error) *session.Exclusion {
	if e.Class != llm.InvalidRequest && e.Class != llm.Overflow || e.Status < 400 || t.message != "" || t.answer != nil {
		return nil
	}
	said := strings.ToLower(e.Message + "\n" + e.Body)
	said = strings.ReplaceAll(said, "either text or image_url", "no document") // OpenAI names what it takes
	set := t.set
	visible := set.history.visible(set.epoch.BaselineSeq)
	sent := lower(visible, set.model, set.session.Excluded...)
	for _, c := range complaints {
		if e.Named != nil && carried(*e.Named) != c.kind || !mentions(said, c.names) || !mentions(said, c.wrong) || !carries(sent, c.kind) {
			continue
		}
		out := &session.Exclusion{Kind: c.kind, Through: visible[len(visible)-1].Meta().Seq}
		if e.Named != nil && named(set.session.Excluded, c.kind) < maxNamed {
			out.Digest = digest(e.Named.Data)
		}
		return out
	}
	return nil
}

// named counts the pieces of a kind that are left out one by one.
func named(xs []session.Exclusion, kind session.ContentKind) (n int) {
	for _, x := range xs {
		if x.Kind == kind && x.Digest != "" {
			n++
		}
	}
	return n
}

// digest is what an Exclusion knows a piece of content by.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mentions(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// carries reports whether a conversation holds content of the kind.
func carries(ms []llm.Message, kind session.ContentKind) bool {
	for _, m := range ms {
		for _, p := range m.Parts {
			if carried(p) == kind {
				return true
			}
			if r, ok := p.(llm.ToolResult); ok && carries([]llm.Message{{Parts: r.Content}}, kind) {
				return true
			}
		}
	}
	return false
}

// carried is the kind of content that a part is; "" for what is never left out.
func carried(p llm.Part) session.ContentKind {
	switch p := p.(type) {
	case llm.Media:
		if strings.HasPrefix(p.MediaType, "image/") {
			return session.ContentImages
		}
		return session.ContentDocuments
	case llm.Reasoning:
		return session.ContentReasoning
	case llm.ToolCall:
		if len(p.Metadata) > 0 || p.Hosted && !p.Elsewhere {
			return session.ContentReasoning
		}
	case llm.ToolResult:
		if fetched(p) {
			return session.ContentDocuments
		}
	case llm.Text:
		if len(p.Metadata) > 0 {
			return session.ContentReasoning
		}
	}
	return ""
}

// fetched reports whether a provider's tool has brought a document, which goes back as it came.
func fetched(r llm.ToolResult) bool {
	return r.Hosted && strings.Contains(string(r.Raw), `"document"`)
}

// exclude records what is left out from now on. The next turn is tried without it at once.
func (d *drain) exclude(ctx context.Context, out *session.Exclusion, e *llm.Error) error {
	left := "the " + string(out.Kind) + " of the conversation so far"
	if out.Digest != "" {
		left = "the one of the " + string(out.Kind) + " that it names"
	}
	d.logger.Warn("the provider refuses a part of the conversation, which is left out from now on", "session", d.id, "kind", out.Kind, "error", e)
	fact := &session.Retried{Attempt: d.tries.failures + 1, Exclude: out, Error: session.RetryError{
		Message:    e.Error() + "; from now on it is asked without " + left,
		StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}}
	_, err := d.append(ctx, d.id, store.Durable, eventlog.Draft{Data: fact})
	return err
}
