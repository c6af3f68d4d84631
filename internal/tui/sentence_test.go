package tui

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// program runs a model with its commands, as Bubble Tea does, in the time of a synctest bubble.
type program struct {
	*model
	messages chan tea.Msg
	asked    []string // calls of the API that change something for good
	sent     string   // the text of the newest prompt
}

func newProgram(t *testing.T) *program {
	m := newTestModel(t, composer.DraftFile{})
	p := &program{model: m, messages: make(chan tea.Msg, 64)}
	m.api.Base = "http://localhost"
	m.api.HTTP = &http.Client{Transport: api.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodDelete, strings.Contains(string(body), `"always"`),
			strings.Contains(r.URL.Path, "/revert") && !strings.Contains(string(body), `"preview":true`):
			p.asked = append(p.asked, r.Method+" "+r.URL.Path+" "+string(body))
		case strings.HasSuffix(r.URL.Path, "/prompt"):
			var in api.PromptRequest
			if err := json.Unmarshal(body, &in); err != nil {
				t.Error(err)
			}
			p.sent = in.Prompt.Text
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"messageID": "msg_1"}}`)
	}))}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		m.Update(f(t.Context()))
		return nil
	}
	m.wait = m.run
	m.options.List = func(context.Context, *api.Client, api.SessionQuery, int) ([]*session.Session, error) {
		return nil, nil
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	return p
}

// press handles a message and starts its command.
func (p *program) press(msg tea.Msg) {
	_, cmd := p.Update(msg)
	p.start(cmd)
}

func (p *program) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				p.start(c)
			}
		default:
			p.messages <- msg
		}
	}()
}

// pass handles the messages that arrive in the time d.
func (p *program) pass(d time.Duration) {
	end := time.After(d)
	for {
		select {
		case msg := <-p.messages:
			p.press(msg)
		case <-end:
			return
		}
	}
}

// sentence returns words as a person types them, who does not look at the screen.
func sentence(rng *rand.Rand) string {
	words := strings.Fields("add all any are as and yes yet you no not now never new run rerun read reject remove " +
		"save should some so the tests this to stop edit every else 1 2 3 y a s n e r Y A please, (see b.txt) why?")
	var out []string
	for range 2 + rng.IntN(6) {
		out = append(out, words[rng.IntN(len(words))])
	}
	return strings.Join(out, " ")
}

// TestSentenceInDialogs: a sentence that is typed into whatever is on the screen, at the speed of a person, gives no
// lasting answer and takes nothing back; the text is kept.
func TestSentenceInDialogs(t *testing.T) {
	const sentences = 10_000
	dialogs := openDialogs()
	for name, show := range dialogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range sentences / len(dialogs) {
				synctest.Test(t, func(t *testing.T) { typeSentence(t, uint64(n), show) })
			}
		})
	}
}

// TestRandomKeys: no sequence of keys, pastes, sizes and answers from elsewhere has a lasting effect without Enter or a
// repeated key, panics, or draws what does not fit.
func TestRandomKeys(t *testing.T) {
	const seeds = 10_000
	dialogs := openDialogs()
	for name, show := range dialogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range seeds / len(dialogs) {
				synctest.Test(t, func(t *testing.T) { pressRandomKeys(t, uint64(n), show) })
			}
		})
	}
}

func pressRandomKeys(t *testing.T, seed uint64, show func(*program)) {
	rng := rand.New(rand.NewPCG(seed, 2))
	p := newProgram(t)
	show(p)
	special := []rune{
		tea.KeyUp, tea.KeyDown, tea.KeyLeft, tea.KeyRight, tea.KeyTab, tea.KeyEscape, tea.KeyBackspace, tea.KeyPgDown,
		tea.KeyHome, tea.KeyEnd, tea.KeyDelete, tea.KeyF1,
	}
	for range 12 {
		switch rng.IntN(8) {
		case 0:
			mod := []tea.KeyMod{0, tea.ModShift, tea.ModAlt}[rng.IntN(3)]
			p.press(tea.KeyPressMsg{Code: special[rng.IntN(len(special))], Mod: mod})
		case 1: // not ctrl+d, which deletes if it is repeated, and no key that ends the program or opens an editor
			r := []rune("abefgklnpqrstuwxy")[rng.IntN(17)]
			p.press(tea.KeyPressMsg{Code: r, Mod: []tea.KeyMod{tea.ModCtrl, tea.ModAlt}[rng.IntN(2)]})
		case 2:
			p.press(tea.PasteMsg{Content: sentence(rng)})
		case 3:
			p.press(tea.WindowSizeMsg{Width: 1 + rng.IntN(200), Height: 1 + rng.IntN(60)})
		case 4:
			p.start(removeAsk(p.model, "per_1")) // answered at another terminal
		default:
			r := rune(' ' + rng.IntN(95))
			p.press(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
		p.pass(time.Duration(rng.IntN(900)) * time.Millisecond)
		frame, _ := p.renderFrame()
		if n := strings.Count(frame, "\n") + 1; n > max(p.height, 1) {
			t.Fatalf("seed %d: %d lines on a screen of %dx%d:\n%s", seed, n, p.width, p.height, frame)
		}
	}
	p.pass(2 * time.Second)
	if len(p.asked) > 0 {
		t.Errorf("seed %d: %v", seed, p.asked)
	}
}

// openDialogs returns what opens each dialog whose answer may last.
func openDialogs() map[string]func(*program) {
	return map[string]func(*program){
		"permission": func(p *program) { p.start(addAsk(p.model, editAsk("per_1"))) },
		"command": func(p *program) {
			p.start(addAsk(p.model, session.PendingAsk{
				ID: "per_1", SessionID: "ses_1", Action: "bash", Resources: []string{"git push"}, Save: []string{"git *", "rm *"},
			}))
		},
		"question": func(p *program) {
			p.start(addAsk(p.model, session.PendingAsk{ID: "que_1", SessionID: "ses_1", Questions: []session.Question{{
				Question: "Which one?", Options: []session.Option{{Label: "left"}, {Label: "right"}, {Label: "none"}},
			}}}))
		},
		"delete": func(p *program) {
			picker := sessionPicker(p.model, []*session.Session{{ID: "ses_2", Title: "Two"}}, nil)
			p.openDialog(picker)
			p.press(tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl})
		},
		"undo": func(p *program) { p.start(previewUndo(p.model)) },
	}
}

func typeSentence(t *testing.T, seed uint64, show func(*program)) {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := newProgram(t)
	show(p)
	lists := len(p.dialogs) > 1
	p.pass(time.Duration(rng.IntN(3000)) * time.Millisecond)
	text := sentence(rng)
	for _, r := range text {
		p.press(tea.KeyPressMsg{Code: r, Text: string(r)})
		gap := 40 + rng.IntN(260)
		if rng.IntN(12) == 0 {
			gap += 700
		}
		p.pass(time.Duration(gap) * time.Millisecond)
	}
	if rng.IntN(4) > 0 {
		p.press(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	p.pass(2 * time.Second)
	if len(p.asked) > 0 {
		t.Errorf("seed %d: %q: %v", seed, text, p.asked)
	}
	// One key alone may have answered once, or rejected. What is typed over a list filters it.
	kept := cmp.Or(strings.TrimSpace(p.draftText()), p.sent)
	if !lists && kept != text && kept != strings.TrimSpace(text[1:]) {
		t.Errorf("seed %d: %q: kept %q", seed, text, kept)
	}
}
