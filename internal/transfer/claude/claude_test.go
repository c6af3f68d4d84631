package claude

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, source []byte, name string) []foreign.Session {
	t.Helper()
	got, err := Read(bytes.NewReader(source), name)
	if err != nil {
		t.Fatal(err)
	}
	foreigntest.Check(t, got)
	return got
}

// All samples are read as their golden files say, and their first lines give the first messages.
func TestSamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		foreigntest.CheckGolden(t, strings.TrimSuffix(file, ".jsonl")+".txt", read(t, source, file), *update)
		foreigntest.CheckPrefixes(t, source, func(b []byte) []foreign.Session { return read(t, b, file) })
	}
}

// A transcript that grows keeps the ids of what was read of it before, also when the person goes back to the beginning.
func TestGrowth(t *testing.T) {
	t.Parallel()
	rows := []string{
		user(1, "a", "", "one"), answer(2, "b", "a", "m1", text("x")), answer(3, "c", "b", "m1", call("t", "ls")),
		returned(4, "d", "c", "t", "out"), user(5, "e", "", "from the beginning"),
	}
	var ids []string
	for n := 1; n <= len(rows); n++ {
		s := read(t, []byte(strings.Join(rows[:n], "\n")), "x.jsonl")[0]
		ids = append(ids, string(foreign.NewIDs(s.Program, s.ID).Session(s.Created)), string(s.Messages[0].Meta().ID))
	}
	for n := 2; n < len(ids); n += 2 {
		if ids[n] != ids[0] || (ids[n+1] != ids[1]) != (n == len(ids)-2) {
			t.Errorf("after %d rows: session %s, first message %s; at first %s", n/2+1, ids[n], ids[n+1], ids[:2])
		}
	}
}

// The usage of an answer counts once, as its newest row gives it; a session sums those of its turns.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := read(t, []byte(strings.Join([]string{
		answer(1, "a", "", "m1", text("x")), answer(7, "b", "a", "m1", text("y")), answer(8, "c", "b", "m2", text("z")),
	}, "\n")), "x")[0]
	if s.Tokens.Input != 6 || s.Tokens.Output != 15 || len(s.Messages) != 2 || s.Model.ID != "claude-x" {
		t.Errorf("tokens %+v, %d messages, model %v", s.Tokens, len(s.Messages), s.Model)
	}
}

// A file of an agent is a session of its own, below the session that its rows name.
func TestAgentFile(t *testing.T) {
	t.Parallel()
	row := `{"uuid":"a","parentUuid":null,"isSidechain":true,"sessionId":"s","type":"user","message":{"content":"go"}}`
	s := read(t, []byte(row), "/x/agent-ab12.jsonl")
	if len(s) != 1 || s[0].ID != "s/agent-ab12" || s[0].ParentID != "s" {
		t.Error(foreigntest.Outline(s))
	}
}

// Each row counts for one session.
func TestRowsAddUp(t *testing.T) {
	t.Parallel()
	source := strings.Join([]string{
		`{"type":"tag"}`, user(1, "a", "", "x"), "broken", user(1, "a", "", "x"),
		line(2, "b", "", `"isSidechain":true,"type":"user","message":{"content":"y"}`),
	}, "\n")
	rows := 0
	for _, s := range read(t, []byte(source), "s.jsonl") {
		rows += s.Rows
	}
	if rows != 5 {
		t.Errorf("%d rows of 5", rows)
	}
}

// A message that would be larger than what the server takes is cut, and a file that is too large is left out.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	image := func(n int) string {
		return `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("aGkx", n/4) + `"}}`
	}
	for _, c := range []struct {
		name, content string
		files         int
		problem       string
	}{
		{"an image over the limit", text("x") + "," + image(11<<20), 0, "it is larger than 10 MiB"},
		{"images that are too large together", image(8<<20) + "," + image(8<<20), 1, "it does not fit into the message, which may have 11 MiB"},
		{"a long text", `{"type":"text","text":"` + strings.Repeat(`x\u0001`, 2<<20) + `"}`, 0, "it does not fit into the message, which may have 11 MiB; it was cut"},
	} {
		row := line(1, "a", "", `"type":"user","message":{"content":[`+c.content+`]}`)
		s := read(t, []byte(row), "x")[0]
		got := ""
		if len(s.Problems) > 0 {
			got = s.Problems[0].Reason
		}
		m, ok := s.Messages[0].(*session.User)
		if got != c.problem || !ok || len(m.Files) != c.files {
			t.Errorf("%s: %d messages, %q", c.name, len(s.Messages), got)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		if b, err := os.ReadFile(filepath.Clean(file)); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(user(1, "a", "b", "x") + "\n" + user(2, "b", "a", "<bash-input>") + "\n" + answer(3, "c", "b", "m", call("t", "x"))))
	f.Add([]byte("\xff\xfe{\x00}\x00"))
	f.Fuzz(func(t *testing.T, source []byte) { read(t, source, "f.jsonl") })
}
