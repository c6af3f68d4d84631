package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/retention"
)

// Storage configures what is stored beside the sessions.
type Storage struct {
	Mirror MirrorFolder `json:"mirror" doc:"write every session as OpenCode's files, for programs that read them: true, or an empty folder; default: false"`
	Search SearchSize   `json:"search" doc:"index the texts of all sessions for cairn search: true, false, or the most bytes of the index; default: true, which is 1 GiB"`
	Quota  Size         `json:"quota" doc:"bytes of the sessions from which on no new work begins, while reading and deleting go on; default: none"`

	Retention Retention `json:"retention" doc:"which sessions of a project are deleted by themselves, the ones that were not changed for longest; default: none"`
}

// Retention bounds the sessions of each project.
type Retention struct {
	Age      Age   `json:"age" doc:"delete those that were not changed for this time, such as \"90d\""`
	Sessions Count `json:"sessions" doc:"keep this many"`
	Bytes    Size  `json:"bytes" doc:"keep so many that their messages have no more bytes"`
}

// Policy returns the rules.
func (r Retention) Policy() retention.Policy {
	return retention.Policy{Age: time.Duration(r.Age), Sessions: int(r.Sessions), Bytes: int64(r.Bytes)}
}

// Age is a time of an hour or more, such as "90d" or "36h".
type Age time.Duration

// UnmarshalJSONFrom reads the time from a string.
func (a *Age) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	wrong := fmt.Errorf(`want a time of an hour or more, such as "90d" or "36h"`)
	text, err := readText(dec)
	if err != nil {
		return wrong
	}
	days, isDays := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(days)
	span := time.Duration(n) * 24 * time.Hour
	if !isDays {
		span, err = time.ParseDuration(text)
	}
	if err != nil || span < time.Hour || n > maxAgeDays {
		return wrong
	}
	*a = Age(span)
	return nil
}

// maxAgeDays keeps an age within a duration.
const maxAgeDays = 36_500

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
