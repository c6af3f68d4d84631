//go:build unix

package crashtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// provider is a model over HTTP that does what prompts say: for every "do TOKEN" that it has not acted on it calls bash
// to append TOKEN to the file of effects; then it answers in small pieces. It remembers nothing: what was done is in
// the conversation that it is sent.
type provider struct {
	*httptest.Server
	effects string // the file that tools append to
	pause   time.Duration
	calls   atomic.Int64 // requests, without those for summaries
	log     callLog      // of trees
}

func newProvider(effects string, pause time.Duration) *provider {
	p := &provider{effects: effects, pause: pause}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

type chatRequest struct {
	Messages []struct {
		Role      string         `json:"role"`
		Content   jsontext.Value `json:"content"`
		ToolCalls []struct {
			Function struct {
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
}

var wanted = regexp.MustCompile(`do (tok-[a-z0-9-]+)`)

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{w: w, pause: p.pause, done: r.Context().Done()}
	if strings.Contains(string(body), "Reply with the notes only.") { // of a compaction
		s.delta(`{"content":"## Goal\n- Go on."}`)
		s.finish("stop")
		return
	}
	p.calls.Add(1)
	if p.log.isOn {
		n := p.log.recordStart(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), body)
		s.delta(fmt.Sprintf(`{"content":"answer %d. "}`, n))
		defer p.log.recordEnd(n, r)
	}
	if level, token := req.subtree(); level > 0 {
		p.delegate(s, level, token)
		return
	}
	if todo := req.todo(); len(todo) > 0 {
		p.act(s, todo)
		return
	}
	for i := range 12 {
		s.delta(fmt.Sprintf(`{"content":"piece %d of the answer. "}`, i))
	}
	s.finish("stop")
}

var subtree = regexp.MustCompile(`tree ([0-9]) (tok-[a-z0-9-]+)`)

// subtree returns the levels of subagents that the conversation asks for, 0 once they were called, and the token of
// their work.
func (r *chatRequest) subtree() (level int, token string) {
	for _, m := range r.Messages {
		if len(m.ToolCalls) > 0 {
			return 0, ""
		}
		if match := subtree.FindStringSubmatch(string(m.Content)); m.Role == "user" && match != nil {
			level, token = int(match[1][0]-'0'), match[2]
		}
	}
	return level, token
}

// delegate calls two subagents at once, the last ones of which do the work.
func (p *provider) delegate(s *stream, level int, token string) {
	for i := range 2 {
		part := fmt.Sprintf("%s-%d", token, i)
		prompt := fmt.Sprintf("tree %d %s", level-1, part)
		args := map[string]string{"description": part, "subagent_type": "lead", "prompt": prompt}
		if level == 3 {
			args["subagent_type"] = "chief"
		}
		if level == 1 {
			args["subagent_type"], args["prompt"] = "general", "do "+part
		}
		raw, _ := json.Marshal(args, json.Deterministic(true))
		text, _ := json.Marshal(string(raw))
		s.delta(fmt.Sprintf(
			`{"tool_calls":[{"index":%d,"id":"call_%s","type":"function","function":{"name":"task","arguments":%s}}]}`,
			i, part, text,
		))
	}
	s.finish("tool_calls")
}

// todo lists the tokens that were asked for and have no call yet.
func (r *chatRequest) todo() []string {
	var asked []string
	done := map[string]bool{}
	for _, m := range r.Messages {
		if m.Role == "user" {
			for _, match := range wanted.FindAllStringSubmatch(string(m.Content), -1) {
				asked = append(asked, match[1])
			}
		}
		for _, c := range m.ToolCalls {
			for _, match := range regexp.MustCompile(`tok-[a-z0-9-]+`).FindAllString(c.Function.Arguments, -1) {
				done[match] = true
			}
		}
	}
	var todo []string
	for _, t := range asked {
		if !done[t] {
			done[t] = true
			todo = append(todo, t)
		}
	}
	return todo
}

func (p *provider) act(s *stream, tokens []string) {
	s.delta(`{"role":"assistant","content":"I will do it. "}`)
	for i, t := range tokens {
		args, _ := json.Marshal(map[string]string{"command": fmt.Sprintf("printf '%s\\n' >> %s", t, p.effects)})
		text, _ := json.Marshal(string(args))
		s.delta(
			fmt.Sprintf(
				`{"tool_calls":[{"index":%d,"id":"call_%s","type":"function","function":{"name":"bash","arguments":%s}}]}`,
				i,
				t,
				text,
			),
		)
	}
	s.finish("tool_calls")
}

// stream writes chunks as OpenAI does, with pauses that leave room for a kill.
type stream struct {
	w     http.ResponseWriter
	pause time.Duration
	done  <-chan struct{}
}

func (s *stream) delta(delta string) {
	fmt.Fprintf(s.w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", delta)
	s.flush()
	select {
	case <-s.done:
	case <-time.After(s.pause):
	}
}

func (s *stream) finish(reason string) {
	fmt.Fprintf(
		s.w,
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\n",
		reason,
	)
	fmt.Fprint(s.w, "data: [DONE]\n\n")
	s.flush()
}

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// config is the configuration that makes the provider the only model.
func (p *provider) config() string {
	return strings.ReplaceAll(`{
	"model": "mock/main",
	"provider": {"mock": {"npm": "@ai-sdk/openai-compatible",
		"options": {"baseURL": "ADDRESS/v1", "apiKey": "{env:LIFE}"},
		"models": {"main": {"limit": {"context": 100000, "output": 8000}, "cost": {"input": 3, "output": 15}}}}},
	"agent": {
		"lead": {"mode": "subagent", "permission": {"task": "allow"}},
		"chief": {"mode": "subagent", "permission": {"task": "allow"}}
	},
	"permission": {"task": "allow", "bash": "allow", "edit": "allow", "external_directory": "allow"}
}`, "ADDRESS", p.URL)
}
