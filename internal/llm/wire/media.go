package wire

import (
	"encoding/base64"

	"github.com/cairn-dev/cairn/internal/llm"
)

// pdf is the one type of document that OpenAI's protocols take.
const pdf = "application/pdf"

// Address returns where media is to be had that OpenAI's protocols take, which may be an address with the bytes in it,
// and whether it is an image: else it is a document. False means that they do not take it, or that it is too large.
func Address(m llm.Media) (url string, image, ok bool) {
	kind := MediaType(m.MediaType)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		image = true
	case pdf:
	default:
		return "", false, false
	}
	url = m.URL
	if len(m.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	return url, image, url != "" && len(m.Data) <= MaxMedia
}

// AddressNote stands for media that has no Address.
func AddressNote(m llm.Media) string {
	return MediaNote(m, "this model's interface takes PNG, JPEG, GIF and WebP images and PDF documents only")
}
