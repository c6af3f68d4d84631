package frontmatter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Field is a key with its text, for Format. Bare text is a number or a boolean and is not quoted.
type Field struct {
	Key, Text string
	Bare      bool
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/._-]*$`)
	yamlWords = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
)

// Format returns a file that Read accepts: the fields in order without empty ones, and the body.
func Format(fields []Field, body string) []byte {
	b := []byte("---\n")
	for _, f := range fields {
		if f.Text == "" {
			continue
		}
		b = append(append(b, f.Key...), ": "...)
		if f.Bare || plainText.MatchString(f.Text) && !slices.Contains(yamlWords, strings.ToLower(f.Text)) {
			b = append(b, f.Text...)
		} else { // Go's escapes are YAML's too
			b = strconv.AppendQuoteToGraphic(b, strings.ToValidUTF8(f.Text, "\uFFFD"))
		}
		b = append(b, '\n')
	}
	b = append(b, "---\n"...)
	if body = strings.TrimSpace(body); body != "" {
		b = append(append(append(b, '\n'), body...), '\n')
	}
	return b
}
