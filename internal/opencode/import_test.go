package opencode_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

type document struct {
	Info     jsontext.Value   `json:"info"`
	Messages []jsontext.Value `json:"messages"`
}

// elsewhere is an OpenCode export with every kind of part and with unknown members.
func elsewhere(t testing.TB) (d document) {
	t.Helper()
	b, err := os.ReadFile("testdata/foreign.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// there is the session with its original location, so that nothing differs by its place.
var there = session.Session{
	ID:        "ses_1fe0ImportedElsewhere00001",
	ProjectID: "65dca09a",
	Location:  session.Location{Directory: "/there"},
}

func plain(t testing.TB, v any) (out any) {
	t.Helper()
	b, ok := v.(jsontext.Value)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// An import is exported unchanged, also after it was stored.
func TestExportOfImport(t *testing.T) {
	d := elsewhere(t)
	var ms []session.Message
	for _, raw := range d.Messages {
		m, err := opencode.MessageFromOpenCode(raw)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if m, err = session.DecodeMessage(stored); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	shown := opencode.Render(&there, ms, false)
	for i, raw := range d.Messages {
		if diff := cmp.Diff(plain(t, raw), plain(t, shown[i])); diff != "" {
			t.Errorf("message %d: -imported +exported\n%s", i, diff)
		}
	}
	s, err := opencode.FromOpenCode(d.Info)
	if err != nil {
		t.Fatal(err)
	}
	s.ProjectID = "65dca09a"
	if diff := cmp.Diff(plain(t, d.Info), plain(t, opencode.ToOpenCode(s))); diff != "" {
		t.Errorf("session: -imported +exported\n%s", diff)
	}
}

// A staged revert is imported, exported unchanged, and gone from the export once it is cleared.
func TestImportOfRevert(t *testing.T) {
	info := `{"id":"ses_1fe0ImportedElsewhere00001","slug":"s","projectID":"p",` +
		`"directory":"/there","title":"t","version":"1",` +
		`"time":{"created":1,"updated":2},"revert":{"messageID":"msg_1","partID":"prt_1","snapshot":"3ae3","diff":"@@ x"}}`
	s, err := opencode.FromOpenCode(jsontext.Value(info))
	if err != nil || s.Revert == nil || s.Revert.MessageID != "msg_1" || s.Revert.PartID != "prt_1" {
		t.Fatalf("%+v %v", s, err)
	}
	exported := func() any { return plain(t, opencode.ToOpenCode(s)).(map[string]any)["revert"] }
	want := map[string]any{"messageID": "msg_1", "partID": "prt_1", "snapshot": "3ae3", "diff": "@@ x"}
	if d := cmp.Diff(any(want), exported()); d != "" {
		t.Error(d)
	}
	s.Revert = nil
	if v := exported(); v != nil {
		t.Errorf("exported %v, which was cleared", v)
	}
}

// OpenCode's own sessions that were compacted, on request and by themselves, become compactions, and are exported
// unchanged.
func TestExportOfCompacted(t *testing.T) {
	b, err := os.ReadFile("testdata/compacted.json")
	if err != nil {
		t.Fatal(err)
	}
	var docs []document
	if err := json.Unmarshal(b, &docs); err != nil {
		t.Fatal(err)
	}
	failed := docs[0] // as if a prompt had come before the first summary, and the second summary had failed
	failed.Messages = append([]jsontext.Value(nil), failed.Messages...)
	failed.Messages[5], failed.Messages[6] = failed.Messages[6], failed.Messages[5]
	last := len(failed.Messages) - 1
	failed.Messages[last] = jsontext.Value(strings.Replace(string(failed.Messages[last]), `"finish": "stop"`,
		`"finish": "stop", "error": {"name": "UnknownError", "data": {"message": "no"}}`, 1))
	docs = append(docs, failed)
	place := there
	for i, want := range []string{"auto 0 manual 2", "auto 1 manual 0", "auto 0 manual 1"} {
		count := map[string]int{}
		var x opencode.MessageImporter
		var ms []session.Message
		for _, raw := range docs[i].Messages {
			got, err := x.Add(raw)
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, got...)
		}
		ms = append(ms, x.Flush()...)
		for j, m := range ms {
			if c, ok := m.(*session.Compaction); ok {
				count[c.Reason]++
			}
			stored, err := json.Marshal(m, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			if ms[j], err = session.DecodeMessage(stored); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprintf("auto %d manual %d", count["auto"], count["manual"]); got != want {
			t.Errorf("document %d: %s, want %s", i, got, want)
		}
		shown := opencode.RenderExport(&place, ms)
		if len(shown) != len(docs[i].Messages) {
			t.Fatalf("document %d: %d messages were exported as %d", i, len(docs[i].Messages), len(shown))
		}
		for j, raw := range docs[i].Messages {
			if diff := cmp.Diff(plain(t, raw), plain(t, shown[j])); diff != "" {
				t.Errorf("document %d, message %d: -imported +exported\n%s", i, j, diff)
			}
		}
	}
}

// A message without step parts, such as the answer to a user command, is exported without them.
func TestImportWithoutStep(t *testing.T) {
	for name, raw := range map[string]jsontext.Value{
		"a command of the user's": jsontext.Value(`{"info":{"id":"msg_2","sessionID":"ses_1fe0ImportedElsewhere00001","role":"assistant","time":{"created":5,"completed":6},"parentID":"msg_1",
			"modelID":"m","providerID":"p","mode":"build","agent":"build","path":{"cwd":"/there","root":"/there"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},
			"parts":[{"id":"prt_1","sessionID":"ses_1fe0ImportedElsewhere00001","messageID":"msg_2","type":"tool","callID":"msg_2","tool":"bash",
			"state":{"status":"completed","input":{"command":"echo sh"},"output":"sh\n","title":"","metadata":{"output":"sh\n"},"time":{"start":5,"end":6}}}]}`),
		"nothing": jsontext.Value(`{"info":{"id":"msg_2","sessionID":"ses_1fe0ImportedElsewhere00001","role":"assistant","time":{"created":5,"completed":6},"parentID":"msg_1",
			"modelID":"m","providerID":"p","mode":"build","agent":"build","path":{"cwd":"/there","root":"/there"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},
			"parts":[]}`),
	} {
		m, err := opencode.MessageFromOpenCode(raw)
		if err != nil {
			t.Fatal(err)
		}
		shown := opencode.Render(&there, []session.Message{m}, false)[0]
		if diff := cmp.Diff(plain(t, raw), plain(t, shown)); diff != "" {
			t.Errorf("%s: -imported +exported\n%s", name, diff)
		}
	}
}

// An export contains the summary in prose, and an import reads it. A sanitized export does not contain it.
func TestExportOfSummary(t *testing.T) {
	s := &session.Session{ID: "ses_1", Slug: "s", ProjectID: "p", Version: "1", Summary: &session.ProseSummary{
		Text: "Done.", Generated: true, Through: "msg_1",
	}}
	exported := opencode.ToOpenCode(s)
	imported, err := opencode.FromOpenCode(exported)
	if err != nil || imported.Summary == nil || *imported.Summary != *s.Summary ||
		strings.Contains(string(imported.Import.Info), "Done.") {
		t.Errorf("%s -> %+v %v", exported, imported, err)
	}
	if out := opencode.SanitizeSession(exported); strings.Contains(string(out), "Done.") {
		t.Errorf("sanitized: %s", out)
	}
}

// A session exported by cairn is imported without differences.
func TestOwnExportHasNoDifference(t *testing.T) {
	m, err := opencode.MessageFromOpenCode(
		jsontext.Value(`{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":5},
		"agent":"build","model":{"providerID":"p","modelID":"m"},"summary":{"diffs":[]}},
		"parts":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"Hi"}]}`),
	)
	if err != nil || m.Meta().Extra != nil {
		t.Errorf("%s, %v", m.Meta().Extra, err)
	}
}

// Open turns and calls are ended by the import, and imported rules cannot allow anything.
func TestImport(t *testing.T) {
	d := elsewhere(t)
	for i, raw := range d.Messages {
		m, err := opencode.MessageFromOpenCode(raw)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		if a.Open() {
			t.Errorf("message %d is open", i)
		}
		for _, call := range a.Tools() {
			if !call.State.Status.IsSettled() {
				t.Errorf("message %d: the call %s is %s", i, call.ID, call.State.Status)
			}
		}
	}
	s, err := opencode.FromOpenCode(d.Info)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Permission) != 1 || s.Permission[0].Effect != session.Deny || s.Open || s.ParentID != "" ||
		s.Revert != nil {
		t.Errorf("%+v", s)
	}
}

func TestImportErrors(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                          "",
		`{"parts":[]}`:                "info must be an object",
		`{"info":{"role":"unknown"}}`: `role must be user or assistant, got "unknown"`,
		`{"info":{"role":"user","id":"msg_1","time":"x"}}`:                                              "time",
		`{"info":{"role":"user","id":"msg_1"},"parts":[{"type":"text"}]}`:                               "Missing key",
		`{"info":{"role":"assistant","id":"msg_1"},"parts":[{"type":"tool","state":{"status":"odd"}}]}`: "the status of a call",
	} {
		m, err := opencode.MessageFromOpenCode(jsontext.Value(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", in, m, err)
		}
	}
}

// Every accepted import can be stored, read and shown.
func FuzzTakeMessage(f *testing.F) {
	for _, raw := range elsewhere(f).Messages {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := opencode.MessageFromOpenCode(raw)
		if err != nil {
			return
		}
		stored, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			t.Skip("what cannot be stored is refused by who stores it")
		}
		if m, err = session.DecodeMessage(stored); err != nil {
			t.Fatal(err)
		}
		shown := opencode.Render(&there, []session.Message{m}, true)
		if _, err := json.Marshal(shown); err != nil {
			t.Fatal(err)
		}
	})
}
