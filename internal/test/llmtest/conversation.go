package llmtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// generator makes conversations as the engine lowers them: every call has one result before other content, and ids are
// unique. The content is unusual: media of any type, invalid UTF-8, calls whose input is not an object, hosted calls of
// other vendors, consecutive answers, instructions anywhere between messages.
type generator struct {
	*rand.Rand
	exam  Exam
	calls int
}

func (g *generator) pickText(s ...string) string { return s[g.IntN(len(s))] }

func (g *generator) newRequest() *llm.Request {
	req := &llm.Request{Model: g.exam.Model}
	for range g.IntN(4) {
		req.System = append(req.System, g.newText())
	}
	if g.IntN(3) > 0 {
		req.Tools = g.newTools()
		req.Choice = g.newChoice()
	}
	for range 1 + g.IntN(8) {
		req.Messages = append(req.Messages, g.newQuestion()...)
		for range 1 + g.IntN(6)/5 {
			req.Messages = append(req.Messages, g.newAnswer()...)
		}
	}
	if g.IntN(4) > 0 {
		req.Messages = append(req.Messages, g.newQuestion()...)
	}
	if g.IntN(5) == 0 {
		req.OutputSchema = jsontext.Value(
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		)
	}
	if g.IntN(3) > 0 {
		req.Breakpoints = llm.TurnBreakpoints(req)
	}
	return req
}

func (g *generator) newTools() []llm.ToolDefinition {
	return []llm.ToolDefinition{
		{
			Name: "edit", Description: "Edit.",
			Schema: jsontext.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		},
		{
			Name: "odd",
			Schema: jsontext.Value(
				`{"anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"anyOf":[{"type":"integer"},` +
					`{"type":"null"}]}}}]}`,
			),
		},
		{Name: "read", Schema: jsontext.Value(`{"type":"object","properties":{}}`)},
	}
}

func (g *generator) newChoice() llm.ToolChoice {
	switch g.IntN(6) {
	case 0:
		return llm.ToolChoice{Mode: llm.ChooseNone}
	case 1:
		return llm.ToolChoice{Mode: llm.ChooseRequired}
	case 2:
		return llm.ToolChoice{Mode: llm.ChooseTool, Name: "read"}
	default:
		return llm.ToolChoice{}
	}
}

func (g *generator) newText() string {
	return g.pickText(
		"hello", "two\nlines", "a < b & c > d", "   ", "trailing \n", "emoji 😀", "broken \xff\xfe utf-8",
		strings.Repeat("long ", 300),
	)
}

func (g *generator) newMedia() llm.Media {
	m := llm.Media{
		MediaType: g.pickText(
			"image/png", "image/JPEG; q=1", "application/pdf", "text/plain", "audio/wav", "video/mp4", "application/zip", "",
		),
		Data: []byte("data"), Name: g.pickText("", "a.bin", "Ärger (1).pdf", "two  spaces.md"),
	}
	switch g.IntN(8) {
	case 0:
		m.Data = nil
	case 1:
		m.Data, m.URL = nil, "https://example.org/a"
	}
	return m
}

// newQuestion returns what precedes an answer: one or more user messages, sometimes with an instruction between them.
func (g *generator) newQuestion() (ms []llm.Message) {
	for range 1 + g.IntN(4)/3 {
		parts := []llm.Part{llm.Text{Text: g.newText()}}
		for range g.IntN(3) {
			parts = append(parts, g.newMedia())
		}
		ms = append(ms, llm.Message{Role: llm.RoleUser, Parts: parts})
		if g.IntN(5) == 0 {
			ms = append(ms, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: g.newText()}}})
		}
	}
	return ms
}

// newAnswer returns an answer with the results of its calls.
func (g *generator) newAnswer() []llm.Message {
	a := llm.Message{Role: llm.RoleAssistant}
	var results []llm.Message
	for range 1 + g.IntN(4) {
		switch g.IntN(7) {
		case 0, 1:
			a.Parts = append(a.Parts, llm.Text{Text: g.newText()})
		case 2:
			a.Parts = append(a.Parts, g.newReasoning())
		case 3:
			a.Parts = append(a.Parts, g.newHostedCall()...)
		default:
			call := g.newCall()
			a.Parts = append(a.Parts, call)
			results = append(results, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{g.newResult(call)}})
		}
	}
	return append([]llm.Message{a}, results...)
}

func (g *generator) newReasoning() llm.Part {
	r := llm.Reasoning{Text: g.newText()}
	switch g.IntN(4) {
	case 0:
	case 1:
		r.Metadata = llm.Metadata{"another": jsontext.Value(`{"signature":"x"}`)}
	default:
		if g.exam.Metadata != nil {
			r.Metadata = g.exam.Metadata(g.Rand)
		}
	}
	return r
}

func (g *generator) newID() string {
	g.calls++
	return fmt.Sprintf(g.pickText("call_%d", "toolu_01%d", "functions.read:%d", "é %d", strings.Repeat("l", 90)+"%d"),
		g.calls)
}

func (g *generator) newCall() llm.ToolCall {
	return llm.ToolCall{
		ID:    g.newID(),
		Name:  g.pickText("read", "edit", "gone", "multi_tool_use.parallel", "foo bar/é", "1st", strings.Repeat("x", 200)),
		Input: jsontext.Value(g.pickText(`{"path":"a"}`, `{}`, `{"a":{"b":[1,null]}}`, `oops`, ``)),
	}
}

func (g *generator) newResult(c llm.ToolCall) llm.ToolResult {
	r := llm.ToolResult{ID: c.ID, Name: c.Name, IsError: g.IntN(5) == 0}
	for range g.IntN(3) {
		if g.IntN(3) == 0 {
			r.Content = append(r.Content, g.newMedia())
			continue
		}
		r.Content = append(r.Content, llm.Text{Text: g.newText()})
	}
	return r
}

// newHostedCall returns a hosted call, sometimes without its result.
func (g *generator) newHostedCall() []llm.Part {
	id, name := g.newID(), g.pickText("web_search", "code_execution", "image_generation")
	if g.IntN(2) == 0 {
		id = fmt.Sprintf("srvtoolu_%d", g.calls)
	}
	parts := []llm.Part{llm.ToolCall{ID: id, Name: name, Input: jsontext.Value(`{"query":"x"}`), Hosted: true}}
	if g.IntN(4) == 0 {
		return parts
	}
	raw := g.pickText(
		`{"type":"web_search_tool_result","tool_use_id":"`+id+`","content":[]}`, `[1,2]`, `{"status":"completed"}`,
	)
	r := llm.ToolResult{ID: id, Name: name, Hosted: true, Raw: jsontext.Value(raw), IsError: g.IntN(4) == 0}
	if name == llm.ImageTool {
		r.Content = []llm.Part{g.newMedia()}
	}
	return append(parts, r)
}
