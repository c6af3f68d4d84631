package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
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

// contentDigest identifies a piece of content in a session.Exclusion.
func contentDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TextParts returns the text as parts of a message: none for "", because providers reject empty texts.
func TextParts(s string) []llm.Part {
	if s == "" {
		return nil
	}
	return []llm.Part{llm.Text{Text: s}}
}

func formatText(format string, args ...any) llm.Text {
	return llm.Text{Text: fmt.Sprintf(format, args...)}
}

// FilePath returns the path of a file: URI on this machine.
func FilePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	local := err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost")
	if !local || !path.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0) {
		return "", false
	}
	return u.Path, true
}
