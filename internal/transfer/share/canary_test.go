package share_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/canary"
)

// plant adds a turn with the text in all places: in the title, a prompt, its instructions, an attachment, reasoning, an
// answer, an error, a todo, a diff, the whole session's diff, and in the input, the title, the progress, the output,
// the diff, the metadata and the attachments of calls.
func (w *world) plant(n int, text string) {
	w.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		w.t.Fatal(err)
	}
	prompt, answer := session.MessageID(fmt.Sprintf("msg_%04da", n)), session.MessageID(fmt.Sprintf("msg_%04db", n))
	turn := session.TurnFact{AssistantMessageID: answer}
	model := session.ModelRef{ProviderID: "p", ID: fmt.Sprintf("m%d", n)} // a new one, so that the list is sent
	part := func(i int) session.PartID { return session.PartID(fmt.Sprintf("prt_%04d%d", n, i)) }
	value := jsontext.Value(`{"value":` + string(quoted) + `,"diff":` + string(quoted) + `,"list":[` + string(quoted) + `]}`)
	attached := session.File{
		URI: "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(text)), Mime: "text/plain", Name: "a.env",
	}
	content := []session.ToolContent{{Type: "text", Text: text}}
	diff := []session.ChangedFile{{Path: "a", Patch: text, Additions: 1}}
	w.add(
		"ses_a",
		&session.Renamed{Title: text, By: "user"},
		&session.Prompted{MessageID: prompt, Delivery: session.Steer, Prompt: session.Prompt{
			Text: text, System: text, Files: []session.File{attached}, Model: &model,
		}},
		&session.StepStarted{TurnFact: turn, Agent: "build", Model: model, ParentID: prompt, StartID: part(0)},
		&session.ReasoningStarted{TurnFact: turn, ReasoningID: "r", PartID: part(1)},
		&session.ReasoningEnded{TurnFact: turn, ReasoningID: "r", PartID: part(1), Text: text, ProviderMetadata: value},
		&session.TextStarted{TurnFact: turn, TextID: "t", PartID: part(2)},
		&session.TextEnded{TurnFact: turn, TextID: "t", PartID: part(2), Text: text, ProviderMetadata: value},
		&session.ToolInputStarted{TurnFact: turn, CallID: "c", PartID: part(3), Name: "bash"},
		&session.ToolInputEnded{TurnFact: turn, CallID: "c", PartID: part(3), Text: string(value)},
		&session.ToolCalled{TurnFact: turn, CallID: "c", PartID: part(3), Tool: "bash", Input: value},
		&session.ToolProgress{TurnFact: turn, CallID: "c", PartID: part(3), Structured: value, Content: content, Title: text},
		&session.ToolSuccess{
			TurnFact: turn, CallID: "c", PartID: part(3), Structured: value, Content: content, Title: text,
			Attachments: []session.File{attached},
		},
		&session.ToolInputStarted{TurnFact: turn, CallID: "d", PartID: part(4), Name: "read"},
		&session.ToolCalled{TurnFact: turn, CallID: "d", PartID: part(4), Tool: "read", Input: value},
		&session.ToolFailed{
			TurnFact: turn, CallID: "d", PartID: part(4), Error: session.Failure{Type: "unknown", Message: text}, Structured: value,
		},
		&session.StepFailed{TurnFact: turn, Error: session.Failure{Type: "unknown", Message: text}, EndID: part(5)},
		&session.TodosSet{Todos: []session.Todo{{Content: text, Status: "pending"}}},
		&session.DiffUpdated{MessageID: prompt, Diffs: diff, Session: diff},
	)
}

// A server gets no secret of a session, wherever it is: the server is not the user's.
func TestSharesHideSecrets(t *testing.T) {
	play(t, func(w *world) {
		var text string
		w.models = func([]session.ModelRef) ([]opencode.ModelInfo, error) {
			quoted, _ := json.Marshal(text)
			return []opencode.ModelInfo{{
				ID: "m", ProviderID: "p", Name: text, Options: map[string]jsontext.Value{"extra": quoted},
				Headers:  map[string]string{"X-Extra": text, "X-Api-Key": "harmless-but-named"},
				Variants: jsontext.Value(`{"v":{"note":` + string(quoted) + `}}`),
			}}, nil
		}
		w.share(remote)
		w.settle(time.Second)
		var all []canary.Canary
		for _, c := range canary.List() { // as they are, and as grep shows them
			coloured := canary.Canary{Kind: c.Kind + ", coloured", Text: "\x1b[01;31m\x1b[K" + c.Text + "\x1b[m\x1b[K", Secrets: c.Secrets}
			all = append(all, c, coloured)
		}
		for n, c := range all {
			text = c.Text
			before := len(w.server.Requests())
			w.plant(n, c.Text)
			w.settle(time.Second)
			// Decode everything that was sent, as its recipient would.
			var sent bytes.Buffer
			kinds := map[string]int{}
			for _, r := range w.server.Requests()[before:] {
				for _, i := range r.Items {
					kinds[i.Type]++
					sent.Write(append(i.Data, '\n'))
				}
			}
			texts, err := canary.ReadTexts(sent.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(sent.Bytes(), []byte("harmless-but-named")) {
				t.Fatal("the value of a header with the name of a secret was sent")
			}
			if leak := c.FindLeak(texts); leak != "" {
				t.Errorf("%s: %q was sent:\n%s", c.Kind, leak, sent.String())
			}
			if kinds["session"] == 0 || kinds["message"] < 2 || kinds["part"] < 6 || kinds["session_diff"] == 0 || kinds["model"] == 0 {
				t.Fatalf("%s: %v were sent", c.Kind, kinds)
			}
			if marks := bytes.Count(sent.Bytes(), []byte("[redacted]")); marks < 15 {
				t.Errorf("%s: %d texts had a secret, want at least 15:\n%s", c.Kind, marks, sent.String())
			}
		}
	})
}
