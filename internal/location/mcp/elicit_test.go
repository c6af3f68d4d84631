package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// elicitWorld is a location whose server asks what a test says, and returns what it was answered.
func elicitWorld(t *testing.T, p *sdk.ElicitParams) *world {
	t.Helper()
	s := newGoodServer()
	addTool(s, "ask", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		answer, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return "error: " + err.Error(), nil
		}
		return answer.Action + " " + mustJSON(answer.Content), nil
	})
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, s)})
	w.connect("one")
	return w
}

// answer answers questions, which it stores, with answers.
func answer(asked *[]session.Question, answers [][]string, err error) func(*tool.Call) {
	return func(c *tool.Call) {
		c.Question = func(_ context.Context, qs []session.Question) ([][]string, error) {
			*asked = qs
			return answers, err
		}
	}
}

func TestElicitationOfAForm(t *testing.T) {
	t.Parallel()
	w := elicitWorld(t, &sdk.ElicitParams{Message: "Book \x1b[2Ja table", RequestedSchema: jsontext.Value(`{
		"type":"object","required":["name","size"],"properties":{
			"name":{"type":"string","title":"Your name","description":"as on the card"},
			"guests":{"type":"integer","description":"how many"},
			"price":{"type":"number"},
			"smoking":{"type":"boolean"},
			"size":{"type":"string","enum":["small","large"]},
			"city":{"type":"string","oneOf":[{"const":"b","title":"Berlin"},{"const":"p","title":"Paris"}]},
			"extras":{"type":"array","items":{"type":"string","enum":["wine","bread"]}}
		}}`)})
	var asked []session.Question
	answers := [][]string{{"Ada"}, {"3"}, {"9.5"}, {"true"}, {"large"}, {"b"}, {"wine", "bread"}}
	got := w.text("one_ask", `{}`, answer(&asked, answers, nil))
	want := `accept {"city":"b","extras":["wine","bread"],"guests":3,"name":"Ada","price":9.5,"size":"large",` +
		`"smoking":true}`
	if got != want {
		t.Errorf("the server got %s", got)
	}
	no := false
	options := func(labels ...string) (out []session.Option) {
		for _, l := range labels {
			label, title, _ := strings.Cut(l, "=")
			out = append(out, session.Option{Label: label, Description: title})
		}
		return out
	}
	wantQuestions := []session.Question{
		{Header: "one", Question: "Book \uFFFD[2Ja table\nYour name (required): as on the card"},
		{Header: "one", Question: "guests: how many"},
		{Header: "one", Question: "price"},
		{Header: "one", Question: "smoking", Options: options("true", "false"), Custom: &no},
		{Header: "one", Question: "size (required)", Options: options("small", "large"), Custom: &no},
		{Header: "one", Question: "city", Options: options("b=Berlin", "p=Paris"), Custom: &no},
		{Header: "one", Question: "extras", Options: options("wine", "bread"), Multiple: true, Custom: &no},
	}
	if diff := cmp.Diff(wantQuestions, asked); diff != "" {
		t.Errorf("the questions (-want +got):\n%s", diff)
	}
}

func TestElicitationOutcomes(t *testing.T) {
	t.Parallel()
	ask := func(message, properties string) *sdk.ElicitParams {
		schema := jsontext.Value(`{"type":"object","properties":` + properties + `}`)
		return &sdk.ElicitParams{Message: message, RequestedSchema: schema}
	}
	form := ask("Name?", `{"n":{"type":"integer"}}`)
	page := &sdk.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://example.com/in", ElicitationID: "1"}
	confirm := ask("Really?", `{}`)
	wrong := ask("Really?", `{"a":null}`)
	for name, test := range map[string]struct {
		params  *sdk.ElicitParams
		answers [][]string
		err     error
		want    string
	}{
		"dismissed":       {form, nil, &tool.Denial{Action: "question"}, "cancel {}"},
		"no person":       {form, nil, &tool.Denial{Action: "question", ByPolicy: true}, "decline {}"},
		"not a number":    {form, [][]string{{"many"}}, nil, "does not match requested schema"},
		"left empty":      {form, [][]string{nil}, nil, "accept {}"},
		"page":            {page, [][]string{{"Done"}}, nil, "accept {}"},
		"page declined":   {page, [][]string{{"Decline"}}, nil, "decline {}"},
		"page dismissed":  {page, nil, &tool.Denial{Action: "question"}, "cancel {}"},
		"accepted":        {confirm, [][]string{{"Accept"}}, nil, "accept {}"},
		"declined":        {confirm, [][]string{{"Decline"}}, nil, "decline {}"},
		"another text":    {confirm, [][]string{{"perhaps"}}, nil, "decline {}"},
		"property is nil": {wrong, [][]string{{"x"}}, nil, "schema at /properties/a is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := elicitWorld(t, test.params)
			var asked []session.Question
			got := w.text("one_ask", `{}`, answer(&asked, test.answers, test.err))
			if !strings.Contains(got, test.want) {
				t.Errorf("the server got %q, want %q", got, test.want)
			}
		})
	}
}

// The question of a call ends with it, so that nothing waits for an answer.
func TestElicitationEndsWithTheCall(t *testing.T) {
	t.Parallel()
	w := elicitWorld(t, &sdk.ElicitParams{Message: "Hello?", RequestedSchema: map[string]any{"type": "object"}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	got := w.callIn(ctx, "one_ask", `{}`, func(c *tool.Call) {
		c.Question = func(ctx context.Context, _ []session.Question) ([][]string, error) {
			cancel()
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}
	})
	<-ended
	if got.Error == nil || got.Error.Reason != session.ReasonAborted {
		t.Errorf("the outcome is %+v", got)
	}
}

// Without a call, a server gets no answer from a person.
func TestElicitationWithoutACall(t *testing.T) {
	t.Parallel()
	s := newGoodServer()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, s)})
	w.connect("one")
	asked := 0
	for open := range s.Sessions() {
		if init := open.InitializeParams(); init == nil || init.Capabilities == nil || init.Capabilities.Elicitation == nil {
			continue // of a request without a session, which may not have ended
		}
		asked++
		p := &sdk.ElicitParams{Message: "Hello?", RequestedSchema: map[string]any{"type": "object"}}
		r, err := open.Elicit(t.Context(), p)
		if err != nil || r.Action != "decline" {
			t.Errorf("the server got %+v, %v", r, err)
		}
	}
	if asked != 1 {
		t.Errorf("%d sessions were asked", asked)
	}
}

// A server that asks for very much asks for a part of it.
func TestElicitationIsBounded(t *testing.T) {
	t.Parallel()
	members := map[string]any{}
	for i := range 50 {
		members[fmt.Sprintf("f%02d", i)] = map[string]any{"type": "string", "description": strings.Repeat("x", 1<<16)}
	}
	w := elicitWorld(t, &sdk.ElicitParams{
		Message: strings.Repeat("m", 1<<16), RequestedSchema: map[string]any{"type": "object", "properties": members},
	})
	var asked []session.Question
	w.text("one_ask", `{}`, answer(&asked, nil, nil))
	size := 0
	for _, q := range asked {
		size += len(q.Question)
	}
	if len(asked) != 8 || size > 20_000 {
		t.Errorf("%d questions of %d bytes", len(asked), size)
	}
}

// A server that works for two sessions cannot ask: it does not say for which one.
func TestElicitationOfTwoSessions(t *testing.T) {
	t.Parallel()
	s := newGoodServer()
	waiting := make(chan struct{})
	end := make(chan struct{})
	addTool(s, "wait", func(context.Context, *sdk.CallToolRequest) (string, error) {
		close(waiting)
		<-end
		return "", nil
	})
	addTool(s, "ask", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		p := &sdk.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}}
		answer, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return "", err
		}
		return answer.Action, nil
	})
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, s)})
	w.connect("one")
	var asked []session.Question
	as := func(id session.ID) func(*tool.Call) {
		return func(c *tool.Call) {
			c.SessionID = id
			answer(&asked, [][]string{{"Accept"}}, nil)(c)
		}
	}
	var other sync.WaitGroup
	other.Go(func() { w.call("one_wait", `{}`, as("ses_1")) })
	<-waiting
	if got := w.text("one_ask", `{}`, as("ses_2")); got != "decline" || asked != nil {
		t.Errorf("with two sessions the server got %s, asked %v", got, asked)
	}
	if got := w.text("one_ask", `{}`, as("ses_1")); got != "accept" {
		t.Errorf("with one session the server got %s", got)
	}
	close(end)
	other.Wait()
}

// While a question is open, the server's next one is declined.
func TestOneElicitationAtATime(t *testing.T) {
	t.Parallel()
	s := newGoodServer()
	addTool(s, "ask", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		p := &sdk.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}}
		answer, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return "", err
		}
		return answer.Action, nil
	})
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": serveHTTP(t, s)})
	w.connect("one")
	second := ""
	got := w.text("one_ask", `{}`, func(c *tool.Call) {
		c.Question = func(context.Context, []session.Question) ([][]string, error) {
			second = w.text("one_ask", `{}`, answer(new([]session.Question), [][]string{{"Accept"}}, nil))
			return [][]string{{"Accept"}}, nil
		}
	})
	if got != "accept" || second != "decline" {
		t.Errorf("the first got %s, the second %s", got, second)
	}
}

func TestElicitationWithManyOptions(t *testing.T) {
	t.Parallel()
	values := make([]any, 1000)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	w := elicitWorld(t, &sdk.ElicitParams{Message: "?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "enum": values}},
	}})
	var asked []session.Question
	if got := w.text("one_ask", `{}`, answer(&asked, [][]string{{"999"}}, nil)); got != `accept {"a":"999"}` {
		t.Errorf("the server got %s", got)
	}
	if len(asked[0].Options) != 50 || asked[0].Custom != nil {
		t.Errorf("the question is %+v", asked)
	}
}
