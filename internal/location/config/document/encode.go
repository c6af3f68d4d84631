package document

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// Encoding selects the texts that AppendJSON writes.
type Encoding int

// The texts of strings.
const (
	Substituted Encoding = iota
	AsWritten            // as in the document: references are not expanded
)

// AppendJSON appends the value as JSON.
// Texts are written as f says: as they stand in the file, or with references replaced.
func (n *Node) AppendJSON(b []byte, f Encoding) []byte {
	switch n.Kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendQuoted(b, m.Key)
			b = append(b, ':')
			b = m.Value.AppendJSON(b, f)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b, f)
		}
		return append(b, ']')
	// A text has two forms: Raw is what the file says, Text what it means after substitution.
	case '"':
		if f == AsWritten {
			return append(b, n.Raw...)
		}
		return AppendQuoted(b, n.Text)
	default:
		return append(b, n.Raw...)
	}
}

// AppendQuoted appends s as a JSON string. Invalid UTF-8 is replaced.
func AppendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD")) // fails for invalid UTF-8 only
	return b
}

// DescribeKind names the kind of the value, for messages.
func (n *Node) DescribeKind() string { return option.DescribeKind(n.Kind) }

// FormatExcerpt returns the value for messages about keys that cannot be secrets: scalars as written, at most
// maxExcerpt characters.
func (n *Node) FormatExcerpt() string {
	switch n.Kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, n.Raw)
		if err != nil {
			return n.DescribeKind()
		}
		if r := []rune(string(text)); len(r) > maxExcerpt {
			text = []byte(string(r[:maxExcerpt-1]) + "…")
		}
		return string(AppendQuoted(nil, string(text)))
	case '{', '[':
		return n.DescribeKind()
	default:
		return string(n.Raw[:min(len(n.Raw), maxExcerpt)])
	}
}

const maxExcerpt = 40 // characters
