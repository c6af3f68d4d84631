package wire_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// FuzzFindRejectedMedia: the result is always media of the request that occurs in the body.
func FuzzFindRejectedMedia(f *testing.F) {
	f.Add(
		`{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"YQ=="}},{"cachePoint":{}},`+
			`{"text":"Yg=="}]}]}`,
		"messages.0.content.0.image.source.base64: no",
	)
	f.Add(`{"input":[{"output":["YQ==","Yg=="]}],"contents":[]}`, "input[0].output[1] contents[0] #/input/0")
	f.Add(`{"messages":[[["YQ=="]]]}`, "messages.1.member.1.member.1.member messages.0.0.0")
	req := &llm.Request{Messages: []llm.Message{{Parts: []llm.Part{
		llm.Media{Data: []byte("a")},
		llm.Media{URL: "https://x.test"},
		llm.ToolResult{Content: []llm.Part{llm.Media{Data: []byte("b")}, llm.Text{Text: "c"}}},
	}}}}
	f.Fuzz(func(t *testing.T, body, words string) {
		if m := wire.FindRejectedMedia([]byte(body), words, req); m != nil &&
			(len(m.Data) != 1 || m.Data[0] != 'a' && m.Data[0] != 'b') {
			t.Errorf("%+v", m)
		}
	})
}
