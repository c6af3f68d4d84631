package config

import (
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
)

// Storage configures what is stored beside the sessions.
type Storage struct {
	Mirror MirrorFolder `json:"mirror" doc:"write every session as OpenCode's files, for programs that read them: true, or an empty folder; default: false"`
	Search SearchSize   `json:"search" doc:"index the texts of all sessions for cairn search: true, false, or the most bytes of the index; default: true, which is 1 GiB"`
}

// SearchSize is how large the search index may become, in bytes: 0 is the default, -1 no index.
type SearchSize int64

// defaultSearchBytes is room for about two million messages.
const defaultSearchBytes = 1 << 30

// MaxBytes returns the bound of the index in bytes; 0 without an index.
func (s SearchSize) MaxBytes() int64 {
	if s == 0 {
		return defaultSearchBytes
	}
	return max(int64(s), 0)
}

// UnmarshalJSONFrom reads true, false or a number of bytes.
func (s *SearchSize) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 't':
		*s = 0
		return dec.SkipValue()
	case 'f':
		*s = -1
		return dec.SkipValue()
	default:
		var n Size
		if err := n.UnmarshalJSONFrom(dec); err != nil {
			return fmt.Errorf("want true, false, or a number of bytes")
		}
		*s = SearchSize(n)
		return nil
	}
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
