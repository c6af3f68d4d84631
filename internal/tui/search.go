package tui

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

const (
	// searchPause is the time without typing after which a search begins.
	searchPause = 200 * time.Millisecond
	// maxHits bounds the hits that are listed.
	maxHits = 50
	// maxSnippet bounds the bytes of a snippet.
	maxSnippet = 1000
)

// searchHelp is shown before something is typed.
const searchHelp = "words of prompts, answers, calls and titles; \"several words\", -WORD and WORD* are possible"

// sessionSearch searches the texts of all sessions while the person types. One request runs at a time, and the hits of a
// text that was changed since are dropped.
type sessionSearch struct {
	dialog    *dialog.Search
	inProject bool // only sessions of the project on the screen are searched
	version   int  // number of the newest text and choice of projects
	isRunning bool
	isDue     bool // the newest version is searched once the running request has ended
}

// searchSessions opens the search of all sessions. It shows what was searched before, until something is typed.
func searchSessions(m *model) tea.Cmd { return searchSessionsFor(m, "") }

// searchSessionsFor opens the search with words; with "" they are the earlier ones.
func searchSessionsFor(m *model, words string) tea.Cmd {
	s := m.search
	if s == nil {
		s = &sessionSearch{dialog: dialog.NewSearch()}
		s.dialog.Enter = "open"
		s.dialog.Typed = func() tea.Cmd { return s.scheduleSearch(m) }
		s.dialog.Keys = map[string]func() tea.Cmd{
			"tab":    func() tea.Cmd { s.inProject = !s.inProject; return s.searchNow(m) },
			"ctrl+r": func() tea.Cmd { return s.searchNow(m) },
		}
		m.search = s
	}
	if words != "" {
		s.dialog.SetFilter(words)
	}
	s.dialog.IsOld = words == "" && s.dialog.Text() != ""
	m.openDialog(s.dialog)
	return s.searchNow(m)
}

// scheduleSearch searches for the changed text after a pause in typing.
func (s *sessionSearch) scheduleSearch(m *model) tea.Cmd {
	s.version++
	s.dialog.IsStale = true
	version := s.version
	return tea.Tick(searchPause, func(time.Time) tea.Msg {
		return func() tea.Cmd {
			if version != s.version {
				return nil
			}
			return s.startRequest(m)
		}
	})
}

// searchNow searches at once.
func (s *sessionSearch) searchNow(m *model) tea.Cmd {
	s.dialog.Title, s.dialog.Hint = "Search the sessions of all projects", "tab: this project only"
	if s.inProject {
		s.dialog.Title, s.dialog.Hint = "Search the sessions of this project", "tab: all projects"
	}
	s.version++
	return s.startRequest(m)
}

// startRequest searches for the newest text, or has that done when the running request has ended.
func (s *sessionSearch) startRequest(m *model) tea.Cmd {
	// One request at a time, and none without a text.
	s.isDue = s.isRunning
	if s.isRunning {
		return nil
	}
	q := api.SearchQuery{Text: s.dialog.Text(), Limit: maxHits}
	if q.Text == "" {
		s.dialog.SetItems(nil)
		s.dialog.Status = searchHelp
		return nil
	}
	// Search, after finding out which project this is.
	s.isRunning, s.dialog.Status = true, "searching"
	c, version, inProject := m.api, s.version, s.inProject
	return m.run(func(ctx context.Context) tea.Msg {
		var found api.SearchResult
		var err error
		if inProject {
			var at api.LocationInfo
			at, err = c.Location(ctx)
			q.Project = string(at.ProjectRef())
		}
		if err == nil {
			found, err = c.Search(ctx, q)
		}
		// Show the hits, unless the text has changed; then the next search begins now or after its pause.
		return func() tea.Cmd {
			s.isRunning = false
			switch {
			case s.isDue:
				return s.startRequest(m)
			case version == s.version:
				s.showHits(m, found, err)
			}
			return nil
		}
	})
}

// showHits shows what was found.
func (s *sessionSearch) showHits(m *model, found api.SearchResult, err error) {
	hits := found.Hits[:min(len(found.Hits), maxHits)]
	items := make([]dialog.Entry, len(hits))
	for i, h := range hits {
		items[i] = hitEntry(strconv.Itoa(i), h, m.api.Directory)
	}
	s.dialog.SetItems(items)
	s.dialog.Pick = func(e dialog.Entry) tea.Cmd {
		i, _ := strconv.Atoi(e.ID) // of the list
		return openHit(m, hits[i])
	}
	// Say how complete the list is, or why there is none.
	switch status := terminal.FormatPlural(len(hits), "hit"); {
	case err != nil:
		s.dialog.Status = errorText(err)
	case found.Problem != "":
		s.dialog.Status = status + "; the search index is behind the sessions: " + terminal.FirstLine(found.Problem, 200)
	case !found.Complete:
		s.dialog.Status = status + "; the search index is behind the sessions: there may be more to find, ctrl+r searches again"
	case found.More:
		s.dialog.Status = "the best " + status + "; more words find fewer"
	case found.Trimmed:
		s.dialog.Status = status + "; old texts are not found: the search index has reached its bound (storage.search)"
	default:
		s.dialog.Status = status
	}
}

// hitEntry returns the lines of a hit: the session, what was found and when, and the text around the words.
func hitEntry(id string, h api.SearchHit, here string) dialog.Entry {
	e := dialog.Entry{
		ID: id, Label: cmp.Or(terminal.FirstLine(h.Title, 70), string(h.SessionID)),
		Detail: terminal.FirstLine(cmp.Or(h.Tool, h.Kind), 30),
	}
	if h.Failed {
		e.Detail += ", failed"
	}
	e.Detail += "  " + terminal.FormatAge(h.Time)
	if h.Directory != here && here != "" {
		e.Detail = terminal.FirstLine(describe.FormatDirectory(h.Directory, here), 30) + "  " + e.Detail
	}
	h.Snippet.Text = h.Snippet.Text[:min(len(h.Snippet.Text), maxSnippet)]
	for text, isMatch := range h.Snippet.Parts() {
		e.Below = append(e.Below, dialog.Run{Text: terminal.CleanOutput(text), IsMarked: isMatch})
	}
	return e
}

// openHit shows the text that was found, in its session.
func openHit(m *model, h api.SearchHit) tea.Cmd {
	isOpen := m.session != nil && m.session.ID == h.SessionID
	switch {
	case h.MessageID == "" && isOpen: // the title
		return nil
	case h.MessageID == "":
		return openSession(m, h.SessionID)
	case isOpen:
		return showMessage(m, h)
	}
	return openSessionThen(m, h.SessionID, func() tea.Cmd { return showMessage(m, h) })
}

// readingEarlier is the note while a message is looked for in earlier pages.
const readingEarlier = "reading earlier messages"

// showMessage selects the text of a hit in the open session, and marks the words there. It reads earlier messages until
// the text is among them.
func showMessage(m *model, h api.SearchHit) tea.Cmd {
	m.seek = nil
	if m.note == readingEarlier {
		m.note = ""
	}
	word := "" // that is marked
	for text, isMatch := range h.Snippet.Parts() {
		if isMatch {
			word = strings.TrimSpace(text)
			break
		}
	}
	// What is on the screen is chosen for its size, which a session that was just opened does not have yet.
	m.transcript.SetSize(m.transcriptWidth(), m.transcriptHeight()-len(m.subagentLines()))
	switch {
	case m.transcript.SelectItem(h.MessageID, h.PartID, word):
	case m.olderCursor.Next == "":
		m.note = "the text is not in the transcript any more: it was taken back, or its message removed"
	default:
		m.seek, m.note = func() tea.Cmd { return showMessage(m, h) }, readingEarlier
		return readOlderPage(m)
	}
	return nil
}
