package admit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxTitle is the size of a title in bytes.
const maxTitle = 1000

func placeholderTitle(isChild bool, now time.Time) string {
	title := session.UntitledPrefix
	if isChild {
		title = session.UntitledChildPrefix
	}
	return title + now.UTC().Format("2006-01-02T15:04:05.000Z")
}

// parseTitle returns the title without invalid UTF-8, or a *session.Error if it is blank or too long.
func parseTitle(title string) (string, error) {
	title = cleanTitle(title)
	switch {
	case strings.TrimSpace(title) == "":
		return "", session.Errorf(session.CodeInvalid, "the title is empty").At("title")
	case len(title) > maxTitle:
		return "", session.Errorf(session.CodeInvalid,
			"the title has %d bytes, the limit is %d", len(title), maxTitle).At("title")
	}
	return title, nil
}

// isSameTitle reports whether the stored title is that of a request, spaces around them aside.
func isSameTitle(stored, requested string) bool {
	return strings.TrimSpace(stored) == strings.TrimSpace(cleanTitle(requested))
}

func cleanTitle(title string) string { return strings.ToValidUTF8(title, "\uFFFD") }

// numbered matches the title of a fork: the title of its source, and its number.
var numbered = regexp.MustCompile(`^(.*) \(fork #([0-9]{1,9})\)$`)

// NumberTitle returns the title of a fork, as OpenCode chooses it: that of the source with " (fork #1)", or with the
// next number if it has one.
func NumberTitle(title string) string {
	if m := numbered.FindStringSubmatch(title); m != nil {
		n, _ := strconv.Atoi(m[2]) // at most nine digits
		return fmt.Sprintf("%s (fork #%d)", m[1], n+1)
	}
	return title + " (fork #1)"
}
