package tui

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// showFoundHits shows the search with hits, some of which try to break the screen.
func showFoundHits(m *model) {
	openTestSession(m)
	m.api.Directory = "/src/project"
	searchSessionsFor(m, "parser timeout")
	m.search.showHits(m, api.SearchResult{Complete: true, More: true, Hits: []api.SearchHit{
		{
			SessionID: "ses_2", Title: "Fix the parser", Directory: "/src/project", MessageID: "msg_1", Kind: "tool", Tool: "bash",
			Failed: true, Snippet: api.Snippet{Text: "the parser has a timeout", Matches: [][2]int{{4, 10}, {17, 24}}},
		},
		{
			SessionID: "ses_3", Title: "T\x1b]0;x\a\u202eitle\n\nmore " + strings.Repeat("漢字", 200), Directory: "/other\x1b[2J\u202e",
			MessageID: "msg_2", Kind: "answer\x1b[2J",
			Snippet: api.Snippet{
				Text: strings.Repeat("long\t\x1b[31m\u202e ", 500) + "timeout", Matches: [][2]int{{900, 907}, {3, 2}, {-1, 1 << 40}},
			},
		},
		{SessionID: "ses_4", Kind: "title", Snippet: api.Snippet{Text: "\xff\xfe parser", Matches: [][2]int{{3, 99}}}},
	}}, nil)
}

// searchProgram runs a model in a synctest bubble whose server answers each search after a time of its own.
type searchProgram struct {
	*program
	mu               sync.Mutex // guards what follows
	asked            []string   // texts and projects, in the order of the requests
	running, highest int        // requests
}

// newSearchProgram has searches for a text answered after its time in milliseconds, with one hit whose title is the text.
func newSearchProgram(t *testing.T, times map[string]int) *searchProgram {
	p := &searchProgram{program: newProgram(t)}
	p.api.Directory = "/src/project"
	p.api.HTTP = &http.Client{Transport: api.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/search" {
			_, _ = io.WriteString(w, `{"directory":"/src/project","recordID":"prj_1","project":{"id":"p","directory":"/"}}`)
			return
		}
		text := r.URL.Query().Get("text")
		p.mu.Lock()
		p.asked = append(p.asked, strings.TrimSpace(text+" "+r.URL.Query().Get("project")))
		p.running++
		p.highest = max(p.highest, p.running)
		p.mu.Unlock()
		time.Sleep(time.Duration(times[text]) * time.Millisecond) // in the bubble
		p.mu.Lock()
		p.running--
		p.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"data":{"complete":true,"hits":[{"sessionID":"ses_2","title":%q,"kind":"title"}]}}`, "hit of "+text)
	}))}
	p.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg { return f(t.Context()) }
	}
	return p
}

// pass handles the messages that arrive in the time d, and waits for what they began.
func (p *searchProgram) pass(d time.Duration) {
	p.program.pass(d)
	synctest.Wait()
}

func (p *searchProgram) typeText(text string) {
	for _, r := range text {
		p.press(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func (p *searchProgram) labels() (labels []string) {
	for _, e := range p.search.dialog.Items {
		labels = append(labels, e.Label)
	}
	return labels
}

// TestSearchWhileTyping: a search begins after a pause in typing, one runs at a time, and the hits of an earlier text are
// neither shown after it was changed nor opened.
func TestSearchWhileTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSearchProgram(t, map[string]int{"slow": 5000, "slower": 10, "slowest": 10})
		p.start(searchSessions(p.model))
		p.typeText("slo")
		p.pass(searchPause / 2)
		p.typeText("w")
		p.pass(2 * searchPause) // the search for slow runs
		p.typeText("er")
		p.pass(2 * searchPause)
		if diff := cmp.Diff([]string{"slow"}, p.asked); diff != "" || p.search.dialog.Status != "searching" {
			t.Fatalf("status %q, asked: %s", p.search.dialog.Status, diff)
		}
		p.pass(5 * time.Second)
		if diff := cmp.Diff([]string{"hit of slower"}, p.labels()); diff != "" || p.highest != 1 {
			t.Errorf("%d at a time, hits %s", p.highest, diff)
		}
		// A changed text has other hits: Enter waits for them.
		p.press(tea.KeyPressMsg{Code: tea.KeyBackspace})
		p.typeText("st")
		p.press(tea.KeyPressMsg{Code: tea.KeyEnter})
		if len(p.dialogs) != 1 {
			t.Error("Enter opened a hit of the text before")
		}
		p.pass(time.Second)
		want := []string{"slow", "slower", "slowest"}
		if diff := cmp.Diff(want, p.asked); diff != "" || p.search.dialog.Status != "1 hit" {
			t.Errorf("status %q, asked: %s", p.search.dialog.Status, diff)
		}
	})
}

// TestSearchAnswerOfEarlierText: an answer that arrives while the newer text waits for the pause in typing is dropped.
func TestSearchAnswerOfEarlierText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSearchProgram(t, map[string]int{"slow": 300})
		p.start(searchSessionsFor(p.model, "slow"))
		p.pass(200 * time.Millisecond)
		p.typeText("er")
		p.pass(searchPause * 3 / 4)
		if got := p.labels(); len(got) != 0 || len(p.asked) != 1 {
			t.Errorf("hits %q, asked %q", got, p.asked)
		}
		p.pass(searchPause)
		if diff := cmp.Diff([]string{"hit of slower"}, p.labels()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSearchChoices: Tab searches this project only, pasted text is searched, and what is typed after the search was
// opened again replaces the text.
func TestSearchChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSearchProgram(t, nil)
		p.typeText("/search one two")
		p.press(tea.KeyPressMsg{Code: tea.KeyEnter})
		p.pass(time.Millisecond)
		p.press(tea.KeyPressMsg{Code: tea.KeyTab})
		p.pass(time.Millisecond)
		p.press(tea.PasteMsg{Content: " three\nfour"})
		p.pass(time.Second)
		p.press(tea.KeyPressMsg{Code: tea.KeyTab})
		p.press(tea.KeyPressMsg{Code: tea.KeyEscape})
		p.pass(time.Second)
		p.press(tea.KeyPressMsg{Code: 'g', Mod: tea.ModAlt})
		if frame, _ := p.renderFrame(); !strings.Contains(frame, "/ "+p.theme.Selected.Render("one two three four")) {
			t.Errorf("the earlier text is not marked:\n%s", frame)
		}
		p.pass(time.Second)
		p.typeText("new")
		p.pass(time.Second)
		want := []string{"one two", "one two prj_1", "one two three four prj_1", "one two three four", "one two three four", "new"}
		if diff := cmp.Diff(want, p.asked); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSearchSaysWhy: the dialog says why there are no hits, and that there may be more.
func TestSearchSaysWhy(t *testing.T) {
	for answer, want := range map[string]string{
		`{"data":{"complete":false,"hits":[]}}`: "0 hits; the search index is behind the sessions: there may be more to find, " +
			"ctrl+r searches again",
		`{"data":{"complete":false,"problem":"no room","hits":[]}}`: "0 hits; the search index is behind the sessions: no room",
		`{"data":{"complete":true,"trimmed":true,"hits":[]}}`: "0 hits; old texts are not found: the search index has reached " +
			"its bound (storage.search)",
		`{"_tag":"ConflictError","message":"the index is turned off"}`: "the index is turned off",
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(tea.WindowSizeMsg{Width: 120, Height: 24})
		calls := 0
		answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(answer, "_tag") {
				w.WriteHeader(http.StatusConflict)
			}
			_, _ = io.WriteString(w, answer)
		})
		searchSessionsFor(m, "word")
		frame, _ := m.renderFrame()
		if !strings.Contains(ansi.Strip(frame), "\n"+want+"\n") {
			t.Errorf("%q is missing in\n%s", want, frame)
		}
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
		if len(m.dialogs) != 1 || calls != 2 {
			t.Errorf("%d dialogs, %d calls", len(m.dialogs), calls)
		}
	}
}

// longSession answers as a server with the session ses_2 of another directory, which has n prompts; it counts the
// sessions and pages that are read.
func longSession(t *testing.T, m *model, n int) (sessions, pages *int) {
	sessions, pages = new(int), new(int)
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/session/ses_2":
			*sessions++
			_, _ = io.WriteString(w, `{"data":{"id":"ses_2","title":"Long","location":{"directory":"/src/other"}}}`)
		case "/api/session/ses_2/message":
			*pages++
			newest := n // of the page, counted from 1
			if c := r.URL.Query().Get("cursor"); c != "" {
				newest, _ = strconv.Atoi(c)
			}
			var list []string
			for i := newest; i > max(newest-pageSize, 0); i-- {
				list = append(list, fmt.Sprintf(
					`{"id":"msg_%d","type":"user","text":"prompt %d\n%s","time":{"created":%d}}`, i, i, strings.Repeat(`line\n`, 3), i,
				))
			}
			_, _ = fmt.Fprintf(w, `{"data":[%s],"cursor":{"next":"%d"}}`, strings.Join(list, ","), newest-pageSize)
		case "/api/session/ses_2/status":
			_, _ = io.WriteString(w, `{"data":{"type":"idle"}}`)
		default:
			_, _ = io.WriteString(w, `{"data":[]}`)
		}
	})
	return sessions, pages
}

// TestSearchJumps: a hit far up in a long session of another directory is brought to the screen and selected, with its
// word marked; another one in the same session is, too, without opening that again.
func TestSearchJumps(t *testing.T) {
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 200, Height: 60}, {Width: 30, Height: 10}} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(size)
		m.options.Client.Directory = "/src/project"
		sessions, pages := longSession(t, m, 2000)
		hit := func(n int) api.SearchHit {
			text := fmt.Sprintf("prompt %d", n)
			return api.SearchHit{
				SessionID: "ses_2", MessageID: session.MessageID(fmt.Sprintf("msg_%d", n)), Kind: "prompt",
				Snippet: api.Snippet{Text: text, Matches: [][2]int{{7, len(text)}}},
			}
		}
		searchSessions(m)
		m.search.showHits(m, api.SearchResult{Hits: []api.SearchHit{hit(17), hit(1990), hit(3)}}, nil)
		for i, n := range []int{17, 1990, 3} {
			if i > 0 {
				searchSessions(m)
				m.search.showHits(m, api.SearchResult{Hits: []api.SearchHit{hit(n)}}, nil)
			}
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
			frame, _ := m.renderFrame()
			want := m.theme.Selected.Render(strconv.Itoa(n))
			if !strings.Contains(frame, want) || len(m.dialogs) != 0 {
				t.Errorf("%v: %q is not on the screen:\n%s", size, want, frame)
			}
			if got := m.transcript.SelectedMessage(); got != hit(n).MessageID {
				t.Errorf("%v: selected %q", size, got)
			}
		}
		if *sessions != 1 || *pages != 20 || m.session.ID != "ses_2" || m.api.Directory != "/src/other" {
			t.Errorf("%d sessions and %d pages are read; in %s", *sessions, *pages, m.api.Directory)
		}
		// What is not there any more is said, and a title opens the session only.
		gone := hit(1)
		gone.MessageID = "msg_gone"
		if openHit(m, gone); !strings.Contains(m.note, "not in the transcript any more") || m.seek != nil {
			t.Errorf("the note is %q", m.note)
		}
		openHit(m, api.SearchHit{SessionID: "ses_2", Kind: "title"})
		if *sessions != 1 {
			t.Error("the title of the open session opens it again")
		}
	}
}

// TestSearchJumpsToItem: of an answer the item is selected that has the text, and a call opens that shows it.
func TestSearchJumpsToItem(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1"}, status: api.Status{Type: api.StatusIdle},
		messages: api.Page[session.Message]{Data: []session.Message{&session.Assistant{
			Head: session.Head{ID: "msg_1"}, Content: []session.Content{
				&session.Text{PartID: "prt_1", Text: "I look."},
				&session.Tool{
					PartID: "prt_2", Name: "bash", State: session.ToolState{
						Status: session.ToolCompleted, Input: []byte(`{"command":"ls"}`),
						Content: []session.ToolContent{{Type: "text", Text: strings.Repeat("other\n", 100) + "needle\n"}},
					},
				},
			},
		}}},
	})
	openHit(m, api.SearchHit{
		SessionID: "ses_1", MessageID: "msg_1", PartID: "prt_2", Snippet: api.Snippet{Text: "needle", Matches: [][2]int{{0, 6}}},
	})
	if frame, _ := m.renderFrame(); !strings.Contains(frame, m.theme.Selected.Render("needle")) {
		t.Errorf("the output is not shown:\n%s", frame)
	}
}

// TestSearchJumpWaits: a jump goes on after a page of the session before, which was on its way, and Escape ends it.
func TestSearchJumpWaits(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.olderCursor.Next, m.loadingOlder = "1", true
	reads := 0
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { reads++; return nil }
	openHit(m, api.SearchHit{SessionID: "ses_1", MessageID: "msg_gone"})
	if reads != 0 || m.seek == nil {
		t.Fatalf("%d reads", reads)
	}
	if m.Update(olderMsg{id: "ses_0"}); reads != 1 {
		t.Errorf("%d reads after the page of the other session", reads)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
	page := api.Page[session.Message]{Data: make([]session.Message, pageSize), Cursor: api.Cursor{Next: "2"}}
	if m.Update(olderMsg{id: "ses_1", cursor: "1", page: page}); reads != 1 {
		t.Errorf("%d reads after Escape", reads)
	}
}

// TestSearchLineShowsMatch: of a line that is too long the first match is shown.
func TestSearchLineShowsMatch(t *testing.T) {
	d := dialog.NewSearch()
	d.SetItems([]dialog.Entry{{Below: []dialog.Run{{Text: strings.Repeat("before ", 30)}, {Text: "match", IsMarked: true}}}})
	m := newTestModel(t, composer.DraftFile{})
	lines := ansi.Strip(strings.Join(d.RenderLines(m.theme, 40, 20), "\n"))
	if !strings.Contains(lines, "match") {
		t.Error(lines)
	}
}

// TestSearchSelectsBest: new hits are selected from the first one on, and those of the earlier text where they were.
func TestSearchSelectsBest(t *testing.T) {
	for isOld, want := range map[bool]string{false: "1", true: "2"} {
		picked := ""
		d := dialog.NewSearch()
		d.Pick = func(e dialog.Entry) tea.Cmd { picked = e.ID; return nil }
		d.SetItems([]dialog.Entry{{ID: "1"}, {ID: "2"}, {ID: "3"}})
		d.IsOld = isOld
		d.PressKey(tea.KeyPressMsg{Code: tea.KeyDown})
		d.SetItems([]dialog.Entry{{ID: "1"}, {ID: "2"}, {ID: "3"}})
		if d.PressKey(tea.KeyPressMsg{Code: tea.KeyEnter}); picked != want {
			t.Errorf("earlier text %v: picked %q, want %q", isOld, picked, want)
		}
	}
}

// TestEarlierPageOfReopenedSession: a page that was read before the session was opened again is not put before messages
// that it does not precede.
func TestEarlierPageOfReopenedSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	var read func(context.Context) tea.Msg
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"msg_old","type":"user","text":"page %s","time":{"created":1}}]}`,
			r.URL.Query().Get("cursor"))
	})
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd { read = f; return nil }
	m.olderCursor.Next = "third"
	readOlderPage(m)
	third := read
	openTestSession(m)
	m.olderCursor.Next = "second"
	m.Update(third(t.Context()))
	if frame, _ := m.renderFrame(); strings.Contains(frame, "page third") {
		t.Errorf("a page is missing before it:\n%s", frame)
	}
	readOlderPage(m)
	m.Update(read(t.Context()))
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "page second") {
		t.Errorf("the page before is missing:\n%s", frame)
	}
}
