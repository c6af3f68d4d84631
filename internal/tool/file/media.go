package file

import (
	"io"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// maxMedia bounds an image or PDF that the model gets.
const maxMedia = 20 << 20

func (s *fileTools) readMedia(f *os.File, p workpath.Path, mime string) (tool.Output, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxMedia+1))
	if err != nil {
		return tool.Output{}, workpath.FailOpen(p.Abs, err)
	}
	if len(data) > maxMedia {
		return tool.Output{}, tool.Failf(
			"%s is larger than %d MiB, the most that can be shown of %s.", p.Abs, maxMedia>>20, mime,
		)
	}
	says := "PDF read successfully"
	if mime != "application/pdf" {
		says = "Image read successfully"
		if data, mime, err = s.fitImage(p.Abs, data, mime); err != nil {
			return tool.Output{}, err
		}
	}
	out := tool.TextOutput(p.Title(), says, readInfo{Preview: says, Loaded: []string{}})
	out.Content = append(out.Content, session.ToolContent{
		Type: "file", URI: session.EncodeDataURI(mime, data), Mime: mime, Name: filepath.Base(p.Real),
	})
	return out, nil
}

// fitImage fits one image at a time into the limits.
func (s *fileTools) fitImage(name string, data []byte, mime string) ([]byte, string, error) {
	s.config.Tracker.scaling.Lock()
	defer s.config.Tracker.scaling.Unlock()
	return s.config.Images.fitImage(name, data, mime)
}
