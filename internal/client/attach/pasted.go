package attach

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxPath bounds the pasted text that may be a path.
const maxPath = 8 << 10

// FindPastedPath returns the absolute path of an existing regular file if a pasted text is nothing else, as it is when
// a file is dropped on a terminal: plain, in quotes, with escaped characters, or a file: URL.
func FindPastedPath(text string) (path string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPath || strings.ContainsAny(text, "\n\r\x00") {
		return "", false
	}
	for _, path := range []string{text, unquotePath(text), pathOfURL(text)} {
		if !filepath.IsAbs(path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return filepath.Clean(path), true
		}
	}
	return "", false
}

// escapedRune matches a character that a shell reads as it is.
var escapedRune = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(.)`) })

// unquotePath returns the path that a shell would read, "" if it would read more than one word.
func unquotePath(text string) string {
	for _, quote := range []string{"'", `"`} {
		inner, found := strings.CutPrefix(text, quote)
		if inner, ended := strings.CutSuffix(inner, quote); found && ended {
			inner = strings.ReplaceAll(inner, `'\''`, "\x00")
			if strings.Contains(inner, quote) {
				return ""
			}
			return strings.ReplaceAll(inner, "\x00", "'")
		}
	}
	if strings.ContainsAny(escapedRune().ReplaceAllString(text, ""), " \t'\"") {
		return ""
	}
	return escapedRune().ReplaceAllString(text, "$1")
}

// pathOfURL returns the path of a file: URL of this machine, "" for other texts.
func pathOfURL(text string) string {
	u, err := url.Parse(strings.Trim(text, `'"`))
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// Media is an image or a PDF on this machine.
type Media struct {
	Path string
	Mime string
	Size int64
}

// InspectMedia reports whether the path is that of an image or a PDF, judged by its content.
func InspectMedia(path string) (Media, bool) {
	f, info, err := statefile.OpenRegular(path)
	if err != nil {
		return Media{}, false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head) // an empty file has no type
	mime := MediaType(head[:n])
	return Media{path, mime, info.Size()}, mime != "" && mime != "text/plain"
}
