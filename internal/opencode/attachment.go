package opencode

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Page is the part of an attached file to read, in the parameters of the tool read.
type Page struct {
	FilePath string `json:"filePath"`
	Offset   int    `json:"offset,omitzero"`
	Limit    int    `json:"limit,omitzero"`
}

// attachmentText is the ids of the two texts shown before a file: one that names the page and one with its content.
type attachmentText struct {
	IDs  []session.PartID `json:"ids"`
	Page Page             `json:"page"`
}

// resourceScheme begins the URI of an attached resource of an MCP server: mcp:SERVER:URI.
const resourceScheme = "mcp:"

// ResourceOf returns the server and the URI of the MCP resource that the file stands for: by its URI, or by its source,
// as OpenCode's clients name it.
func ResourceOf(f session.File) (server, uri string, ok bool) {
	if rest, found := strings.CutPrefix(f.URI, resourceScheme); found {
		server, uri, ok = strings.Cut(rest, ":")
		return server, uri, ok && server != "" && uri != ""
	}
	var more struct {
		Source struct {
			Type   string `json:"type"`
			Client string `json:"clientName"`
			URI    string `json:"uri"`
		} `json:"source"`
	}
	if len(f.Extra) == 0 || strings.HasPrefix(f.URI, "data:") || json.Unmarshal(f.Extra, &more) != nil {
		return "", "", false
	}
	return more.Source.Client, more.Source.URI, more.Source.Type == "resource" && more.Source.Client != ""
}

// PageOf returns the page to read of the file; false if the prompt has its content or there is nothing to read.
func PageOf(f session.File) (Page, bool) {
	p, ok := pageOf(PartInput{URL: f.URI, Mime: f.Mime, Filename: f.Name})
	return p, ok && strings.HasPrefix(f.URI, "file:")
}

// pageOf returns the page that is shown as read. For text that comes with the prompt it is the whole text.
func pageOf(in PartInput) (Page, bool) {
	if strings.HasPrefix(in.URL, "data:") {
		return Page{FilePath: in.Filename}, in.Mime == "text/plain"
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) {
		return Page{}, false
	}
	p := Page{FilePath: u.Path}
	first, err := strconv.Atoi(u.Query().Get("start"))
	if err != nil || in.Mime != "text/plain" {
		return p, true
	}
	p.Offset = max(first, 1)
	if last, err := strconv.Atoi(u.Query().Get("end")); err == nil {
		p.Limit = max(last-p.Offset+1, 0)
	}
	return p, true
}

// attachmentTextOf returns the extra members of a file part that is to be read.
func attachmentTextOf(f session.File, newPart func() session.PartID) jsontext.Value {
	page, ok := PageOf(f)
	if !ok {
		return nil
	}
	return memberOf(nil, "reading", attachmentText{[]session.PartID{newPart(), newPart()}, page})
}

// toParts returns the texts before the file; none if it was not read.
func (r attachmentText) toParts(f session.File, head Head) (out []Part) {
	said, comes := f.Text, strings.HasPrefix(f.URI, "data:")
	if comes && f.Mime == "text/plain" && said == "" {
		said = plainText(f.URI)
	}
	asked, err := json.Marshal(r.Page)
	if err != nil || len(r.IDs) != 2 || !comes && said == "" {
		return nil
	}
	for i, text := range []string{"Called the Read tool with the following input: " + string(asked), said} {
		if text != "" {
			h := Head{ID: r.IDs[i], SessionID: head.SessionID, MessageID: head.MessageID, Type: "text"}
			out = append(out, &TextPart{Head: h, Text: text, Synthetic: true})
		}
	}
	return out
}

// plainText returns the text of a data: URL; "" if it is invalid.
func plainText(uri string) string {
	_, data, ok := session.DataURI(uri)
	if !ok {
		return ""
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}
