package session

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// Items are read by their type, wherever it stands and however it is written.
func TestContentIsReadByItsType(t *testing.T) {
	text := []Content{&Text{Type: "text", ID: "0", Text: "a"}}
	for in, want := range map[string][]Content{
		`[{"type":"text","id":"0","text":"a"}]`:                     text,
		`[{"id":"0","type":"text","text":"a"}]`:                     text,
		" [ { \"type\" : \"text\",\n\"id\":\"0\",\"text\":\"a\"} ]": text,
		`[{"type":"te\u0078t","id":"0","text":"a"}]`:                text,
		`[{"id":"0","\u0074ype":"text","text":"a"}]`:                text,
		`[]`:   {},
		`null`: nil,
		`[{"type":"text","id":"0","text":"a"} , {"type":"reasoning","id":"1","text":"b","new":{"type":"tool"}},` +
			`{"type":"tool","id":"c","name":"n","state":{"status":"pending","input":""},"time":{"created":1}}]`: {
			text[0],
			&Reasoning{Type: "reasoning", ID: "1", Text: "b", Extra: jsontext.Value(`{"new":{"type":"tool"}}`)},
			&Tool{
				Type: "tool", ID: "c", Name: "n", State: ToolState{Status: ToolPending, Input: jsontext.Value(`""`)},
				Time: ToolTime{Created: 1},
			},
		},
	} {
		for _, around := range []string{
			`{"id":"m","type":"assistant","content":%}`, `{"content":%,"type":"assistant","id":"m"}`,
		} {
			whole := strings.Replace(around, "%", in, 1)
			m, err := DecodeMessage([]byte(whole))
			if err != nil {
				t.Errorf("%s: %v", whole, err)
				continue
			}
			if d := cmp.Diff(want, m.(*Assistant).Content); d != "" {
				t.Errorf("%s: %s", whole, d)
			}
			var streamed Assistant // from a reader that gives a byte at a time
			if err := json.UnmarshalRead(byteByByte{strings.NewReader(whole)}, &streamed); err != nil {
				t.Errorf("%s: %v", whole, err)
			}
			if d := cmp.Diff(want, streamed.Content); d != "" {
				t.Errorf("%s, byte by byte: %s", whole, d)
			}
		}
	}
}

type byteByByte struct{ r *strings.Reader }

func (b byteByByte) Read(p []byte) (int, error) { return b.r.Read(p[:min(1, len(p))]) }

func TestWhatIsNoMessage(t *testing.T) {
	for _, in := range []string{
		`{"type":"assistant","content":[{"type":"text","type":"tool"}]}`,
		`{"type":"assistant","content":[{"type":"txt"}]}`,
		`{"type":"assistant","content":[{"id":"0"}]}`,
		`{"type":"assistant","content":[{}]}`,
		`{"type":"assistant","content":[null]}`,
		`{"type":"assistant","content":[1]}`,
		`{"type":"assistant","content":{}}`,
		`{"type":"assistant","content":[{"type":"text"}`,
		`{"type":"assistant","content":[{"type":"text"},]}`,
		`{"type":"assistant","type":"user"}`,
		`{"type":"nothing"}`,
		`{}`,
	} {
		if m, err := DecodeMessage([]byte(in)); err == nil {
			t.Errorf("%s: %+v", in, m)
		}
	}
	if m, err := DecodeMessageOf(TypeUser, []byte(`{"type":"synthetic","text":"a"}`)); err == nil {
		t.Errorf("another type: %+v", m)
	}
}
