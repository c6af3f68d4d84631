package config

import (
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
)

// Storage configures what is stored beside the sessions.
type Storage struct {
	Mirror MirrorFolder `json:"mirror" doc:"write every session as OpenCode's files, for programs that read them: true, or an empty folder; default: false"`
}

// MirrorFolder is where sessions are mirrored: "true" in the data directory, "" nowhere, else in a folder.
type MirrorFolder string

// UnmarshalJSONFrom reads true, false or a path.
func (m *MirrorFolder) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 't':
		*m = "true"
		return dec.SkipValue()
	case 'f':
		*m = ""
		return dec.SkipValue()
	case '"':
		var p Path
		if err := p.UnmarshalJSONFrom(dec); err != nil {
			return fmt.Errorf("want true, false, or an absolute path or one that begins with \"~/\"")
		}
		*m = MirrorFolder(p)
		return nil
	}
	return fmt.Errorf("want true, false, or an absolute path or one that begins with \"~/\"")
}

// In returns the folder that stands for OpenCode's data folder, "" without a mirror.
func (m MirrorFolder) In(d Directories) string {
	switch m {
	case "":
		return ""
	case "true":
		return filepath.Join(d.Data, "mirror", "opencode")
	default:
		return Path(m).In(d.Home)
	}
}
