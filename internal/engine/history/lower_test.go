package history

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkLegal checks what the strictest provider accepts: roles in their places, no empty message or part, unique call
// ids, and exactly one result for every local call before any other message.
func checkLegal(ms []llm.Message) error {
	used := map[string]bool{}
	open := map[string]bool{} // local calls without their result
	for i, m := range ms {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if len(open) > 0 && m.Role != llm.RoleTool {
			return fmt.Errorf("message %d of role %s comes before the results of %v", i, m.Role, open)
		}
		for _, p := range m.Parts {
			if err := checkPart(m.Role, p, used, open); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v have no result", open)
	}
	return nil
}

func checkPart(role llm.Role, p llm.Part, used, open map[string]bool) error {
	switch p := p.(type) {
	case llm.Text:
		if p.Text == "" || !utf8.ValidString(p.Text) || role == llm.RoleTool {
			return fmt.Errorf("text %q in role %s", p.Text, role)
		}
	case llm.Media:
		if role != llm.RoleUser || len(p.Data) == 0 && p.URL == "" {
			return fmt.Errorf("media %s of %d bytes in role %s", p.MediaType, len(p.Data), role)
		}
	case llm.Reasoning:
		if role != llm.RoleAssistant || p.Text == "" && len(p.Metadata) == 0 {
			return fmt.Errorf("reasoning %q in role %s", p.Text, role)
		}
	case llm.ToolCall:
		named := p.ID != "" && !used[p.ID] && p.Name != ""
		if role != llm.RoleAssistant || !named || p.Input.Kind() != '{' || !p.Input.IsValid() {
			return fmt.Errorf("the call %+v in role %s, its id used %v", p, role, used[p.ID])
		}
		used[p.ID] = true
		if !p.Hosted {
			open[p.ID] = true
		}
	case llm.ToolResult:
		switch {
		case p.Hosted != (role == llm.RoleAssistant) || !p.Hosted && role != llm.RoleTool:
			return fmt.Errorf("a result in role %s, hosted %v", role, p.Hosted)
		case !p.Hosted && !open[p.ID], p.Hosted && !used[p.ID]:
			return fmt.Errorf("a result of %s, which was not called or has one", p.ID)
		case len(p.Content) == 0 && len(p.Raw) == 0:
			return fmt.Errorf("an empty result of %s", p.ID)
		}
		delete(open, p.ID)
		for _, c := range p.Content {
			if t, ok := c.(llm.Text); ok && t.Text == "" {
				return fmt.Errorf("a result of %s with empty text", p.ID)
			}
		}
	default:
		return fmt.Errorf("a part of type %T", p)
	}
	return nil
}

// Any log, cut anywhere, lowers to a conversation that a model accepts.
func TestLowerIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		model := &scope.Model{
			Ref:    session.ModelRef{ID: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "asked"), ProviderID: "p"},
			Images: rapid.Bool().Draw(t, "images"), Documents: rapid.Bool().Draw(t, "documents"),
		}
		var ms []session.Message
		for i, d := range log {
			ms = foldEvent(ms, d, int64(i))
			out := Lower(ms, model)
			if err := checkLegal(out); err != nil {
				t.Fatalf("after %d events, the newest %s: %v", i+1, d.Kind(), err)
			}
			if err := checkOpaque(ms, out, model); err != nil {
				t.Fatalf("after %d events: %v", i+1, err)
			}
		}
	})
}

// foldEvent folds one event into the messages, as the projections do.
func foldEvent(ms []session.Message, d session.EventData, seq int64) []session.Message {
	if m := session.Begin(d, seq); m != nil {
		return append(ms, m)
	}
	for _, m := range ms {
		if a, ok := m.(*session.Assistant); ok {
			a.Apply(d)
		}
	}
	return ms
}

// checkOpaque checks that opaque data goes only to the model that produced it, and only from turns that ended well.
func checkOpaque(ms []session.Message, out []llm.Message, model *scope.Model) error {
	allowed := map[string]bool{}
	for _, m := range ms {
		if a, ok := m.(*session.Assistant); ok && a.Model.ID == model.Ref.ID && a.Error == nil {
			allowed[string(a.ID)] = true
		}
	}
	check := func(meta llm.Metadata) error {
		if of, ok := meta["of"]; ok && !allowed[string(of[1:len(of)-1])] {
			return fmt.Errorf("opaque data of %s was sent to %s", of, model.Ref)
		}
		return nil
	}
	for _, m := range out {
		for _, p := range m.Parts {
			var err error
			switch p := p.(type) {
			case llm.Text:
				err = check(p.Metadata)
			case llm.Reasoning:
				err = check(p.Metadata)
			case llm.ToolCall:
				err = check(p.Metadata)
			case llm.ToolResult:
				err = check(p.Metadata)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// randomLog draws events that fit each other most of the time.
func randomLog(t *rapid.T) []session.EventData {
	text := rapid.SampledFrom([]string{"", "a", " ", "é\n", "long enough"})
	raw := func(of session.MessageID) jsontext.Value {
		return rapid.SampledFrom(
			[]jsontext.Value{nil, jsontext.Value(fmt.Sprintf(`{"of":%q}`, of)), jsontext.Value(`"x"`), jsontext.Value(`null`)},
		).Draw(t, "meta")
	}
	input := rapid.SampledFrom(
		[]jsontext.Value{
			nil, jsontext.Value(`{}`), jsontext.Value(`{"a":1}`), jsontext.Value(`[1]`), jsontext.Value(`"x"`),
			jsontext.Value(`null`),
		},
	)
	content := func() []session.ToolContent {
		return rapid.SliceOfN(rapid.SampledFrom([]session.ToolContent{
			{Type: "text"},
			{Type: "text", Text: "x"},
			{Type: "file", URI: "data:image/png;base64,AAAA", Mime: "image/png"},
			{Type: "file", URI: "file:///x"},
			{Type: "file", URI: "data:,", Mime: "image/png"},
			{Type: "odd", Text: "y"},
			{Type: "file", URI: "data:text/plain;base64,/w==", Mime: "text/plain"},
		}), 0, 3).Draw(t, "content")
	}
	files := rapid.SliceOfN(rapid.SampledFrom([]session.File{
		{URI: "file:///x/y.go"},
		{URI: "data:image/png;base64,AAAA"},
		{URI: "data:image/png;base64,"},
		{URI: "data:image/png;base64,!!"},
		{URI: "data:text/plain,hi%20there"},
		{URI: "data:application/pdf;base64,AAAA", Name: "d.pdf"},
		{URI: "data:nothing"},
		{URI: ""},
		{URI: "data:application/json,%7b"},
	}), 0, 3)
	reason := rapid.SampledFrom(
		[]session.Reason{session.ReasonAborted, session.ReasonAPI, session.ReasonInterrupted, session.ReasonDenied},
	)
	var log []session.EventData
	turn, part := session.MessageID("msg_0"), 0
	some := func() session.PartID {
		return session.PartID(fmt.Sprint("prt_", rapid.IntRange(max(0, part-3), part).Draw(t, "part")))
	}
	call := func() string { return rapid.SampledFrom([]string{"", "c", "c", "c_2", "d"}).Draw(t, "call") }
	for i := range rapid.IntRange(1, 40).Draw(t, "length") {
		next := session.MessageID(fmt.Sprint("msg_", i))
		kind := rapid.IntRange(0, 19).Draw(t, "kind")
		hosted := session.CallProvider{Executed: rapid.IntRange(0, 3).Draw(t, "hosted") == 0, Metadata: raw(turn)}
		switch kind {
		case 0:
			log = append(
				log,
				&session.Prompted{
					MessageID: next, Prompt: session.Prompt{Text: text.Draw(t, "text"), Files: files.Draw(t, "files")},
				},
			)
		case 1:
			log = append(log, &session.SyntheticAdded{MessageID: next, Text: text.Draw(t, "text")})
		case 2:
			log = append(log, &session.ContextUpdated{MessageID: next, Text: text.Draw(t, "text")})
		case 3:
			log = append(log, &session.ShellStarted{MessageID: next, Command: text.Draw(t, "text")})
		case 4:
			log = append(
				log, &session.CompactionEnded{MessageID: next, Text: text.Draw(t, "text"), Recent: text.Draw(t, "recent")},
			)
		case 5:
			log = append(log, &session.AgentSwitched{MessageID: next, Agent: "x"}, &session.ModelSwitched{MessageID: next + "m"})
		case 6, 7, 8:
			turn = next
			log = append(
				log,
				&session.StepStarted{
					TurnFact: session.OfTurn(turn),
					Model:    session.ModelRef{ID: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "model"), ProviderID: "p"},
				},
			)
		case 9:
			part++
			log = append(log, &session.TextStarted{TurnFact: session.OfTurn(turn), PartID: some()})
		case 10:
			log = append(
				log,
				&session.TextEnded{
					TurnFact: session.OfTurn(turn), PartID: some(), Text: text.Draw(t, "text"), ProviderMetadata: raw(turn),
				},
			)
		case 11:
			part++
			log = append(
				log, &session.ReasoningStarted{TurnFact: session.OfTurn(turn), PartID: some(), ProviderMetadata: raw(turn)},
			)
		case 12:
			log = append(
				log,
				&session.ReasoningEnded{
					TurnFact: session.OfTurn(turn), PartID: some(), Text: text.Draw(t, "text"), ProviderMetadata: raw(turn),
				},
			)
		case 13, 14:
			part++
			p := some()
			log = append(
				log,
				&session.ToolInputStarted{
					TurnFact: session.OfTurn(turn), CallID: call(), PartID: p,
					Name: rapid.SampledFrom([]string{"", "read"}).Draw(t, "name"),
				},
			)
			if rapid.Bool().Draw(t, "called") {
				log = append(
					log,
					&session.ToolCalled{
						TurnFact: session.TurnFact{Fact: session.Fact{Timestamp: 1}, AssistantMessageID: turn}, PartID: p, Tool: "read",
						Input: input.Draw(t, "input"), Provider: hosted,
					},
				)
			}
		case 15:
			log = append(
				log,
				&session.ToolInputEnded{
					TurnFact: session.OfTurn(turn), PartID: some(),
					Text: rapid.SampledFrom([]string{"", "{", `{"a":1}`, "[]"}).Draw(t, "raw"),
				},
			)
		case 16:
			log = append(
				log,
				&session.ToolSuccess{
					TurnFact: session.OfTurn(turn), PartID: some(), Content: content(), Structured: input.Draw(t, "structured"),
					Result: input.Draw(t, "result"), Provider: hosted,
				},
			)
		case 17:
			log = append(
				log,
				&session.ToolFailed{
					TurnFact: session.OfTurn(turn), PartID: some(),
					Error: *session.Fail(reason.Draw(t, "reason"), text.Draw(t, "text")), Provider: hosted,
				},
			)
		case 18:
			log = append(
				log,
				&session.StepEnded{
					TurnFact: session.TurnFact{Fact: session.Fact{Timestamp: 1}, AssistantMessageID: turn}, Finish: "stop",
				},
			)
		case 19:
			log = append(
				log,
				&session.StepFailed{
					TurnFact: session.TurnFact{Fact: session.Fact{Timestamp: 1}, AssistantMessageID: turn},
					Error:    *session.Fail(reason.Draw(t, "reason"), "x"),
				},
			)
		}
	}
	return log
}

// BenchmarkLower is the cost of a request's messages in a conversation of a thousand turns with a call each.
func BenchmarkLower(b *testing.B) {
	var ms []session.Message
	for i := range 1000 {
		m, part := session.MessageID(fmt.Sprint("msg_", i)), session.PartID(fmt.Sprint("prt_", i))
		ms = foldEvent(ms, &session.Prompted{MessageID: m + "u", Prompt: session.Prompt{Text: "go on"}}, int64(i))
		a := session.Begin(
			&session.StepStarted{TurnFact: session.OfTurn(m), Model: session.ModelRef{ID: "one", ProviderID: "p"}}, int64(i),
		).(*session.Assistant)
		for _, d := range []session.EventData{
			&session.ToolInputStarted{TurnFact: session.OfTurn(m), CallID: "c", PartID: part, Name: "read"},
			&session.ToolCalled{
				TurnFact: session.OfTurn(m), CallID: "c", PartID: part, Tool: "read", Input: jsontext.Value(`{"path":"x"}`),
			},
			&session.ToolSuccess{
				TurnFact: session.OfTurn(m), CallID: "c", PartID: part, Content: session.TextContent("some text"),
			},
			&session.StepEnded{TurnFact: session.OfTurn(m), Finish: "tool-calls"},
		} {
			a.Apply(d)
		}
		ms = append(ms, a)
	}
	model := &scope.Model{Ref: session.ModelRef{ID: "one", ProviderID: "p"}}
	b.ReportAllocs()
	for b.Loop() {
		Lower(ms, model)
	}
}

func TestLowerHostedResult(t *testing.T) {
	page := jsontext.Value(`[{"title":"A"}]`)
	search := &session.Tool{
		ID: "srvtoolu_1", Name: "web_search", Provider: &session.ToolProvider{Executed: true},
		State: session.ToolState{
			Status: session.ToolCompleted, Input: jsontext.Value(`{}`), Result: page, Structured: jsontext.Value(`{}`),
		},
	}
	for _, asked := range []session.ModelRef{{ID: "a", ProviderID: "b"}, {
		ID: "other", ProviderID: "b",
	}, {ID: "a", ProviderID: "other"}} {
		out := Lower(
			[]session.Message{
				&session.Assistant{Model: session.ModelRef{ID: "a", ProviderID: "b"}, Content: []session.Content{search}},
			},
			&scope.Model{Ref: asked},
		)
		want := []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.ToolCall{
				ID: "srvtoolu_1", Name: "web_search", Input: jsontext.Value(`{}`), Hosted: true,
				OtherProvider: asked.ProviderID == "other",
			},
			llm.ToolResult{ID: "srvtoolu_1", Name: "web_search", Hosted: true, Raw: page},
		}}}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("for the model %s (-want +got):\n%s", asked, diff)
		}
	}
}

// Protocols concatenate the texts of a message, so text after text begins after a blank line.
func TestAttachmentsStandApartFromTheText(t *testing.T) {
	files := []session.File{
		{URI: "file:///a%20b.go"},
		{URI: "data:text/plain,hi", Name: "n"},
		{URI: dataOf("image/png", pngHead)},
		{URI: "file:///c"},
		{URI: "file:///d", Text: "1: d"},
		{URI: "https://a.org/e"},
	}
	agents := []session.AgentMention{{Name: "explore"}}
	prompt := &session.User{Text: "x", Files: files, Agents: agents}
	got := Lower([]session.Message{prompt}, &scope.Model{Images: true})
	want := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
		llm.Text{
			Text: "x\n\n[The user refers to the file /a b.go. Read it with a tool if you need it.]\n\n" +
				"<file name=\"n\">\nhi\n</file>",
		},
		llm.Media{MediaType: "image/png", Data: []byte(pngHead), Name: "attachment"},
		llm.Text{
			Text: "[The user refers to the file /c. Read it with a tool if you need it.]\n\n" +
				"[The user attached /d. The tool read says of it:]\n1: d\n\n" +
				"[The user refers to the page https://a.org/e, which was not fetched.]\n\n" +
				session.MentionText(session.AgentMention{Name: "explore"}),
		},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A turn of thoughts only, such as an interrupted one, is left out: without its thoughts it would be an empty answer.
// One that its provider paused goes back.
func TestTurnsOfThoughtsOnly(t *testing.T) {
	turn := func(finish string, c ...session.Content) session.Message {
		return &session.Assistant{Content: append(c, &session.Reasoning{Text: "Hm."}), Finish: finish}
	}
	got := Lower([]session.Message{
		&session.User{Text: "a"}, turn(""), &session.User{Text: "b"}, turn("stop", &session.Text{Text: "c"}),
		turn(session.FinishPaused),
	}, &scope.Model{})
	want := []llm.Message{
		{Role: llm.RoleUser, Parts: TextParts("a")},
		{Role: llm.RoleUser, Parts: TextParts("b")},
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "c"}, llm.Reasoning{Text: "Hm."}}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Reasoning{Text: "Hm."}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The output of a pruned call is not sent again: the model reads that it was removed, and where it still is.
func TestPrunedOutputs(t *testing.T) {
	for name, c := range map[string]struct {
		tool session.Tool
		want string
	}{
		"without a file": {session.Tool{}, "removed from the conversation to save space. Call the tool again"},
		"with a file": {
			session.Tool{State: session.ToolState{OutputPaths: []string{"/out/1"}}}, "To see it again, read /out/1.]",
		},
		"failed": {
			session.Tool{State: session.ToolState{Status: session.ToolError, Error: session.Fail("tool", "no such file")}},
			"no such file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := c.tool
			call.Name, call.Time = "read", session.ToolTime{Ran: 1, Completed: 2, Pruned: 3}
			call.State.Status = stdcmp.Or(call.State.Status, session.ToolCompleted)
			call.State.Content = session.TextContent("the old output")
			out := Lower([]session.Message{&session.Assistant{Content: []session.Content{&call}}}, &scope.Model{})
			r, _ := out[1].Parts[0].(llm.ToolResult)
			text, _ := r.Content[0].(llm.Text)
			if !strings.Contains(text.Text, c.want) || name != "failed" && len(r.Content) != 1 {
				t.Errorf("the model reads %+v, want %q", r.Content, c.want)
			}
		})
	}
}
