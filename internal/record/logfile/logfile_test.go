package logfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// encode returns the stored form of an event.
func encode(t testing.TB, seq int64, d session.EventData, p *session.Private) store.EventRow {
	t.Helper()
	d.Stamp().SessionID, d.Stamp().Timestamp = "ses_a", 1
	row, err := eventlog.Encode(session.Event{
		ID: session.EventID(fmt.Sprintf("evt_%d", seq)), SessionID: "ses_a", Seq: seq, Version: d.Version(), Data: d, Private: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

const hello = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0" // git's id of "hello"

// write returns a log with all kinds of lines. Its output has two chunks.
func write(t testing.TB) []byte {
	t.Helper()
	return writeWith(t, bytes.Repeat([]byte("0123456789"), logfile.MaxChunk/5))
}

// writeSmall returns a log that is small enough to be read thousands of times.
func writeSmall(t testing.TB) []byte {
	t.Helper()
	return writeWith(t, []byte("all of it"))
}

func writeWith(t testing.TB, output []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := logfile.NewWriter(&out, logfile.Header{Cairn: "test", Sessions: []session.ID{"ses_a"}})
	if err != nil {
		t.Fatal(err)
	}
	base := "be <brief>\u2028"
	rows := []store.EventRow{
		encode(t, 0, &session.Created{Info: session.Session{ID: "ses_a", Title: "a \"title\"\n"}}, nil),
		encode(t, 1, &session.Renamed{Title: "b"}, &session.Private{Epoch: &session.Epoch{Baseline: &base, Snapshot: []byte(`{}`)}}),
	}
	for i := range rows {
		if err := w.WriteEvent(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []struct {
		kind logfile.ChunkKind
		name string
		data []byte
	}{
		{logfile.ChunkContent, hello, []byte("hello")},
		{logfile.ChunkContent, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", nil}, // an empty file
		{logfile.ChunkOutput, "tool_1-ses_a", output},
	} {
		if err := w.WriteFile(f.kind, f.name, int64(len(f.data)), bytes.NewReader(f.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rewrite reads a log and writes what it has. The error is that of the reader.
func rewrite(file []byte) ([]byte, error) {
	r, err := logfile.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := logfile.NewWriter(&out, r.Header)
	if err != nil {
		return nil, err
	}
	var data []byte
	for {
		item, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			err := w.Close(r.Trailer.Missing)
			return out.Bytes(), err
		case err != nil:
			return nil, err
		case item.Event != nil:
			err = w.WriteEvent(item.Event)
		default:
			if data = append(data, item.Chunk.Data...); item.Chunk.IsLast() {
				err = w.WriteFile(item.Chunk.Kind, item.Chunk.Name, item.Chunk.Size, bytes.NewReader(data))
				data = nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// What is read and written again is the same file.
func TestRewrite(t *testing.T) {
	file := write(t)
	again, err := rewrite(file)
	if err != nil || !bytes.Equal(file, again) {
		t.Fatalf("rewrite: %v\n%s\n%s", err, file, again)
	}
	var out bytes.Buffer
	if trailer, err := logfile.Copy(&out, bytes.NewReader(file)); err != nil || trailer.Lines != 7 ||
		!bytes.Equal(out.Bytes(), file) {
		t.Errorf("Copy: %+v, %v", trailer, err)
	}
}

// Every file that is cut off is refused with the line, by readers and by copies.
func TestCutOff(t *testing.T) {
	file := writeSmall(t)
	for n := range file {
		_, err := rewrite(file[:n])
		e, ok := errors.AsType[*logfile.FormatError](err)
		if !ok || e.Line != int64(bytes.Count(file[:n], []byte("\n")))+1 || !strings.Contains(e.What, "cut off here") {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if _, err := logfile.Copy(io.Discard, bytes.NewReader(file[:n])); err == nil {
			t.Fatalf("a copy of %d bytes is whole", n)
		}
	}
}

// Every changed byte is found.
func TestChangedByte(t *testing.T) {
	file := writeSmall(t)
	for n := range file {
		changed := bytes.Clone(file)
		changed[n] ^= 1
		if _, err := rewrite(changed); err == nil {
			t.Fatalf("byte %d was changed: %q", n, changed[max(0, n-20):min(n+20, len(file))])
		}
	}
}

// TestInvalid changes the log and gives it a right last line.
func TestInvalid(t *testing.T) {
	lines := strings.SplitAfter(string(write(t)), "\n")
	lines = lines[:len(lines)-1]
	replace := func(i int, from, to string) []string {
		out := append([]string(nil), lines...)
		if out[i] = strings.Replace(out[i], from, to, 1); out[i] == lines[i] {
			t.Fatalf("line %d has no %q: %s", i+1, from, lines[i])
		}
		return out
	}
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	tests := map[string]struct {
		lines []string
		line  int64
		says  string
	}{
		"newer format":         {replace(0, `"version":1`, `"version":2`), 1, "version 2 of the format"},
		"other format":         {replace(0, "cairn-log", "cairn-dog"), 1, "not the first line"},
		"unknown member":       {replace(0, `"cairn"`, `"x":1,"cairn"`), 1, "not the first line"},
		"spaces":               {replace(0, `"version":1`, `"version": 1`), 1, "not in the form"},
		"session twice":        {replace(0, `["ses_a"]`, `["ses_a","ses_a"]`), 1, "names the session ses_a twice"},
		"no session":           {replace(0, `["ses_a"]`, `[]`), 1, "names 0 sessions"},
		"invalid session":      {replace(0, `"ses_a"`, `"../x"`), 1, "must start with"},
		"missing session":      {replace(0, `["ses_a"]`, `["ses_a","ses_b"]`), 4, "not in its place"},
		"member of an event":   {replace(1, `"data":`, `"x":1,"data":`), 2, "the event is not valid"},
		"member twice":         {replace(1, `"seq":0`, `"seq":0,"seq":0`), 2, "the event is not valid"},
		"order of members":     {replace(1, `"seq":0,"kind":"session.created"`, `"kind":"session.created","seq":0`), 2, "not in the form"},
		"unknown kind":         {replace(2, "session.next.renamed", "session.next.later"), 3, "update cairn"},
		"newer version":        {replace(2, `"version":1`, `"version":9`), 3, "update cairn"},
		"deletion":             {replace(2, "session.next.renamed", "session.deleted"), 3, "not part of a session's log"},
		"seq":                  {replace(2, `"seq":1`, `"seq":3`), 3, "the event has seq 3, but 1 follows"},
		"first seq":            {replace(1, `"seq":0`, `"seq":1`), 2, "from seq 0 on"},
		"other session":        {replace(2, `"sessionID":"ses_a"`, `"sessionID":"ses_b"`), 3, "one of session"},
		"creates another":      {replace(1, `"id":"ses_a"`, `"id":"ses_b"`), 2, "creates session"},
		"created twice":        {append(append(lines[:2:2], lines[1]), lines[2:]...), 3, "exactly the first event"},
		"not created":          {append(lines[:1:1], lines[2:]...), 2, "exactly the first event"},
		"data":                 {replace(2, `"title":"b"`, `"title":7`), 3, "decode session.next.renamed"},
		"private part":         {replace(2, `"revision":0`, `"revision":"x"`), 3, "private part"},
		"deep":                 {replace(2, `"title":"b"`, `"x":`+deep), 3, "the event is not valid"},
		"changed content":      {replace(3, "aGVsbG8=", "aGVsbG4="), 4, "not those of the content"},
		"longer content":       {replace(3, `"size":5`, `"size":9`), 5, "does not continue the content"},
		"large content":        {replace(3, `"size":5`, `"size":67108865`), 4, "the limit is 67108864"},
		"content twice":        {append(append(lines[:4:4], lines[3]), lines[4:]...), 5, "does not begin here"},
		"content after output": {append(append(lines[:7:7], lines[3]), lines[7:]...), 8, "not in its place"},
		"event after content":  {append(append(lines[:4:4], lines[2]), lines[4:]...), 5, "events come before"},
		"output without end":   {append(lines[:6:6], lines[7:]...), 7, "is not complete"},
		"output in disorder":   {append(append(lines[:5:5], lines[6], lines[5]), lines[7:]...), 6, "does not begin here"},
		"negative":             {replace(3, `"size":5`, `"size":-5`), 4, ""},
		"text":                 {append(append(lines[:2:2], "hello\n"), lines[2:]...), 3, "is not an event"},
		"empty line":           {append(append(lines[:2:2], "\n"), lines[2:]...), 3, "is not an event"},
		"error":                {append(lines[:2:2], string(logfile.EncodeError("it is damaged")), "\n"), 3, "stopped here: it is damaged"},
	}
	for name, tt := range tests {
		body := strings.Join(tt.lines[:len(tt.lines)-1], "")
		sum := sha256.Sum256([]byte(body))
		file := fmt.Sprintf("%s{\"lines\":%d,\"sha256\":\"%s\"}\n", body, len(tt.lines)-1, hex.EncodeToString(sum[:]))
		_, err := rewrite([]byte(file))
		e, ok := errors.AsType[*logfile.FormatError](err)
		if !ok || e.Line != tt.line || !strings.Contains(e.What, tt.says) {
			t.Errorf("%s: %v, want line %d with %q", name, err, tt.line, tt.says)
		}
		if ok && len(e.What) > 500 {
			t.Errorf("%s: the message repeats the line: %d bytes", name, len(e.What))
		}
	}
	// What follows the last line is refused, too.
	file := write(t)
	if _, err := rewrite(append(file, '\n')); err == nil || !strings.Contains(err.Error(), "something follows the last line") {
		t.Errorf("with a line more: %v", err)
	}
	if _, err := logfile.Copy(io.Discard, bytes.NewReader(append(file, 'x'))); err == nil {
		t.Error("a copy goes on after its last line")
	}
}

// A line without an end is not read into memory.
func TestEndlessLine(t *testing.T) {
	endless := io.MultiReader(bytes.NewReader(write(t)[:50]), zeros{})
	if _, err := logfile.NewReader(endless); err == nil || !strings.Contains(err.Error(), "has more than") {
		t.Errorf("NewReader() = %v", err)
	}
}

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// A writer refuses what a reader would refuse, and passes on the error of its destination.
func TestWriterErrors(t *testing.T) {
	if _, err := logfile.NewWriter(io.Discard, logfile.Header{Sessions: make([]session.ID, logfile.MaxSessions+1)}); err == nil {
		t.Error("a log has too many sessions")
	}
	w, err := logfile.NewWriter(io.Discard, logfile.Header{Sessions: []session.ID{"ses_a"}})
	if err != nil {
		t.Fatal(err)
	}
	row := encode(t, 0, &session.Renamed{Title: "b"}, nil)
	row.Data = []byte("{\n}")
	if w.WriteEvent(&row) == nil {
		t.Error("an event with a line break was written")
	}
	row.Data = []byte(`{"x":"` + strings.Repeat("x", logfile.MaxLine) + `"}`)
	if w.WriteEvent(&row) == nil {
		t.Error("a line that is too long was written")
	}
	if err := w.WriteFile(logfile.ChunkOutput, "tool_1", 9, strings.NewReader("short")); err == nil {
		t.Error("a file that ended early was written")
	}
	var e *logfile.WriteError
	if _, err := logfile.Copy(full{}, bytes.NewReader(write(t))); !errors.As(err, &e) || !errors.Is(err, errFull) {
		t.Errorf("Copy to a full disk: %v", err)
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// FuzzReader: what a reader accepts, a writer writes as it was.
func FuzzReader(f *testing.F) {
	file := writeSmall(f)
	f.Add(file)
	f.Add(file[:len(file)/2])
	for _, line := range bytes.SplitAfter(file, []byte("\n")) {
		if len(line) < 4096 {
			f.Add(line)
		}
	}
	head, _, _ := bytes.Cut(file, []byte("\n"))
	f.Add(append(head, "\n{\"event\":\"evt_1\",\"session\":\"ses_a\",\"seq\":0,\"kind\":\"session.created\",\"version\":1,\"data\":{}}\n"...))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = logfile.Copy(io.Discard, bytes.NewReader(file))
		again, err := rewrite(seal(file))
		if err == nil && !bytes.Equal(again, seal(file)) {
			t.Errorf("%q became %q", file, again)
		}
		if _, ok := errors.AsType[*logfile.FormatError](err); err != nil && !ok {
			t.Errorf("the error is not one of the file: %v", err)
		}
	})
}

// seal gives a file a right last line, unless it has one.
func seal(file []byte) []byte {
	if bytes.Contains(file, []byte(`{"lines":`)) || len(file) == 0 || file[len(file)-1] != '\n' {
		return file
	}
	sum := sha256.Sum256(file)
	return fmt.Appendf(bytes.Clone(file), "{\"lines\":%d,\"sha256\":\"%s\"}\n", bytes.Count(file, []byte("\n")),
		hex.EncodeToString(sum[:]))
}
