package history

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// A request repeats the whole conversation, so one part of it that the provider rejects would fail every later turn
// too. Such a part is excluded from then on and the turn is tried again. If the provider names the part, only that part
// is excluded; if it names only a kind of content, everything of that kind is, and so it is once too many parts of the
// kind were named one by one.

// maxExcludedParts bounds the parts of a kind that are excluded one by one: each costs a request.
const maxExcludedParts = 8

// complaints lists the words with which providers blame a kind of content, and the words for what is wrong with it. An
// error blames a kind if it has one of both.
var complaints = []struct {
	kind   session.ContentKind
	names  []string
	faults []string
}{
	{
		session.ContentReasoning,
		[]string{
			"thinking", "signature", "thought", "reasoning", "encrypted_content", "encrypted content", "encrypted_index",
			"item with id", "file_id", "container_id",
		},
		[]string{
			"invalid `encrypted_", "signature", "cannot be modified", "could not be verified", "could not be decrypted",
			"invalid_encrypted_content", "not found", "without its required", "redacted_thinking",
		},
	},
	{
		session.ContentDocuments,
		[]string{"pdf", "document", "file_data", "'file'"},
		[]string{
			"could not process", "not valid", "invalid", "corrupt", "unable to process", "password", "encrypted",
			"too many pages", "maximum of", "unsupported", "no pages", "failed to", "not supported", "doesn't support",
			"does not support", "source.type: field required",
		},
	},
	{
		session.ContentImages,
		[]string{"image", "multimodal", "content must be a string"},
		[]string{
			"not a multimodal", "content must be a string", "missing data required", "could not process",
			"unable to process", "invalid", "not valid", "not a valid", "corrupt", "unsupported", "not supported",
			"doesn't support", "does not support", "does not match", "exceed", "too large", "dimension", "failed to",
			"media type", "media_type", "unable to",
		},
	},
}

// RejectedContent returns the part of the conversation that the provider blames for rejecting the request, nil if it
// blames nothing that the request holds. Excluded content is not sent again, so no content is excluded twice.
func (in *Input) RejectedContent(e *llm.Error) *session.Exclusion {
	if e.Class != llm.InvalidRequest && e.Class != llm.Overflow || e.Status < 400 {
		return nil
	}
	text := strings.ToLower(e.Message + "\n" + e.Body)
	text = strings.ReplaceAll(text, "either text or image_url", "no document") // OpenAI names what it accepts
	visible := in.History.VisibleMessages(in.BaselineSeq)
	sent := in.lowerMessages()
	for _, c := range complaints {
		named := e.RejectedMedia == nil || contentKind(*e.RejectedMedia) == c.kind
		if !named || !containsAny(text, c.names) || !containsAny(text, c.faults) || !HasContent(sent, c.kind) {
			continue
		}
		out := &session.Exclusion{Kind: c.kind, Through: visible[len(visible)-1].Meta().Seq}
		if e.RejectedMedia != nil && countExcludedParts(in.Session.Excluded, c.kind) < maxExcludedParts {
			out.Digest = contentDigest(e.RejectedMedia.Data)
		}
		return out
	}
	return nil
}

// countExcludedParts counts the single parts of a kind that are excluded.
func countExcludedParts(xs []session.Exclusion, kind session.ContentKind) (n int) {
	for _, x := range xs {
		if x.Kind == kind && x.Digest != "" {
			n++
		}
	}
	return n
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
