package opencode

import (
	"bytes"
	"regexp"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// mediaType matches a media type in the form in which programs write it. Parameters are not part of it: their values can
// be anything.
var mediaType = regexp.MustCompile(
	`^(application|audio|font|image|message|model|multipart|text|video)/[a-z0-9][a-z0-9.+_-]*$`,
)

// maxMediaType is the size of a media type in bytes. A bound within the expression would make its start costly.
const maxMediaType = 96

// IsPublicMediaType reports whether a text, which a client may have sent, is a media type and nothing else, so that a
// sanitised export can keep it.
func IsPublicMediaType(text string) bool {
	return len(text) <= maxMediaType && mediaType.MatchString(text) && bytes.Equal(redact.MaskText([]byte(text)), []byte(text))
}
