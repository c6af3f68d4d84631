package style

import "strings"

// ReplaceSigns returns the text for a terminal without UTF-8: each sign of the interface is replaced by an ASCII one of
// the same width.
func ReplaceSigns(text string) string { return asciiSigns.Replace(text) }

var asciiSigns = strings.NewReplacer(
	"✓", "+", "✗", "x", "→", ">", "·", "-", "•", "*", "☐", "o", "☑", "x", "…", "~", "─", "-", "┼", "+", "│", "|", "▏", "|",
	"├", "|", "└", "`",
)
