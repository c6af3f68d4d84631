package acp

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// newPrompt makes a prompt of content. A first word /NAME of a command is expanded.
func (s *liveSession) newPrompt(ctx context.Context, content []v2.ContentBlock) (*session.Prompt, error) {
	prompt, err := convertContent(content)
	if err != nil {
		return nil, err
	}
	name, arguments, isCommand := splitCommand(prompt.Text)
	if !isCommand {
		return prompt, nil
	}
	// A text that begins with a slash and is no command stays a text.
	x, err := s.client.Expand(ctx, api.ExpandRequest{Command: name, Arguments: arguments, SessionID: s.id})
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return prompt, nil
	}
	if err != nil {
		return nil, err
	}
	x.Prompt.Files = append(x.Prompt.Files, prompt.Files...)
	return &x.Prompt, nil
}

// splitCommand returns the name and the arguments of a text that begins with /NAME.
func splitCommand(text string) (name, arguments string, isCommand bool) {
	rest, isCommand := strings.CutPrefix(text, "/")
	name = rest
	if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
		_, size := utf8.DecodeRuneInString(rest[i:])
		name, arguments = rest[:i], rest[i+size:]
	}
	return name, arguments, isCommand && name != ""
}

// convertContent makes a prompt of content. A file takes its place in the text by its name, if there is a text:
// "compare", a file, "with", a file.
func convertContent(content []v2.ContentBlock) (*session.Prompt, error) {
	prompt := &session.Prompt{}
	var text promptText
	for _, b := range content {
		if b.Type == "text" {
			text.add(b.Text)
			continue
		}
		file, err := convertFile(b)
		if err != nil {
			return nil, err
		}
		prompt.Files = append(prompt.Files, file)
		if b.Type == "resource" || b.Type == "resource_link" {
			text.addName(file.Name)
		}
	}
	if text.hasText {
		prompt.Text = text.String()
	}
	return prompt, nil
}

// convertFile makes a file of a piece of content.
func convertFile(b v2.ContentBlock) (session.File, error) {
	switch b.Type {
	case "image", "audio":
		if b.MimeType == "" || b.Data == "" {
			return session.File{}, rpcErrorf(codeInvalidParams, "content of the type %q needs data and mimeType", b.Type)
		}
		return session.File{
			URI: "data:" + b.MimeType + ";base64," + b.Data, Mime: b.MimeType, Name: deriveName(b.URI, b.Name),
		}, nil
	case "resource_link":
		if b.URI == "" {
			return session.File{}, rpcErrorf(codeInvalidParams, "a resource_link needs a uri")
		}
		return session.File{URI: b.URI, Mime: b.MimeType, Name: deriveName(b.URI, b.Name)}, nil
	case "resource":
		r := b.Resource
		if r.URI == "" {
			return session.File{}, rpcErrorf(codeInvalidParams, "a resource needs a uri")
		}
		file := session.File{Mime: r.MimeType, Name: deriveName(r.URI, "")}
		if r.Blob != "" {
			file.URI = "data:" + r.MimeType + ";base64," + r.Blob
			return file, nil
		}
		file.Mime, file.URI = "text/plain", "data:text/plain,"+url.PathEscape(r.Text)
		return file, nil
	}
	return session.File{}, rpcErrorf(codeInvalidParams, "content of the type %q is not known", b.Type)
}

// promptText joins the texts of a prompt, lines of their own, with the names of files between them.
type promptText struct {
	strings.Builder
	hasText bool
	isNamed bool // a name was added last
}

func (t *promptText) add(text string) {
	switch {
	case !t.hasText && !t.isNamed, text == "":
	case t.isNamed:
		t.separate(text)
	default:
		t.WriteByte('\n')
	}
	t.WriteString(text)
	t.hasText, t.isNamed = t.hasText || text != "", t.isNamed && text == ""
}

func (t *promptText) addName(name string) {
	t.separate(name)
	t.WriteString(name)
	t.isNamed = true
}

// separate writes a space between what was written and what follows, unless there is one, or a mark follows.
func (t *promptText) separate(next string) {
	last, _ := utf8.DecodeLastRuneInString(t.String())
	first, _ := utf8.DecodeRuneInString(next)
	isWord := unicode.IsLetter(first) || unicode.IsDigit(first)
	if t.Len() > 0 && isWord && !unicode.IsSpace(last) && !unicode.Is(unicode.Ps, last) {
		t.WriteByte(' ')
	}
}

// deriveName returns the name of a file, the last element of its URI without one.
func deriveName(uri, name string) string {
	if name != "" {
		return name
	}
	if u, err := url.Parse(uri); err == nil && u.Path != "" {
		return path.Base(u.Path)
	}
	return uri
}
