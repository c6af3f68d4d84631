package foreign

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// Limits of what a message may hold, in bytes of JSON. The server accepts messages of 12 MiB.
const (
	maxMessage = 11 << 20
	maxFile    = 10 << 20 // of a data: URI
)

const tooLarge = "it does not fit into the message, which may have 11 MiB"

// fits reports whether n bytes more fit into the message, and counts them if so.
func (b *Builder) fits(m session.Message, n int) bool {
	const item = 512 // the item's own fields
	if b.sizes[m]+n+item > maxMessage {
		return false
	}
	b.sizes[m] += n + item
	return true
}

// fit returns the text, cut if the message has no room for all of it.
func (b *Builder) fit(m session.Message, row, text string) string {
	if b.fits(m, quotedSize(text)) {
		return text
	}
	b.Problem(row, "text", tooLarge+"; it was cut")
	room := max(0, maxMessage-b.sizes[m]-1024)
	n := 0
	for i, c := range []byte(text) {
		if n += quotedByte(c); n > room {
			text = session.ClipText(text, i)
			break
		}
	}
	b.fits(m, quotedSize(text))
	return text
}

// quotedSize returns the length of the text in JSON.
func quotedSize(text string) int {
	n := 0
	for i := range len(text) {
		n += quotedByte(text[i])
	}
	return n
}

func quotedByte(c byte) int {
	switch {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
		return 2
	case c < ' ':
		return 6
	}
	return 1
}

// cleanText returns the text as valid UTF-8.
func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// DataFile returns a file with its content in a data: URI. An unusable file has a reason instead.
func DataFile(mime, name, base64Text string) (f session.File, reason string) {
	switch {
	case base64Text == "":
		return f, "its content is not in the source"
	case len(base64Text) > maxFile:
		return f, fmt.Sprintf("it is larger than %d MiB", maxFile>>20)
	case !isMime(mime):
		return f, "its type is unknown"
	}
	if _, err := base64.StdEncoding.DecodeString(base64Text); err != nil {
		return f, "its content is not valid base64"
	}
	return session.File{URI: "data:" + mime + ";base64," + base64Text, Mime: mime, Name: cleanText(name)}, ""
}

// FileOfURI returns the file of a data: URI.
func FileOfURI(uri, name string) (f session.File, reason string) {
	head, data, ok := strings.Cut(uri, ";base64,")
	mime, isData := strings.CutPrefix(head, "data:")
	if !ok || !isData {
		return f, "its content is not in the source"
	}
	return DataFile(mime, name, data)
}

func isMime(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	isToken := func(s string) bool {
		return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789.+-_") == ""
	}
	return ok && len(s) <= 100 && isToken(kind) && isToken(sub)
}
