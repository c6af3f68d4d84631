package transcript

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxPreviewLines bounds the lines of an answer in a preview.
const maxPreviewLines = 3

// PreviewEnd returns lines about the end of a session: its last prompt and how the last answer ends. The messages are
// the newest ones, newest first.
func PreviewEnd(ms []session.Message) []string {
	var answer []string
	for _, x := range ms {
		switch x := x.(type) {
		case *session.User:
			return append([]string{"> " + describe.PromptLine(x, 200)}, answer...)
		case *session.Assistant:
			if len(answer) > 0 {
				continue
			}
			for _, c := range x.Content {
				if t, ok := c.(*session.Text); ok && strings.TrimSpace(t.Text) != "" {
					answer = strings.Split(strings.TrimSpace(t.Text), "\n")
				}
			}
			answer = answer[max(len(answer)-maxPreviewLines, 0):]
		}
	}
	return answer
}
