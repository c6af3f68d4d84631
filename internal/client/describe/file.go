package describe

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FileLabel names a file of a prompt: its kind, its name, and its size if the prompt carries its content.
func FileLabel(f session.File) string {
	kind, name, size := "file ", cmp.Or(f.Name, f.URI), ""
	switch {
	case strings.HasPrefix(f.Mime, "image/"):
		kind = "image "
	case f.Mime == "application/pdf":
		kind = "PDF "
	}
	if strings.HasPrefix(name, "data:") {
		name = cmp.Or(f.Mime, "pasted")
	}
	if head, data, ok := strings.Cut(f.URI, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		padding := len(data) - len(strings.TrimRight(data, "="))
		if n := base64.StdEncoding.DecodedLen(len(data)) - padding; n > 0 {
			size = fmt.Sprintf(" (%s)", FormatBytes(int64(n)))
		}
	}
	return kind + terminal.FirstLine(name, 200) + size
}

// FormatBytes formats a size for people.
func FormatBytes(n int64) string {
	switch {
	case n < 1<<10:
		return terminal.FormatPlural(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
