// Package foreigntest checks what the importers of other programs' sessions promise.
package foreigntest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// maxMessage is the server's limit for an imported message.
const maxMessage = 12 << 20

// Check fails the test if a session breaks a rule that holds for all importers.
func Check(t testing.TB, sessions []foreign.Session) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range sessions {
		if s.Program == "" || s.ID == "" || seen[s.ID] {
			t.Errorf("session %q of %q: its id is missing or comes twice", s.ID, s.Program)
		}
		seen[s.ID] = true
		if s.ParentID == s.ID || s.Updated < s.Created {
			t.Errorf("session %q: parent %q, created %d, updated %d", s.ID, s.ParentID, s.Created, s.Updated)
		}
		checkMessages(t, s)
		for _, p := range s.Problems {
			if p.Reason == "" {
				t.Errorf("session %q: a problem of %q has no reason", s.ID, p.Row)
			}
		}
	}
}

func checkMessages(t testing.TB, s foreign.Session) {
	t.Helper()
	ids, last := map[session.MessageID]bool{}, int64(0)
	for i, m := range s.Messages {
		h := m.Meta()
		if err := session.CheckID("id", session.PrefixMessage, string(h.ID)); err != nil || ids[h.ID] {
			t.Errorf("message %d: id %q comes twice or is invalid: %v", i, h.ID, err)
		}
		if ids[h.ID] = true; h.Time.Created <= last {
			t.Errorf("message %d: created at %d, the one before it at %d", i, h.Time.Created, last)
		}
		last = h.Time.Created
		// What is stored is what was read.
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		again, err := session.DecodeMessage(raw)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if diff := cmp.Diff(m, again); diff != "" || len(raw) > maxMessage {
			t.Errorf("message %d (%d bytes) is another one after storing it:\n%s", i, len(raw), diff)
		}
		checkWhole(t, i, m)
	}
}

// checkWhole fails the test if the message is open or empty.
func checkWhole(t testing.TB, i int, m session.Message) {
	t.Helper()
	switch m := m.(type) {
	case *session.User:
		if strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 {
			t.Errorf("message %d: an empty prompt", i)
		}
	case *session.Synthetic:
		if session.CheckID("id", session.PrefixSession, string(m.SessionID)) != nil || m.Text == "" {
			t.Errorf("message %d: session id %q, text %q", i, m.SessionID, m.Text)
		}
	case *session.Assistant:
		if m.Open() || (m.Finish == "") != (m.Error != nil) || len(m.Content) == 0 && m.Error == nil {
			t.Errorf("message %d: the turn is not whole: finish %q, %d items", i, m.Finish, len(m.Content))
		}
		if m.Agent == "" || m.Model.ID == "" || m.Model.ProviderID == "" {
			t.Errorf("message %d: agent %q, model %v", i, m.Agent, m.Model)
		}
		checkItems(t, i, m)
	}
}

func checkItems(t testing.TB, i int, a *session.Assistant) {
	t.Helper()
	last, calls := a.StartID, map[string]bool{}
	for _, c := range a.Content {
		id := c.ItemID()
		if err := session.CheckID("id", session.PrefixPart, string(id)); err != nil || id <= last {
			t.Errorf("message %d: part %q after %q: %v", i, id, last, err)
		}
		last = id
		tool, ok := c.(*session.Tool)
		if !ok {
			continue
		}
		s := tool.State
		if !s.Status.IsSettled() || s.Input.Kind() != '{' || (s.Error != nil) != (s.Status == session.ToolError) {
			t.Errorf("message %d: call %q is %s with input of kind %q", i, tool.ID, s.Status, s.Input.Kind())
		}
		if calls[tool.ID] || tool.ID == "" || tool.Name == "" {
			t.Errorf("message %d: call %q of %q", i, tool.ID, tool.Name)
		}
		calls[tool.ID] = true
	}
}

// CheckPrefixes fails the test if what is read of the first lines is not the beginning of what is read of them all.
func CheckPrefixes(t testing.TB, source []byte, read func([]byte) []foreign.Session) {
	t.Helper()
	all, lines := names(read(source)), bytes.SplitAfter(source, []byte("\n"))
	for n := range lines {
		some := names(read(bytes.Join(lines[:n], nil)))
		if !strings.HasPrefix(all, some) {
			t.Errorf("of %d lines of %d:\n%s", n, len(lines), cmp.Diff(all, some))
		}
	}
}

// names lists the ids of the first session's messages.
func names(sessions []foreign.Session) string {
	var out strings.Builder
	if len(sessions) > 0 {
		for _, m := range sessions[0].Messages {
			fmt.Fprintln(&out, m.Meta().ID, m.Meta().Type)
		}
	}
	return out.String()
}

// CheckGolden compares the sessions with the text in the file, or writes it.
func CheckGolden(t *testing.T, file string, sessions []foreign.Session, update bool) {
	t.Helper()
	got := Dump(sessions)
	if update {
		if err := os.WriteFile(filepath.Clean(file), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test -update writes it): %s", file, diff)
	}
}

// Dump writes the sessions for people to read. Long texts are cut.
func Dump(sessions []foreign.Session) string {
	var b strings.Builder
	for _, s := range sessions {
		fmt.Fprintf(&b, "session %s %s\n", s.Program, s.ID)
		for _, f := range [][2]string{
			{"parent", s.ParentID}, {"directory", s.Directory}, {"title", s.Title}, {"version", s.Version}, {"agent", s.Agent},
		} {
			if f[1] != "" {
				fmt.Fprintf(&b, "  %s: %s\n", f[0], f[1])
			}
		}
		if s.Model != nil {
			fmt.Fprintf(&b, "  model: %s/%s\n", s.Model.ProviderID, s.Model.ID)
		}
		fmt.Fprintf(&b, "  time: %s to %s\n", clock(s.Created), clock(s.Updated))
		fmt.Fprintf(&b, "  tokens: %s; cost %s; %d rows\n", tokens(s.Tokens), s.Cost, s.Rows)
		for _, d := range s.Todos {
			fmt.Fprintf(&b, "  todo: %s (%s)\n", d.Content, d.Status)
		}
		for _, p := range s.Problems {
			fmt.Fprintf(&b, "  problem: %q %s: %s\n", p.Row, p.Field, p.Reason)
		}
		for _, m := range s.Messages {
			dumpMessage(&b, m)
		}
	}
	return b.String()
}

func dumpMessage(b *strings.Builder, m session.Message) {
	fmt.Fprintf(b, "%s %s", clock(m.Meta().Time.Created), m.Meta().Type)
	switch m := m.(type) {
	case *session.User:
		fmt.Fprintf(b, ": %s\n", clip(m.Text))
		for _, f := range m.Files {
			fmt.Fprintf(b, "    file %s %s\n", f.Name, clip(f.URI))
		}
	case *session.Synthetic:
		fmt.Fprintf(b, ": %s\n", clip(m.Text))
	case *session.System:
		fmt.Fprintf(b, ": %s\n", clip(m.Text))
	case *session.Shell:
		fmt.Fprintf(b, ": $ %s\n    %s\n", clip(m.Command), clip(m.Output))
	case *session.Compaction:
		fmt.Fprintf(b, " %s, %d tokens before: %s\n", m.Reason, m.Before, clip(m.Summary))
	case *session.Assistant:
		fmt.Fprintf(b, " %s", m.Model.ID)
		if m.Finish != "" {
			fmt.Fprintf(b, ", %s", m.Finish)
		}
		if m.Error != nil {
			fmt.Fprintf(b, ", %s: %s", m.Error.Reason, clip(m.Error.Message))
		}
		if m.Tokens != nil {
			fmt.Fprintf(b, ", %s", tokens(*m.Tokens))
		}
		b.WriteString("\n")
		for _, c := range m.Content {
			dumpItem(b, c)
		}
	}
}

func dumpItem(b *strings.Builder, c session.Content) {
	switch c := c.(type) {
	case *session.Text:
		fmt.Fprintf(b, "    text: %s\n", clip(c.Text))
	case *session.Reasoning:
		fmt.Fprintf(b, "    reasoning: %s\n", clip(c.Text))
	case *session.Tool:
		fmt.Fprintf(b, "    %s %s %s\n", c.Name, c.State.Status, clip(string(c.State.Input)))
		for _, o := range c.State.Content {
			fmt.Fprintf(b, "        %s: %s\n", o.Type, clip(o.Text+o.URI))
		}
		if e := c.State.Error; e != nil {
			fmt.Fprintf(b, "        %s: %s\n", e.Reason, clip(e.Message))
		}
	}
}

// Outline writes a line for each session, problem and message, without times. It is for tables of rules.
func Outline(sessions []foreign.Session) string {
	var b strings.Builder
	for _, s := range sessions {
		fmt.Fprintf(&b, "session %s", s.ID)
		if s.ParentID != "" {
			fmt.Fprintf(&b, " of %s", s.ParentID)
		}
		if s.Title != "" {
			fmt.Fprintf(&b, " %q", s.Title)
		}
		b.WriteString("\n")
		for _, p := range s.Problems {
			fmt.Fprintf(&b, "! %s: %s\n", strings.TrimSpace(p.Row+" "+p.Field), p.Reason)
		}
		for _, m := range s.Messages {
			fmt.Fprintf(&b, "%s: %s\n", m.Meta().Type, outline(m))
		}
	}
	return b.String()
}

func outline(m session.Message) string {
	switch m := m.(type) {
	case *session.User:
		return strings.Join(append([]string{clip(m.Text)}, fileNames(m.Files)...), " ")
	case *session.Synthetic:
		return clip(m.Text)
	case *session.System:
		return clip(m.Text)
	case *session.Shell:
		return "$ " + m.Command + " -> " + clip(m.Output)
	case *session.Compaction:
		return m.Reason + " " + clip(m.Summary)
	case *session.Assistant:
		var items []string
		for _, c := range m.Content {
			items = append(items, outlineItem(c))
		}
		if m.Error != nil {
			items = append(items, string(m.Error.Reason)+": "+clip(m.Error.Message))
		}
		return strings.Join(items, " | ")
	}
	return ""
}

func outlineItem(c session.Content) string {
	switch c := c.(type) {
	case *session.Text:
		return clip(c.Text)
	case *session.Reasoning:
		return "(" + clip(c.Text) + ")"
	case *session.Tool:
		out := c.Name + clip(string(c.State.Input)) + " "
		if e := c.State.Error; e != nil {
			return out + string(e.Reason) + ": " + clip(e.Message)
		}
		for _, o := range c.State.Content {
			out += clip(o.Text + o.URI)
		}
		return out
	}
	return ""
}

func fileNames(files []session.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, "["+clip(f.Name+" "+f.URI)+"]")
	}
	return out
}

func tokens(u session.Tokens) string {
	return fmt.Sprintf(
		"in %d out %d reasoning %d cache %d/%d", u.Input, u.Output, u.Reasoning, u.Cache.Read, u.Cache.Write,
	)
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000") }

func clip(s string) string { return strings.ReplaceAll(session.ClipText(s, 160), "\n", "⏎") }
