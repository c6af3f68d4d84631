package v1_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
)

// speaker is a provider whose model says, request by request, what a recorded one said.
type speaker struct {
	t     *testing.T
	mu    sync.Mutex // guards the rest
	turns []turn
	work  string // of the world that it speaks to
	title string // what it says a session is called
	named func() // waits until that has become known: who was recorded had said it before the answer; nil: no test asks
}

// turn is one recorded answer.
type turn struct {
	Info struct {
		Role   string         `json:"role"`
		Finish string         `json:"finish"`
		Error  map[string]any `json:"error"`
		Time   struct{}       `json:"-"`
		Tokens struct {
			Input, Output, Reasoning int
			Cache                    struct{ Read int }
		} `json:"tokens"`
	} `json:"info"`
	Parts []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		CallID string `json:"callID"`
		Tool   string `json:"tool"`
		State  struct {
			Input map[string]any `json:"input"`
		} `json:"state"`
	} `json:"parts"`
}

func newSpeaker(t *testing.T, rec *recording) (*speaker, string) {
	t.Helper()
	s := &speaker{t: t}
	for _, f := range rec.Final {
		b, err := json.Marshal(f["messages"])
		if err != nil {
			t.Fatal(err)
		}
		var turns []turn
		if err := json.Unmarshal(b, &turns, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		info, _ := f["info"].(map[string]any)
		s.title, _ = info["title"].(string)
		s.turns = append(s.turns, slices.DeleteFunc(turns, func(m turn) bool { return m.Info.Role != "assistant" })...)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// ServeHTTP streams the next answer as Chat Completions do. One that was aborted hangs behind its text.
func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	if strings.Contains(string(body), "title generator") {
		say(w, map[string]any{"content": s.title}, nil)
		say(w, map[string]any{}, "stop")
		return
	}
	if s.named != nil {
		s.named()
	}
	s.mu.Lock()
	if len(s.turns) == 0 {
		s.mu.Unlock()
		http.Error(w, "no more is recorded", http.StatusBadRequest)
		return
	}
	m, work := s.turns[0], s.work
	s.turns = s.turns[1:]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	calls := 0
	for _, p := range m.Parts {
		switch p.Type {
		case "reasoning":
			say(w, map[string]any{"reasoning_content": p.Text}, nil)
		case "text":
			say(w, map[string]any{"content": p.Text}, nil)
		case "tool":
			args, err := json.Marshal(p.State.Input)
			if err != nil {
				s.t.Error(err)
			}
			say(
				w,
				map[string]any{
					"tool_calls": []any{
						map[string]any{"index": calls, "id": p.CallID, "type": "function", "function": map[string]any{
							"name": p.Tool, "arguments": strings.ReplaceAll(string(args), "<WORK>", work),
						}},
					},
				},
				nil,
			)
			calls++
		}
	}
	if m.Info.Error != nil {
		<-r.Context().Done()
		return
	}
	say(w, map[string]any{}, strings.ReplaceAll(m.Info.Finish, "-", "_"))
	k := m.Info.Tokens
	fmt.Fprintf(
		w,
		`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
			`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`+"\n\ndata: [DONE]\n\n",
		k.Input+k.Cache.Read,
		k.Output+k.Reasoning,
		k.Input+k.Cache.Read+k.Output+k.Reasoning,
		k.Cache.Read,
		k.Reasoning,
	)
}

func say(w http.ResponseWriter, delta, finish any) {
	b, err := json.Marshal(
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}},
	)
	if err != nil {
		return
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
	w.(http.Flusher).Flush()
}
