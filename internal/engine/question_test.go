package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
)

const whichColour = `{"turns": [
	{"steps": [{"call": {"id": "q", "name": "question", "arguments": {"questions": [
		{"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue", "description": "cold"}], "custom": true},
		{"question": "Which sizes?", "header": "Sizes", "options": [{"label": "S"}, {"label": "L"}], "multiple": true, "custom": false}]}}}]},
	{"repeat": true, "steps": [{"text": "ok"}]}]}`

// newQuestionWorld returns a world in which the model has asked its questions, under the policy.
func newQuestionWorld(t *testing.T, asks session.AskPolicy) *world {
	t.Helper()
	s, err := script.Parse([]byte(whichColour))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, s)
	if _, err := w.tools.Register(dialog.New()...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Commands.CreateSession(t.Context(),
		admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Commands.AdmitPrompt(t.Context(),
		admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "hi"}, Asks: asks}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return w
}

func pendingQuestion(t *testing.T, w *world) session.PendingAsk {
	t.Helper()
	rows, err := w.engine.Asks.List(t.Context(), "ses_a")
	if err != nil || len(rows) != 1 || !rows[0].IsQuestion() ||
		!strings.HasPrefix(string(rows[0].ID), string(session.PrefixQuestion)) ||
		len(rows[0].Questions) != 2 || rows[0].Questions[0].Custom != nil || rows[0].Questions[1].AllowsCustom() {
		t.Fatalf("%+v, %v", rows, err)
	}
	return rows[0].PendingAsk
}

func messagesOf(t *testing.T, w *world) (ms []session.Message) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) (err error) {
		ms, err = store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// lastText returns the last text of the model, "" if it has not continued after its call.
func lastText(t *testing.T, w *world) string {
	t.Helper()
	ms := messagesOf(t, w)
	if a, ok := ms[len(ms)-1].(*session.Assistant); ok && len(a.Content) > 0 {
		if text, ok := a.Content[0].(*session.Text); ok {
			return text.Text
		}
	}
	return ""
}

// calledTool returns the only call of the session.
func calledTool(t *testing.T, w *world) *session.Tool {
	t.Helper()
	for _, m := range messagesOf(t, w) {
		if a, ok := m.(*session.Assistant); ok && len(a.Tools()) > 0 {
			return a.Tools()[0]
		}
	}
	t.Fatal("the session has no call")
	return nil
}

// A question waits without limit, also across a restart, and is answered once.
func TestQuestion(t *testing.T) {
	for _, end := range []string{"no end", "killed", "closed"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newQuestionWorld(t, "")
				ask := pendingQuestion(t, w)
				if got := w.engine.Status("ses_a").Type; got != StatusQuestion {
					t.Error(got)
				}
				switch end {
				case "killed":
					w.kill(false)
				case "closed":
					w.close(t)
					w.kill(false)
				}
				if again := pendingQuestion(t, w); again.ID != ask.ID {
					t.Errorf("asked as %s, then as %s", ask.ID, again.ID)
				}
				wrongAnswers(t, w, ask.ID)
				if err := w.engine.Asks.AnswerQuestions(t.Context(), "ses_a", ask.ID,
					[][]string{{"Green"}, {"S", "L"}}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c := calledTool(t, w)
				want := `User has answered your questions: "Which colour?"="Green", "Which sizes?"="S, L". You can now continue with the user's answers in mind.`
				if c.State.Status != session.ToolCompleted || c.State.Content[0].Text != want ||
					string(c.State.Structured) != `{"answers":[["Green"],["S","L"]]}` {
					t.Errorf("%+v", c.State)
				}
				if lastText(t, w) != "ok" {
					t.Error("the model did not continue")
				}
				if err := w.engine.Asks.AnswerQuestions(t.Context(), "ses_a", ask.ID, [][]string{{}, {}}); !errors.Is(
					err,
					&session.Error{Code: session.CodeNotFound, Kind: "question"},
				) {
					t.Error(err)
				}
				w.close(t)
				prove(t, w)
			})
		})
	}
}

func wrongAnswers(t *testing.T, w *world, id session.AskID) {
	t.Helper()
	for _, wrong := range [][][]string{nil, {{"Red", "Blue"}, {}}, {{"Red"}, {"M"}}, {{""}, {}}, {{}, {}, {}}} {
		if err := w.engine.Asks.AnswerQuestions(t.Context(), "ses_a", id, wrong); !errors.Is(
			err,
			&session.Error{Code: session.CodeInvalid},
		) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if err := w.engine.Asks.Reply(t.Context(), "ses_a", id, ask.UserReply{Reply: session.ReplyAlways}); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound, Kind: "permission"},
	) {
		t.Error(err)
	}
	if err := w.engine.Asks.AnswerQuestions(t.Context(), "ses_a", "que_nobody", [][]string{{}, {}}); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound, Kind: "question"},
	) {
		t.Error(err)
	}
}

// Dismissing a question stops the work.
func TestQuestionDismissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQuestionWorld(t, "")
		if err := w.engine.Asks.DismissQuestions(t.Context(), "ses_a", pendingQuestion(t, w).ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c := calledTool(t, w); c.State.Error == nil ||
			c.State.Error.Message != "The user dismissed this question" ||
			c.State.Error.Reason != session.ReasonDenied {
			t.Errorf("%+v", c.State)
		}
		if lastText(t, w) != "" {
			t.Error("the model continued")
		}
		w.close(t)
		prove(t, w)
	})
}

// In an unattended run the policy ends a question: the model decides, or the work stops.
func TestQuestionWithoutPeople(t *testing.T) {
	for policy, want := range map[session.AskPolicy]string{
		"deny": "no user can answer", "allow": "no user can answer",
		"fail": "denied: no person is available to answer it", "wait:1m": "no answer arrived within 1m",
	} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newQuestionWorld(t, policy)
				time.Sleep(2 * time.Minute) // the bubble's time
				synctest.Wait()
				if c := calledTool(t, w); c.State.Error == nil || !strings.Contains(c.State.Error.Message, want) {
					t.Errorf("%+v", c.State)
				}
				if went := lastText(t, w) == "ok"; went != (policy != "fail") {
					t.Errorf("continued: %v", went)
				}
				w.close(t)
				prove(t, w)
			})
		})
	}
}

// An agent that may not ask questions gets a denial.
func TestQuestionDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := script.Parse([]byte(whichColour))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s)
		w.layers[0].Rules = append(w.layers[0].Rules, session.Rule{Action: "question", Resource: "*", Effect: session.Deny})
		if _, err := w.tools.Register(dialog.New()...); err != nil {
			t.Fatal(err)
		}
		startWork(t, w)
		synctest.Wait()
		if c := calledTool(t, w); c.State.Error == nil ||
			!strings.Contains(c.State.Error.Message, "not available here: the rules deny it") {
			t.Errorf("%+v", c.State)
		}
		if diff := cmp.Diff("ok", lastText(t, w)); diff != "" {
			t.Error(diff)
		}
		w.close(t)
	})
}

// A reply of always to another ask answers no question. A rejection of another ask stops the work and ends the
// question.
func TestQuestionBesideAnAsk(t *testing.T) {
	for reply, waits := range map[session.Reply]int{session.ReplyAlways: 1, session.ReplyReject: 0} {
		t.Run(string(reply), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := script.Parse(
					[]byte(
						strings.Replace(
							whichColour,
							`{"steps": [{"call"`,
							`{"steps": [{"call": {"id": "e", "name": "edit", "arguments": {"token": "t1"}}}, {"call"`,
							1,
						),
					),
				)
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, s)
				if _, err := w.tools.Register(dialog.New()...); err != nil {
					t.Fatal(err)
				}
				startWork(t, w)
				synctest.Wait()
				rows, err := w.engine.Asks.List(t.Context(), "ses_a")
				if err != nil || len(rows) != 2 {
					t.Fatal(rows, err)
				}
				for _, row := range rows {
					if !row.IsQuestion() {
						err = w.engine.Asks.Reply(t.Context(), "ses_a", row.ID, ask.UserReply{Reply: reply})
					}
				}
				synctest.Wait()
				if rows, again := w.engine.Asks.List(t.Context(), "ses_a"); err != nil || again != nil ||
					len(rows) != waits {
					t.Error(rows, err, again)
				}
				w.close(t)
				prove(t, w)
			})
		})
	}
}
