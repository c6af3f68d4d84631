package command

import (
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

// parseTitle returns the title without surrounding space and invalid UTF-8, or a *session.Error.
func parseTitle(title string) (string, error) {
	title = cleanTitle(title)
	switch {
	case title == "":
		return "", session.Errorf(session.CodeInvalid, "the title is empty").At("title")
	case len(title) > maxTitle:
		return "", session.Errorf(session.CodeInvalid,
			"the title has %d bytes, the limit is %d", len(title), maxTitle).At("title")
	}
	return title, nil
}

func cleanTitle(title string) string { return strings.TrimSpace(strings.ToValidUTF8(title, "\uFFFD")) }
