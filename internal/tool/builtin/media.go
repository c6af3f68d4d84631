package builtin

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxMedia bounds an image or PDF that is shown to the model (spec/v2 §16).
const maxMedia = 20 << 20

// mediaType tells by its first bytes whether a file is shown to the model as such, "" if not.
func mediaType(sample []byte) string {
	has := func(at int, magic string) bool {
		return len(sample) >= at+len(magic) && bytes.Equal(sample[at:at+len(magic)], []byte(magic))
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "image/gif"
	case has(0, "RIFF") && has(8, "WEBP"):
		return "image/webp"
	case has(0, "%PDF-"):
		return "application/pdf"
	default:
		return ""
	}
}

func (s *site) readMedia(f *os.File, p place, mime string) (tool.Output, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxMedia+1))
	if err != nil {
		return tool.Output{}, openFailure(p.abs, err)
	}
	if len(data) > maxMedia {
		return tool.Output{}, tool.Failf("%s is larger than %d MiB, the most that can be shown of %s.", p.abs, maxMedia>>20, mime)
	}
	says := "PDF read successfully"
	if mime != "application/pdf" {
		says = "Image read successfully"
		if data, mime, err = s.fit(p.abs, data, mime); err != nil {
			return tool.Output{}, err
		}
	}
	out := textOutput(p.title(), says, readInfo{Preview: says, Loaded: []string{}})
	out.Content = append(out.Content, session.ToolContent{
		Type: "file", URI: "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data), Mime: mime, Name: filepath.Base(p.real),
	})
	return out, nil
}

// fit makes one image at a time fit the limits.
func (s *site) fit(name string, data []byte, mime string) ([]byte, string, error) {
	s.config.Files.picture.Lock()
	defer s.config.Files.picture.Unlock()
	return s.config.Images.fit(name, data, mime)
}
