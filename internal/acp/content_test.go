package acp

import (
	"testing"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
)

func textBlock(text string) v2.ContentBlock { return v2.ContentBlock{Type: "text", Text: text} }

func link(uri, name string) v2.ContentBlock {
	return v2.ContentBlock{Type: "resource_link", URI: uri, Name: name}
}

func embedded(uri, text, blob, mime string) v2.ContentBlock {
	r := v2.EmbeddedResourceResource{URI: uri, Text: text, Blob: blob, MimeType: mime}
	return v2.ContentBlock{Type: "resource", Resource: r}
}

func TestConvertContent(t *testing.T) {
	image := v2.ContentBlock{Type: "image", Data: "AAAA", MimeType: "image/png"}
	for _, tt := range []struct {
		name    string
		content []v2.ContentBlock
		text    string
		files   []string // URI and name of each
	}{
		{"texts", []v2.ContentBlock{textBlock("a"), textBlock("b")}, "a\nb", nil},
		{"empty texts", []v2.ContentBlock{textBlock(""), textBlock("b")}, "b", nil},
		{
			"a file between texts",
			[]v2.ContentBlock{textBlock("compare"), link("file:///x/a.go", ""), textBlock("with"), link("file:///x/b.go", "B"), textBlock(", please")},
			"compare a.go with B, please",
			[]string{"file:///x/a.go a.go", "file:///x/b.go B"},
		},
		{
			"spaces and brackets are there already",
			[]v2.ContentBlock{textBlock("see ("), link("file:///x/a.go", ""), textBlock(") and "), link("file:///x/b.go", ""), textBlock("\nend")},
			"see (a.go) and b.go\nend",
			[]string{"file:///x/a.go a.go", "file:///x/b.go b.go"},
		},
		{"a file first", []v2.ContentBlock{link("file:///x/a.go", ""), textBlock("explain")}, "a.go explain", []string{"file:///x/a.go a.go"}},
		{"files only", []v2.ContentBlock{link("file:///x/a.go", "")}, "", []string{"file:///x/a.go a.go"}},
		{"an image has no place", []v2.ContentBlock{textBlock("a"), image, textBlock("b")}, "a\nb", []string{"data:image/png;base64,AAAA "}},
		{
			"resources",
			[]v2.ContentBlock{textBlock("x"), embedded("file:///d/n.txt", "100 %\na,b", "", "text/markdown"), embedded("u:d", "", "AAAA", "image/gif")},
			"x n.txt u:d",
			[]string{"data:text/plain,100%20%25%0Aa%2Cb n.txt", "data:image/gif;base64,AAAA u:d"},
		},
	} {
		got, err := convertContent(tt.content)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Text != tt.text || len(got.Files) != len(tt.files) {
			t.Errorf("%s: text %q, %d files; want %q, %d", tt.name, got.Text, len(got.Files), tt.text, len(tt.files))
			continue
		}
		for i, f := range got.Files {
			if f.URI+" "+f.Name != tt.files[i] {
				t.Errorf("%s: file %q, want %q", tt.name, f.URI+" "+f.Name, tt.files[i])
			}
		}
	}
	for _, wrong := range []v2.ContentBlock{
		{Type: "nope"}, {}, {Type: "image", Data: "AAAA"}, {Type: "audio", MimeType: "audio/wav"}, {Type: "resource_link"}, {Type: "resource"},
	} {
		if _, err := convertContent([]v2.ContentBlock{textBlock("x"), wrong}); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	for _, tt := range []struct {
		text, name, arguments string
		isCommand             bool
	}{
		{"/init", "init", "", true},
		{"/init now please", "init", "now please", true},
		{"/init\nnow", "init", "now", true},
		{"/init\u00a0now", "init", "now", true},
		{"/", "", "", false},
		{"/ x", "", "x", false},
		{"x /init", "x", "/init", false},
		{"", "", "", false},
	} {
		name, arguments, isCommand := splitCommand(tt.text)
		if isCommand != tt.isCommand || isCommand && (name != tt.name || arguments != tt.arguments) {
			t.Errorf("%q: %q, %q, %v", tt.text, name, arguments, isCommand)
		}
	}
}
