package sdk

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// File is an attachment of a prompt, or a file in the result of a call. Either Data is set, or URI.
type File struct {
	Name      string
	MediaType string // such as "image/png"
	Data      []byte
	URI       string // such as file:///src/design.md, on the server's machine; the model reads it with its tools
}

// encode returns the file in the terms of the server.
func (f File) encode() session.File {
	out := session.File{URI: f.URI, Mime: f.MediaType, Name: f.Name}
	if f.Data != nil {
		out.URI = session.EncodeDataURI(f.MediaType, f.Data)
	}
	return out
}

// newFile returns a file of the server. A data: URI that is not valid is left as it is.
func newFile(uri, mime, name string) File {
	f := File{Name: name, MediaType: mime, URI: uri}
	body, isData := strings.CutPrefix(uri, "data:")
	header, content, ok := strings.Cut(body, ",")
	if !isData || !ok {
		return f
	}
	var data []byte
	var err error
	if strings.HasSuffix(header, ";base64") {
		data, err = base64.StdEncoding.DecodeString(content)
	} else {
		var text string
		text, err = url.PathUnescape(content)
		data = []byte(text)
	}
	if err == nil {
		f.URI, f.Data = "", data
	}
	return f
}
