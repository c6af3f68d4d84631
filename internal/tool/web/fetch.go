package web

import (
	"context"
	_ "embed"
	"errors"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed webfetch.md
var fetchDescription string

const fetchSchema = `{"type":"object","properties":{
"url":{"type":"string","minLength":1,"description":"The address of the page, with http:// or https://"},
"format":{"type":"string","enum":["text","markdown","html"],"description":"How the page is given; markdown if absent"},
"timeout":{"type":"number","exclusiveMinimum":0,"description":"Seconds until it is given up, at most 120; 30 if absent"}
},"required":["url"],"additionalProperties":false}`

const (
	fetchTime    = 30 * time.Second
	maxFetchTime = 120 * time.Second
)

type fetchTool struct{ *client }

type fetchInput struct {
	URL     string  `json:"url"`
	Format  string  `json:"format"`
	Timeout float64 `json:"timeout"`
}

// Definition describes the tool.
func (t *fetchTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "webfetch", Description: strings.TrimSpace(fetchDescription), Schema: jsontext.Value(fetchSchema),
	}
}

// Run fetches the page. It makes no DNS query before permission is given.
func (t *fetchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[fetchInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	// Parse and ask first; a permission may be stored for the whole host.
	u, err := t.parseTarget(in.URL)
	if err != nil {
		return tool.Output{}, err
	}
	err = call.Ask(ctx, tool.Request{
		Action: "webfetch", Resources: []string{u.String()}, Save: []string{hostPattern(u)},
		Metadata: tool.EncodeObject(
			map[string]any{"url": u.String(), "format": in.formatOrDefault(), "timeout": in.timeLimit().Seconds()},
		),
	})
	if err != nil {
		return tool.Output{}, err
	}
	// Fetch. An address in the local network, named directly or by DNS or a redirect, needs a permission of its
	// own.
	p, err := t.fetchInTime(ctx, u, in)
	if local, ok := errors.AsType[*localAddressError](err); ok {
		var save []string
		resources := local.listResources()
		for _, r := range resources {
			save = append(save, permission.Escape(r))
		}
		if err = call.Ask(ctx, tool.Request{
			Action: ActionLocalAddress, Resources: resources, Save: save,
			Metadata: tool.EncodeObject(map[string]any{"url": u.String(), "reason": local.reason}),
		}); err != nil {
			return tool.Output{}, err
		}
		// Only the addresses that were asked about are allowed in the second attempt.
		p, err = t.fetchInTime(context.WithValue(ctx, allowedKey{}, local.addrs), u, in)
	}
	// A redirect to another host is not followed: the model gets its address and may fetch it with a new
	// permission.
	if to, ok := errors.AsType[*redirectError](err); ok {
		return formatRedirect(u, to.to), nil
	}
	if err != nil {
		return tool.Output{}, err
	}
	return p.formatOutput(call, u, in.formatOrDefault())
}

// fetchInTime fetches the page within the time that the call allows.
func (t *fetchTool) fetchInTime(ctx context.Context, u *url.URL, in fetchInput) (*page, error) {
	late := tool.Failf("%s did not answer in full within %v.", u.Host, in.timeLimit())
	ctx, cancel := context.WithTimeoutCause(ctx, in.timeLimit(), late)
	defer cancel()
	return t.fetchPage(ctx, u, acceptHeader(in.formatOrDefault()))
}

// hostPattern returns the pattern for all pages of the URL's host and port.
func hostPattern(u *url.URL) string {
	return permission.Escape(u.Scheme+"://"+u.Host) + "/*"
}

func (in fetchInput) formatOrDefault() string {
	if in.Format == "" {
		return "markdown"
	}
	return in.Format
}

func (in fetchInput) timeLimit() time.Duration {
	if in.Timeout <= 0 {
		return fetchTime
	}
	return time.Duration(min(in.Timeout, maxFetchTime.Seconds()) * float64(time.Second))
}

func acceptHeader(format string) string {
	switch format {
	case "markdown":
		return "text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1"
	case "text":
		return "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1"
	default:
		return "text/html;q=1.0, application/xhtml+xml;q=0.9, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.1"
	}
}

// fetchResult is the structured result.
type fetchResult struct {
	URL         string `json:"url"` // of the page
	Status      int    `json:"status,omitzero"`
	ContentType string `json:"contentType,omitzero"`
	Format      string `json:"format,omitzero"`
	Bytes       int    `json:"bytes,omitzero"`
	Redirect    string `json:"redirect,omitzero"` // target of a redirect that was not followed
}

func formatRedirect(from, to *url.URL) tool.Output {
	text := "This page is elsewhere: " + from.String() + " redirects to " + to.String() +
		"\nNothing was fetched from there. If it is where you want to go, call webfetch with that URL."
	return tool.TextOutput(from.String(), text, fetchResult{URL: from.String(), Redirect: to.String()})
}

// formatOutput returns the page in the format; an image or a PDF as media.
func (p *page) formatOutput(call tool.Call, asked *url.URL, format string) (tool.Output, error) {
	title := asked.String()
	if p.mime != "" {
		title += " (" + p.mime + ")"
	}
	info := fetchResult{
		URL: p.url.String(), Status: p.status, ContentType: p.contentType, Format: format, Bytes: len(p.body),
	}
	if mime := p.mediaType(); mime != "" {
		info.Format = ""
		out := tool.TextOutput(title, "Fetched as an attachment: "+mime, info)
		out.Content = append(out.Content, session.ToolContent{
			Type: "file", URI: session.EncodeDataURI(mime, p.body), Mime: mime, Name: path.Base(p.url.Path),
		})
		return out, nil
	}
	text, err := p.formatText(format)
	if err != nil {
		return tool.Output{}, err
	}
	return tool.TextOutput(title, tool.MarkUntrusted(call, p.url.String(), text), info), nil
}
