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

// Page is what of a file is read for a prompt that brings it, as the tool read is asked for it.
type Page struct {
	FilePath string `json:"filePath"`
	Offset   int    `json:"offset,omitzero"`
	Limit    int    `json:"limit,omitzero"`
}

// reading is what stands before a file of a prompt: a text that names the page, and one with what was read.
type reading struct {
	IDs  []session.PartID `json:"ids"`
	Page Page             `json:"page"`
}

// PageOf is what is to be read of the file; false where it brings what it holds, or where there is nothing to read.
func PageOf(f session.File) (Page, bool) {
	p, ok := pageOf(PartInput{URL: f.URI, Mime: f.Mime, Filename: f.Name})
	return p, ok && strings.HasPrefix(f.URI, "file:")
}

// pageOf is what of the file is shown as read. Of a text that comes with the prompt it is all.
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

// readingOf is what is said beside a file of a prompt that is to be read.
func readingOf(f session.File, newPart func() session.PartID) jsontext.Value {
	page, ok := PageOf(f)
	if !ok {
		return nil
	}
	return member(nil, "reading", reading{[]session.PartID{newPart(), newPart()}, page})
}

// parts are the texts before the file: none if it was not read.
func (r reading) parts(f session.File, head Head) (out []Part) {
	said, comes := f.Text, strings.HasPrefix(f.URI, "data:")
	if comes && f.Mime == "text/plain" && said == "" {
		said = plain(f.URI)
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

// plain is the text of a data: URL, "" for one that cannot be read.
func plain(uri string) string {
	_, data, ok := session.DataURI(uri)
	if !ok {
		return ""
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}
