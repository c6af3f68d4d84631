package wire

import (
	"encoding/base64"

	"github.com/cairn-dev/cairn/internal/llm"
)

// pdf is the only document type that OpenAI's protocols accept.
const pdf = "application/pdf"

// EncodeMediaURL returns the URL of media that OpenAI's protocols accept, which is a data URL if m has bytes, and
// whether it is an image; otherwise it is a document. ok is false if the type is not accepted or the media is too
// large.
func EncodeMediaURL(m llm.Media) (url string, isImage, ok bool) {
	kind := MediaType(m.MediaType)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		isImage = true
	case pdf:
	default:
		return "", false, false
	}
	url = m.URL
	if len(m.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	return url, isImage, url != "" && len(m.Data) <= MaxMedia
}

// MediaURLNote returns the text that replaces media without such a URL.
func MediaURLNote(m llm.Media) string {
	return MediaNote(m, "this model's interface takes PNG, JPEG, GIF and WebP images and PDF documents only")
}
