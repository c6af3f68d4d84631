package attachment

import (
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// fakeReader has one file, and the resources of one server.
type fakeReader struct{}

func (fakeReader) Attach(context.Context, session.ID, opencode.Page) (string, *session.File, error) {
	return "the file", nil, nil
}

func (fakeReader) AttachResource(_ context.Context, server, uri string) (string, *session.File, error) {
	switch {
	case server != "notes":
		return "", nil, errors.New("there is no MCP server " + server)
	case uri == "notes://picture":
		return "", &session.File{URI: "data:image/png;base64,AA==", Mime: "image/png"}, nil
	default:
		return "the page", nil, nil
	}
}

// TestReadFiles: files and MCP resources that a prompt names get their content; a resource that cannot be read says why.
func TestReadFiles(t *testing.T) {
	const source = `{"source":{"type":"resource","clientName":"notes","uri":"notes://page"}}`
	p := session.Prompt{Files: []session.File{
		{URI: "file:///a.txt", Mime: "text/plain"},
		{URI: "mcp:notes:notes://page"},
		{URI: "notes://page", Extra: jsontext.Value(source)},
		{URI: "mcp:notes:notes://picture", Name: "picture"},
		{URI: "mcp:other:x://y"},
		{URI: "mcp:broken"},
		{URI: "mcp:notes:notes://page", Text: "read before"},
	}}
	ReadFiles(t.Context(), "ses_1", &p, func() (Reader, error) { return fakeReader{}, nil }, nil)
	want := []session.File{
		{URI: "file:///a.txt", Mime: "text/plain", Text: "the file"},
		{URI: "mcp:notes:notes://page", Text: "the page"},
		{URI: "notes://page", Extra: jsontext.Value(source), Text: "the page"},
		{URI: "data:image/png;base64,AA==", Mime: "image/png", Name: "picture"},
		{URI: "mcp:other:x://y", Text: "Reading the MCP resource x://y of other failed: there is no MCP server other"},
		{URI: "mcp:broken"},
		{URI: "mcp:notes:notes://page", Text: "read before"},
	}
	if diff := cmp.Diff(want, p.Files); diff != "" {
		t.Error(diff)
	}
}
