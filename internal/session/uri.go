package session

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// DataURI decodes a data: URI (RFC 2397).
func DataURI(uri string) (mime string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", nil, false
	}
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return "", nil, false
	}
	mime, _, _ = strings.Cut(head, ";")
	if strings.HasSuffix(head, ";base64") {
		data, err := base64.StdEncoding.DecodeString(body)
		return mime, data, err == nil
	}
	plain, err := url.PathUnescape(body)
	return mime, []byte(plain), err == nil
}

// EncodeDataURI returns the data: URI of a file's content.
func EncodeDataURI(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}
