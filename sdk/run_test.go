package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// open returns a client of a store whose model plays the answers.
func open(t *testing.T, answers ...cairntest.Answer) *sdk.Client {
	t.Helper()
	model := cairntest.NewModel(answers...).Model()
	return cairntest.Open(t, &embed.Options{Models: []embed.Model{model}}).Client()
}

func newSession(t *testing.T, c *sdk.Client) *sdk.Session {
	t.Helper()
	s, err := c.CreateSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run yields its own events, stored and live, and the ask of a command, which the program answers.
func TestRun(t *testing.T) {
	c := open(
		t,
		cairntest.Turn(
			cairntest.Reasoning("hm"), cairntest.Text("I look."),
			cairntest.Call("bash", map[string]any{"command": "echo hi"}),
		),
		cairntest.Turn(cairntest.Text("It says hi."), cairntest.Usage(sdk.Tokens{Input: 5, Output: 7})),
	)
	s := newSession(t, c)
	var got []string
	for e, err := range s.Run(t.Context(), sdk.Prompt{Text: "look", ID: "msg_1"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case sdk.Asked:
			if err := c.Reply(t.Context(), d.Ask, sdk.ReplyOnce, ""); err != nil {
				t.Fatal(err)
			}
			got = append(got, "asked "+d.Ask.Action+" "+strings.Join(d.Ask.Resources, ","))
		case sdk.PromptAdmitted, sdk.PromptStarted, sdk.TurnStarted, sdk.TextEnded, sdk.ReasoningEnded, sdk.Replied:
			got = append(got, fmt.Sprintf("%T", d))
		case sdk.ToolCalled:
			got = append(got, "called "+d.Tool+" "+string(d.Input))
		case sdk.ToolEnded:
			got = append(got, "ended "+d.Output)
		case sdk.TurnEnded:
			got = append(got, fmt.Sprintf("turn %s %+v", d.Finish, d.Tokens))
		}
	}
	want := []string{
		"sdk.PromptAdmitted", "sdk.PromptStarted", "sdk.TurnStarted", "sdk.ReasoningEnded", "sdk.TextEnded",
		`called bash {"command":"echo hi"}`, "asked bash echo hi", "sdk.Replied", "ended hi\n",
		"turn tool-calls {Input:0 Output:0 Reasoning:0 CacheRead:0 CacheWrite:0}",
		"sdk.TurnStarted", "sdk.TextEnded", "turn stop {Input:5 Output:7 Reasoning:0 CacheRead:0 CacheWrite:0}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A question that waits is listed with the call that asks, as in its event.
func TestQuestions(t *testing.T) {
	c := open(
		t,
		cairntest.Turn(cairntest.Call("question", map[string]any{"questions": []any{
			map[string]any{"question": "Which?", "header": "W", "options": []any{map[string]any{"label": "Red", "description": "warm"}}},
		}})),
		cairntest.Turn(cairntest.Text("Red it is.")),
	)
	s := newSession(t, c)
	answered := 0
	for e, err := range s.Run(t.Context(), sdk.Prompt{Text: "choose"}) {
		if err != nil {
			t.Fatal(err)
		}
		d, ok := e.Data.(sdk.Asked)
		if !ok {
			continue
		}
		list, err := s.Asks(t.Context())
		if err != nil || len(list) != 1 || list[0].CallID == "" || list[0].CallID != d.Ask.CallID {
			t.Errorf("%+v, %v; the event has %+v", list, err, d.Ask)
		}
		if err := c.Answer(t.Context(), d.Ask, []string{"Red"}); err != nil {
			t.Fatal(err)
		}
		answered++
	}
	if answered != 1 {
		t.Errorf("%d questions", answered)
	}
}

// A call of a task with an id that the model made up fails, and the model goes on.
func TestTaskOfMadeUpSession(t *testing.T) {
	for _, id := range []string{"task-1", "ses_a/b", "ses_unknown"} {
		for range 5 { // that the session cannot be followed is known before or after the end of the call
			c := open(
				t,
				cairntest.Turn(cairntest.Call("task", map[string]any{
					"description": "x", "prompt": "y", "subagent_type": "general", "task_id": id,
				})),
				cairntest.Turn(cairntest.Text("Done.")),
			)
			if r, err := newSession(t, c).Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil || r.Text != "Done." {
				t.Errorf("%s: %+v, %v", id, r, err)
			}
		}
	}
}

// Do denies what would be asked, since nobody can answer, and reports how the work came out.
func TestDo(t *testing.T) {
	c := open(
		t,
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo hi"})),
		cairntest.Turn(cairntest.Text("I may not.")),
		cairntest.Fail(errors.New("no such luck")),
	)
	s := newSession(t, c)
	r, err := s.Do(t.Context(), sdk.Prompt{Text: "look"})
	if err != nil {
		t.Fatal(err)
	}
	want := &sdk.Result{
		Text: "I may not.", Agent: "build", Model: "cairn/script", Finish: "stop", Turns: 2, Denied: []string{"bash"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	_, err = s.Do(t.Context(), sdk.Prompt{Text: "again"})
	failed, ok := errors.AsType[*sdk.RunError](err)
	if !ok || !strings.Contains(failed.Message, "no such luck") {
		t.Errorf("a model that fails: %v", err)
	}
}

// A prompt with a schema gets a JSON value.
func TestSchema(t *testing.T) {
	c := open(t, cairntest.Turn(cairntest.Call("StructuredOutput", map[string]any{"answer": 4})))
	r, err := newSession(t, c).Do(t.Context(), sdk.Prompt{
		Text:   "two and two",
		Schema: []byte(`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}`),
	})
	if err != nil || string(r.Value) != `{"answer":4}` {
		t.Errorf("%+v, %v", r, err)
	}
}

// Events replays the log from a position, without gaps, and then follows.
func TestEvents(t *testing.T) {
	c := open(t, cairntest.Turn(cairntest.Text("One.")), cairntest.Turn(cairntest.Text("Two.")))
	s := newSession(t, c)
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull2(s.Events(t.Context(), -1))
	defer stop()
	var seqs []int64
	await := func(text string) {
		t.Helper()
		for {
			e, err, ok := next()
			if err != nil || !ok {
				t.Fatal(err, ok)
			}
			if e.Seq >= 0 {
				seqs = append(seqs, e.Seq)
			}
			if d, ok := e.Data.(sdk.TextEnded); ok && d.Text == text {
				return
			}
		}
	}
	await("One.")
	if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "two"}); err != nil {
		t.Fatal(err)
	}
	await("Two.")
	for i, seq := range seqs {
		if seq != int64(i) {
			t.Fatalf("the seqs are %v", seqs)
		}
	}
}

// An interrupt ends the work that a run waits for.
func TestInterrupt(t *testing.T) {
	started := make(chan struct{})
	model := embed.Model{ID: "slow", Generate: func(ctx context.Context, _ *embed.Request) iter.Seq2[embed.Chunk, error] {
		return func(yield func(embed.Chunk, error) bool) {
			close(started)
			<-ctx.Done()
			yield(embed.Chunk{}, context.Cause(ctx))
		}
	}}
	c := cairntest.Open(t, &embed.Options{Models: []embed.Model{model}}).Client()
	s := newSession(t, c)
	done := make(chan error, 1)
	go func() {
		_, err := s.Do(t.Context(), sdk.Prompt{Text: "go"})
		done <- err
	}()
	<-started
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed, ok := errors.AsType[*sdk.RunError](<-done)
	if !ok || failed.Reason != "aborted" {
		t.Errorf("the run ended with %v", failed)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// A loop that ends early leaves the work to the server.
func TestRunIsLeft(t *testing.T) {
	c := open(t, cairntest.Turn(cairntest.Text("Done.")))
	s := newSession(t, c)
	for range s.Run(t.Context(), sdk.Prompt{Text: "go"}) {
		break
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var last sdk.Message
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		last = m
	}
	if last.Text != "Done." || last.Role != sdk.RoleAssistant {
		t.Errorf("the last message is %+v", last)
	}
}

// Undo takes back a prompt with its files, redo brings both back, and a fork keeps its own history.
func TestUndo(t *testing.T) {
	c := open(
		t,
		cairntest.Turn(cairntest.Call("write", map[string]any{"filePath": "a.txt", "content": "one\n"})),
		cairntest.Turn(cairntest.Text("Written.")),
	)
	s := newSession(t, c)
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "write", Asks: sdk.AskEdits}); err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(info.Directory, "a.txt")
	diff, err := s.Diff(t.Context())
	if err != nil || len(diff) != 1 || diff[0].Status != "added" || diff[0].Additions != 1 {
		t.Errorf("the diff is %+v, %v", diff, err)
	}
	fork, err := s.Fork(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	undone, err := s.Undo(t.Context())
	if err != nil || len(undone.Changed) != 1 {
		t.Fatalf("undo: %+v, %v", undone, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the undo: %v", err)
	}
	if info, err := s.Info(t.Context()); err != nil || !info.Reverted {
		t.Errorf("after the undo: %+v, %v", info, err)
	}
	redone, err := s.Redo(t.Context())
	if err != nil || !slices.Equal(redone.Changed, undone.Changed) {
		t.Errorf("redo: %+v, %v", redone, err)
	}
	if b, err := os.ReadFile(path); string(b) != "one\n" {
		t.Errorf("after the redo: %q, %v", b, err)
	}
	if _, err := s.Redo(t.Context()); !hasCode(err, sdk.CodeConflict) {
		t.Errorf("a second redo: %v", err)
	}
	if n := countMessages(t, fork); n != 3 {
		t.Errorf("the fork has %d messages", n)
	}
}

func countMessages(t *testing.T, s *sdk.Session) (n int) {
	t.Helper()
	for _, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func hasCode(err error, code sdk.Code) bool {
	e, ok := errors.AsType[*sdk.Error](err)
	return ok && e.Code == code
}

// A prompt that is sent again with its id is admitted once: Run and Do return the work that there is, and nothing is
// asked of the model again.
func TestRepeatedPrompt(t *testing.T) {
	model := cairntest.NewModel(cairntest.Turn(cairntest.Text("Done.")))
	c := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}}).Client()
	s := newSession(t, c)
	p := sdk.Prompt{Text: "go", ID: "msg_mine"}
	for range 3 {
		if r, err := s.Do(t.Context(), p); err == nil && r.Text != "Done." || err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		p.Asks = sdk.AskDeny // as Do sets it
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A prompt that waits behind work that is interrupted was not begun: that is an error, not an empty answer.
func TestPromptIsNotBegun(t *testing.T) {
	started := make(chan struct{}, 1)
	model := embed.Model{ID: "slow", Generate: func(ctx context.Context, _ *embed.Request) iter.Seq2[embed.Chunk, error] {
		return func(yield func(embed.Chunk, error) bool) {
			started <- struct{}{}
			<-ctx.Done()
			yield(embed.Chunk{}, context.Cause(ctx))
		}
	}}
	c := cairntest.Open(t, &embed.Options{Models: []embed.Model{model}}).Client()
	s := newSession(t, c)
	if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "first"}); err != nil {
		t.Fatal(err)
	}
	<-started
	next, stop := iter.Pull2(s.Run(t.Context(), sdk.Prompt{Text: "second", Queue: true}))
	defer stop()
	if e, err, _ := next(); err != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		e, err, ok := next()
		if !ok {
			t.Fatal("the run ended without an error")
		}
		if err == nil {
			continue
		}
		failed, isFailure := errors.AsType[*sdk.RunError](err)
		if !isFailure || failed.Reason != "interrupted" || failed.Result.Turns != 0 {
			t.Errorf("%+v, %v", e, err)
		}
		return
	}
}

// The rules of a session win over those of the configuration, and the last one that matches decides.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		rules []sdk.Rule
		ran   bool
	}{
		"the configuration": {nil, false},
		"the session":       {[]sdk.Rule{{Action: "bash", Resource: "*", Effect: sdk.EffectAllow}}, true},
		"the last one": {[]sdk.Rule{
			{Action: "bash", Resource: "*", Effect: sdk.EffectAllow},
			{Action: "bash", Resource: "echo *", Effect: sdk.EffectDeny},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			model := cairntest.NewModel(
				cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo hi"})),
				cairntest.Turn(cairntest.Text("Done.")),
			)
			client := cairntest.Open(t, &embed.Options{
				Models: []embed.Model{model.Model()}, Config: []byte(`{"permission":{"bash":"deny"}}`),
			}).Client()
			s, err := client.CreateSession(t.Context(), &sdk.SessionOptions{Rules: c.rules})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprintf("%+v", model.Requests()[1].Messages[2].Parts[0].Result)
			if strings.Contains(said, "Text:hi\n") != c.ran {
				t.Errorf("the result is %s", said)
			}
		})
	}
}

// An ask is answered by the method for its kind; one without an id is refused before a request is made of it.
func TestInvalidAnswers(t *testing.T) {
	c := open(t)
	asked := sdk.Ask{ID: "a", SessionID: "s", Questions: []sdk.Question{{Text: "which?"}}}
	for name, err := range map[string]error{
		"a reply without an ask":    c.Reply(t.Context(), sdk.Ask{}, sdk.ReplyOnce, ""),
		"an answer without an ask":  c.Answer(t.Context(), sdk.Ask{}),
		"a session only":            c.Answer(t.Context(), sdk.Ask{SessionID: "ses_1", Questions: asked.Questions}),
		"a reply to questions":      c.Reply(t.Context(), asked, sdk.ReplyOnce, ""),
		"an answer to a permission": c.Answer(t.Context(), sdk.Ask{ID: "a", SessionID: "s"}, []string{"x"}),
	} {
		if !hasCode(err, sdk.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The output of a running call reaches those that follow its session, with the id of the session, and nobody else.
func TestOutputIsOfTheSession(t *testing.T) {
	emits := make(chan struct{})
	tool := embed.Tool{Name: "count", Run: func(_ context.Context, c embed.ToolCall) (embed.ToolResult, error) {
		for range emits {
			c.Progress("of " + c.SessionID)
		}
		return embed.ToolResult{Text: "counted"}, nil
	}}
	models := newFuncModel(func(r *embed.Request, yield func(embed.Chunk, error) bool) {
		if len(r.Messages) == 1 {
			yield(embed.Chunk{Call: &embed.Call{Tool: "count"}}, nil)
		} else {
			yield(embed.Chunk{Text: "Done."}, nil)
		}
	})
	c := cairntest.Open(t, &embed.Options{Models: []embed.Model{models}, Tools: []embed.Tool{tool}}).Client()
	other, own := newSession(t, c), newSession(t, c)
	if _, err := other.Prompt(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	// Both calls show their output, until enough of that was seen of the own one.
	seen, shown := make(chan struct{}), 0
	go func() { // ends with the last output
		defer close(emits)
		for {
			select {
			case emits <- struct{}{}:
			case <-seen:
				return
			}
		}
	}()
	for e, err := range own.Run(t.Context(), sdk.Prompt{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		d, ok := e.Data.(sdk.ToolProgress)
		if !ok {
			continue
		}
		if d.SessionID != own.ID() || d.Output != "of "+own.ID() {
			t.Errorf("the output %+v", d)
		}
		if shown++; shown == 2 {
			close(seen)
		}
	}
}

// newFuncModel returns a model that does what its function does with each request.
func newFuncModel(f func(r *embed.Request, yield func(embed.Chunk, error) bool)) embed.Model {
	return embed.Model{ID: "m", Generate: func(_ context.Context, r *embed.Request) iter.Seq2[embed.Chunk, error] {
		return func(yield func(embed.Chunk, error) bool) { f(r, yield) }
	}}
}

// A position behind the newest event is refused in the words of Events.
func TestEventsBehindTheNewest(t *testing.T) {
	s := newSession(t, open(t))
	for _, err := range s.Events(t.Context(), 1000) {
		var e *sdk.Error
		if !errors.As(err, &e) || e.Code != sdk.CodeConflict || e.Field != "after" ||
			e.Message != "after is greater than the Seq of the newest event, 0" {
			t.Errorf("%#v", err)
		}
	}
}
