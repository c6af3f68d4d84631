package compaction

import (
	"strings"
	"time"
	"unicode"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// The limits of generating a title. Beyond them the title is taken from the prompt.
const (
	TitleTimeout   = time.Minute // of all attempts together
	TitleAttempts  = 3
	MaxTitlePrompt = 16 << 10 // bytes of the prompt and its attached texts that are sent
	MaxTitleAnswer = 16 << 10 // bytes of the answer that are read
	maxTitle       = 100      // characters of the title
)

// Question is the instruction that precedes the session's first prompt in the request for a title.
const TitleInstruction = "Write the title of the conversation that begins with this message:"

// TitleRequest asks a model for the title of a session.
type TitleRequest struct {
	SessionID session.ID
	Model     *scope.Model
	System    string
	Prompt    *session.User
	Excluded  []session.Exclusion // content of the prompt
}

// withoutMedia returns the request without images and documents, and true, if it has some and the provider rejected it.
func (q TitleRequest) withoutMedia(e *llm.Error) (TitleRequest, bool) {
	rejected := e.Class == llm.InvalidRequest || e.Class == llm.Overflow
	sent, before := q.listMessages(), len(q.Excluded)
	for _, kind := range []session.ContentKind{session.ContentImages, session.ContentDocuments} {
		if rejected && history.HasContent(sent, kind) {
			x := session.Exclusion{Kind: kind, Through: q.Prompt.Seq}
			q.Excluded = append(q.Excluded[:len(q.Excluded):len(q.Excluded)], x)
		}
	}
	return q, len(q.Excluded) > before
}

// listMessages returns the messages of the request: the instruction, and the prompt within its bounds.
func (q TitleRequest) listMessages() []llm.Message {
	prompt := history.Lower([]session.Message{q.Prompt}, q.Model, q.Excluded...)
	cutTexts(prompt, MaxTitlePrompt)
	return append([]llm.Message{{Role: llm.RoleUser, Parts: history.TextParts(TitleInstruction)}}, prompt...)
}

// cutTexts cuts the texts of the messages so that all together have at most maxBytes; nothing is left of some.
func cutTexts(ms []llm.Message, maxBytes int) {
	for i := range ms {
		parts := make([]llm.Part, 0, len(ms[i].Parts))
		for _, p := range ms[i].Parts {
			if text, ok := p.(llm.Text); ok {
				text.Text = text.Text[:min(len(text.Text), maxBytes)]
				text.Text = strings.ToValidUTF8(text.Text, "")
				maxBytes -= len(text.Text)
				if p = text; text.Text == "" {
					continue
				}
			}
			parts = append(parts, p)
		}
		ms[i].Parts = parts
	}
}

// maxLength is the limit of a title from a prompt, in characters.
const maxPromptTitle = 60

// TitleFromText returns the first line with text, cut between words where it is long. A word that is too long by itself
// is cut anywhere.
func TitleFromText(prompt string) string {
	title := firstLine(prompt)
	if len(title) <= maxPromptTitle {
		return string(title)
	}
	title = title[:maxPromptTitle]
	if space := strings.LastIndex(string(title[:maxPromptTitle-1]), " "); space > 0 {
		return string(title)[:space] + "…"
	}
	title[maxPromptTitle-1] = '…'
	return string(title)
}

// firstLine returns the first line with text, with printable characters only.
func firstLine(text string) []rune {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case unicode.IsGraphic(r):
				return r
			default: // control characters, and marks that change the direction of text
				return -1
			}
		}, line)
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return []rune(line)
		}
	}
	return nil
}
