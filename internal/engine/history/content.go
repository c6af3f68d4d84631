package history

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// contentKind returns the kind under which a part can be excluded, "" for a part that never is.
func contentKind(p llm.Part) session.ContentKind {
	switch p := p.(type) {
	case llm.Media:
		if strings.HasPrefix(p.MediaType, "image/") {
			return session.ContentImages
		}
		return session.ContentDocuments
	case llm.Reasoning:
		return session.ContentReasoning
	case llm.ToolCall:
		if len(p.Metadata) > 0 || p.Hosted && !p.OtherProvider {
			return session.ContentReasoning
		}
	case llm.ToolResult:
		if isFetchedDocument(p) {
			return session.ContentDocuments
		}
	case llm.Text:
		if len(p.Metadata) > 0 {
			return session.ContentReasoning
		}
	}
	return ""
}

// HasContent reports whether a conversation holds content of the kind.
func HasContent(ms []llm.Message, kind session.ContentKind) bool {
	for _, m := range ms {
		for _, p := range m.Parts {
			if contentKind(p) == kind {
				return true
			}
			if r, ok := p.(llm.ToolResult); ok && HasContent([]llm.Message{{Parts: r.Content}}, kind) {
				return true
			}
		}
	}
	return false
}

// isFetchedDocument reports whether a hosted tool returned a document, which goes back to the provider as it came.
func isFetchedDocument(r llm.ToolResult) bool {
	return r.Hosted && strings.Contains(string(r.Raw), `"document"`)
}

// digest identifies a piece of content in a session.Exclusion.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
