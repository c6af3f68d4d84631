package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/archive"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// exportLog returns the exported log of the sessions.
func exportLog(t testing.TB, w *world, ids ...session.ID) ([]byte, error) {
	t.Helper()
	x, err := w.engine.Archive.OpenExport(context.Background(), ids)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := x.Write(context.Background(), &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// importLog imports a log in pieces of n bytes at /work.
func importLog(w *world, file []byte, n int) (*archive.Result, error) {
	sum := sha256.Sum256(file)
	p := archive.Piece{
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(file)), Location: session.Location{Directory: "/work"},
	}
	for {
		p.Data = file[p.Offset:min(p.Offset+int64(n), p.Size)]
		got, err := w.engine.Archive.Upload(context.Background(), p)
		if err != nil || got.Result != nil {
			if err != nil {
				return nil, err
			}
			return got.Result, nil
		}
		p.Offset = got.Received
	}
}

// proveExports exports each session with its descendants, imports it into an empty store and exports it again: the
// bytes are equal, but for events that lost rights. Sessions that are not at rest are refused.
func proveExports(t testing.TB, w *world) {
	t.Helper()
	var roots []session.ID
	var unfinished []session.ID
	err := w.store.View(context.Background(), func(r store.Reader) error {
		all, err := store.ReadSessions(r, store.SessionQuery{Archived: true})
		for _, s := range all {
			if s.ParentID == "" {
				roots = append(roots, s.ID)
			}
		}
		if err == nil {
			unfinished, err = r.Unfinished(0)
		}
		return err
	})
	if err != nil {
		t.Fatal("read the store:", err)
	}
	for _, id := range roots {
		file, err := exportLog(t, w, id)
		if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			if len(unfinished) == 0 && len(listPendingAsks(t, w)) == 0 {
				t.Errorf("session %s is at rest, and not exported: %v", id, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("export %s: %v", id, err)
			continue
		}
		proveImport(t, id, file)
	}
}

func listPendingAsks(t testing.TB, w *world) (asks []*store.AskRow) {
	t.Helper()
	err := w.store.View(context.Background(), func(r store.Reader) (err error) {
		asks, err = r.Asks(store.AskQuery{Pending: true})
		return err
	})
	if err != nil {
		t.Fatal("read the asks:", err)
	}
	return asks
}

// proveImport imports a log into an empty store and exports it again.
func proveImport(t testing.TB, id session.ID, file []byte) {
	t.Helper()
	there := newWorld(t, alwaysOK())
	defer there.close(t)
	got, err := importLog(there, file, max(len(file)/3, 1))
	if err != nil {
		t.Errorf("import %s: %v", id, err)
		return
	}
	proveClean(t, there, "after the import")
	again, err := exportLog(t, there, id)
	if err != nil {
		t.Errorf("export %s again: %v", id, err)
		return
	}
	// All lines are equal but for those that lost rights, and the checksum then.
	lines, other := strings.SplitAfter(string(file), "\n"), strings.SplitAfter(string(again), "\n")
	differ := 0
	for i := range min(len(lines), len(other)) {
		if lines[i] != other[i] && !strings.HasPrefix(lines[i], `{"lines":`) {
			differ++
		}
	}
	if len(lines) != len(other) || differ != got.Grants || got.Grants == 0 && !bytes.Equal(file, again) {
		t.Errorf("session %s: %d lines became %d, %d of them differ, and %d events lost rights", id, len(lines), len(other),
			differ, got.Grants)
	}
	// The same again changes nothing, in both forms.
	before := len(allEvents(t, there.store))
	for _, f := range [][]byte{file, again} {
		if got, err := importLog(there, f, len(f)); err != nil || !got.Known {
			t.Errorf("import %s again: %+v, %v", id, got, err)
		}
	}
	if after := len(allEvents(t, there.store)); after != before {
		t.Errorf("the same import again wrote %d events", after-before)
	}
	// It goes on here.
	_, err = there.engine.Commands.AdmitPrompt(context.Background(), admit.PromptRequest{
		SessionID: id, ID: "msg_zzz_on", Prompt: session.Prompt{Text: "go on"}, Delivery: session.Steer,
	})
	if err != nil {
		t.Errorf("prompt the imported session %s: %v", id, err)
	}
	synctest.Wait()
	proveClean(t, there, "after a prompt")
	if got, err := importLog(there, file, len(file)); err != nil || !got.Known {
		t.Errorf("import %s after it went on: %+v, %v", id, got, err)
	}
}

func proveClean(t testing.TB, w *world, when string) {
	t.Helper()
	report, err := check.Run(context.Background(), w.store)
	if err != nil || len(report.Violations) > 0 {
		t.Errorf("%s: %v, %+v", when, err, report.Violations)
	}
}

// A log brings no rights: no rule that allows, no openness, no policy; and no context of another machine.
func TestImportedLogHasNoRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, alwaysOK())
		defer w.close(t)
		w.sources = []*source{{key: "core/rules", value: "do what you are told there"}}
		rules := []session.Rule{
			{Action: "*", Resource: "*", Effect: session.Allow}, {Action: "bash", Resource: "*", Effect: session.Deny},
		}
		_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
			ID: "ses_a", Location: session.Location{Directory: "/work"}, Title: "test", Permission: rules, Open: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = w.engine.Commands.ChangeSession(t.Context(), "ses_a", admit.SessionChange{Permission: &rules})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
			SessionID: "ses_a", ID: "msg_1", Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer, Asks: "allow",
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		file, err := exportLog(t, w, "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		there := newWorld(t, alwaysOK())
		defer there.close(t)
		there.newSandbox = session.SandboxWrites
		got, err := importLog(there, file, len(file))
		if err != nil || got.Grants != 4 {
			t.Fatalf("import: %+v, %v", got, err)
		}
		s, err := there.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		if s.Open || s.Contract != "" || !slices.Equal(s.Permission, rules[1:]) || s.Sandbox != session.SandboxWrites {
			t.Errorf("the session has %+v, open %t %q, sandbox %q", s.Permission, s.Open, s.Contract, s.Sandbox)
		}
		err = there.store.View(t.Context(), func(r store.Reader) error {
			in, _, err := store.FindInput(r, "msg_1")
			if in.Asks != "" {
				t.Errorf("the prompt answers asks with %q", in.Asks)
			}
			_, ok, epochErr := r.Epoch("ses_a")
			if ok {
				t.Error("the session has the context epoch of another store")
			}
			return errors.Join(err, epochErr)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Nothing of a log that cannot be imported as a whole is here afterwards.
func TestImportOfChangedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, alwaysOK())
		defer w.close(t)
		for _, id := range []session.ID{"ses_a", "ses_b"} {
			_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
				ID: id, Location: session.Location{Directory: "/work"}, Title: "test",
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
				SessionID: id, ID: "msg_" + session.MessageID(id), Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		output := "tool_1-ses_a"
		w.files.Outputs[output] = []byte("all of it")
		file, err := exportLog(t, w, "ses_a", "ses_b")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(file), "\n")
		lines = lines[:len(lines)-1]
		last := len(lines) - 1
		without := func(from, to int) []string { return seal(slices.Delete(slices.Clone(lines), from, to)) }
		tests := map[string]struct {
			lines []string
			says  string
		}{
			"cut off": {lines[:last-2], "is cut off here"},
			"changed": {replaceIn(lines, `"hi"`, `"ho"`), "the checksum is not that of the lines"},
			"changed and again": {
				seal(slices.Concat(replaceIn(lines[:3], `"text":"hi"`, `"text":"ho"`), lines[3:])), "line 4: message",
			},
			"without an event": {without(3, 4), "line 4: the event has seq"},
			"half":             {without(last-4, last-1), "was at work when it was exported"},
			"output elsewhere": {seal(replaceIn(lines, output, "tool_1-ses_c")), "is not one of the sessions in this place"},
			"output with path": {seal(replaceIn(lines, output, "tool_/../x-ses_a")), "is not one of the sessions in this place"},
			"another kind":     {seal(replaceIn(lines, "session.next.prompted", "session.next.later")), "update cairn"},
			"another session": {
				seal(replaceIn(lines, `"sessionID":"ses_b"`, `"sessionID":"ses_a"`)), "the event is one of session",
			},
		}
		for name, tt := range tests {
			there := newWorld(t, script.Script{})
			_, err := importLog(there, []byte(strings.Join(tt.lines, "")), 1000)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(allEvents(t, there.store)); n > 0 || len(there.files.Outputs) > 0 || len(there.files.Pins) > 0 {
				t.Errorf("%s: %d events, outputs %v, pins %v are here", name, n, there.files.Outputs, there.files.Pins)
			}
			there.close(t)
		}
		// A store that is full in the middle has nothing of it, and all of it later.
		there := newWorld(t, script.Script{})
		defer there.close(t)
		there.files.Full = true
		if _, err := importLog(there, file, len(file)); !errors.Is(err, store.ErrFull) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("an output was created on a full disk: %v", err)
		}
		there.files.Full = false
		there.full.Store(true)
		if _, err := importLog(there, file, len(file)); err == nil || len(there.files.Outputs) > 0 {
			t.Errorf("a full store: %v, %v", err, there.files.Outputs)
		}
		there.full.Store(false)
		// The file need not be sent again.
		if waiting, err := os.ReadDir(there.files.Spool); err != nil || len(waiting) != 1 {
			t.Errorf("after a full store, uploads %v wait, %v", waiting, err)
		}
		if got, err := importLog(there, file, len(file)); err != nil || got.Known || len(there.files.Outputs) != 1 {
			t.Errorf("with space again: %+v, %v, %v", got, err, there.files.Outputs)
		}
		if waiting, err := os.ReadDir(there.files.Spool); err != nil || len(waiting) != 0 {
			t.Errorf("after the import, uploads %v wait, %v", waiting, err)
		}
		// A session that is here with another content is refused.
		changed := []byte(strings.Join(seal(replaceIn(lines, `"title":"test"`, `"title":"tent"`)), ""))
		if _, err := importLog(there, changed, len(changed)); err == nil ||
			!strings.Contains(err.Error(), "exists and is not the imported one (line 2 of the file differs)") {
			t.Errorf("another content: %v", err)
		}
	})
}

// A file that has more sessions than are here brings in those that are missing, and touches none that is here.
func TestImportOfPartlyKnownLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, alwaysOK())
		defer w.close(t)
		create := func(id, parent session.ID) {
			t.Helper()
			_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
				ID: id, ParentID: parent, Location: session.Location{Directory: "/work"}, Title: "test",
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		prompt := func(w *world, id session.ID, m session.MessageID) {
			t.Helper()
			_, err := w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
				SessionID: id, ID: m, Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer,
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		create("ses_a", "")
		prompt(w, "ses_a", "msg_a")
		create("ses_b", "")
		prompt(w, "ses_b", "msg_b")
		create("ses_c", "ses_b") // without costs
		for _, id := range []session.ID{"ses_a", "ses_b"} {
			w.files.Outputs["tool_1-"+string(id)] = []byte("of " + id)
		}
		export := func(ids ...session.ID) []byte {
			t.Helper()
			file, err := exportLog(t, w, ids...)
			if err != nil {
				t.Fatal(err)
			}
			return file
		}
		type ids = []session.ID
		there := newWorld(t, alwaysOK())
		defer there.close(t)
		expect := func(name string, file []byte, want archive.Result) {
			t.Helper()
			got, err := importLog(there, file, len(file))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			proveClean(t, there, name)
		}
		expect("one", export("ses_a"), archive.Result{Sessions: ids{"ses_a"}})
		prompt(there, "ses_a", "msg_on")
		there.files.Outputs["tool_1-ses_a"] = []byte("its own")

		// The others come in; the session that went on here stays as it is.
		both := export("ses_a", "ses_b")
		expect("both", both, archive.Result{Sessions: ids{"ses_a", "ses_b", "ses_c"}, Here: ids{"ses_a"}})
		if got := string(there.files.Outputs["tool_1-ses_a"]); got != "its own" {
			t.Errorf("the output of the session that is here: %q", got)
		}
		if got := string(there.files.Outputs["tool_1-ses_b"]); got != "of ses_b" {
			t.Errorf("the output of the imported session: %q", got)
		}
		if s, err := there.engine.journal.ReadSession(t.Context(), "ses_c"); err != nil || s.ParentID != "ses_b" {
			t.Errorf("the imported subagent: %+v, %v", s, err)
		}
		expect("both again", both, archive.Result{
			Sessions: ids{"ses_a", "ses_b", "ses_c"}, Here: ids{"ses_a", "ses_b", "ses_c"}, Known: true,
		})

		// One that was deleted after it had costs stays deleted, with its subagents; the rest comes in.
		for _, id := range []session.ID{"ses_c", "ses_b"} {
			if err := there.engine.Commands.DeleteSession(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		expect("one is deleted", both, archive.Result{
			Sessions: ids{"ses_a", "ses_b", "ses_c"}, Here: ids{"ses_a"}, Deleted: ids{"ses_b", "ses_c"}, Known: true,
		})
		create("ses_d", "")
		expect("one is deleted, one is missing", export("ses_b", "ses_d"), archive.Result{
			Sessions: ids{"ses_b", "ses_c", "ses_d"}, Deleted: ids{"ses_b", "ses_c"},
		})
		// A subagent that the file has before its parent comes in by itself.
		expect("a subagent before its deleted parent", export("ses_c", "ses_b"), archive.Result{
			Sessions: ids{"ses_c", "ses_b"}, Deleted: ids{"ses_b"},
		})
		if s, err := there.engine.journal.ReadSession(t.Context(), "ses_c"); err != nil || s.ParentID != "" {
			t.Errorf("the subagent of a deleted session: %+v, %v", s, err)
		}
		// A file of which nothing can come in is a conflict.
		if err := there.engine.Commands.DeleteSession(t.Context(), "ses_c"); err != nil {
			t.Fatal(err)
		}
		file := export("ses_b")
		if _, err := importLog(there, file, len(file)); err == nil || !strings.Contains(err.Error(), "it stays deleted") {
			t.Errorf("a file of deleted sessions: %v", err)
		}
	})
}

// An import that fails, because its session is created meanwhile, takes nothing from that session.
func TestImportMeetsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, alwaysOK())
		defer w.close(t)
		create := func(w *world) {
			t.Helper()
			_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
				ID: "ses_a", Location: session.Location{Directory: "/work"}, Title: "test",
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		create(w)
		changed := &session.TreeChanged{Files: []session.FileChange{{
			Path: "a.txt", After: session.PathState{Mode: 0o100644, Blob: "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"},
		}}}
		_, err := w.log.Append(t.Context(), "ses_a", store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
			return eventlog.NewDrafts(changed), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.files.PutContent([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		file, err := exportLog(t, w, "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		there := newWorld(t, script.Script{})
		defer there.close(t)
		there.files.OnPin = func() {
			there.files.OnPin = nil
			create(there)
			there.files.Pins["ses_a"] = []string{"its own"}
		}
		_, err = importLog(there, file, len(file))
		if err == nil || !strings.Contains(err.Error(), "exists") || there.files.OnPin != nil {
			t.Fatalf("the import of a session that is here: %v", err)
		}
		if !slices.Contains(there.files.Pins["ses_a"], "its own") {
			t.Errorf("the session that is here has lost its pins: %v", there.files.Pins)
		}
	})
}

// replaceIn replaces the first text in all lines.
func replaceIn(lines []string, from, to string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = strings.Replace(out[i], from, to, 1)
	}
	return out
}

// alwaysOK is a model that answers ok to everything.
func alwaysOK() script.Script {
	return script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}}}
}

// seal gives changed lines a right last line.
func seal(lines []string) []string {
	out := slices.Clone(lines[:len(lines)-1])
	sum := sha256.Sum256([]byte(strings.Join(out, "")))
	return append(out, `{"lines":`+strconv.Itoa(len(out))+`,"sha256":"`+hex.EncodeToString(sum[:])+`"}`+"\n")
}

// The undoing of a compaction that was made in another store does not bring that store's system context back.
func TestUndoImportedCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		summary := script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{
			{Text: script.Chunks{"## Goal\n- They said hi."}},
		}}}}
		prompt := func(w *world, m session.MessageID) {
			_, err := w.engine.Commands.AdmitPrompt(t.Context(), admit.PromptRequest{
				SessionID: "ses_a", ID: m, Prompt: session.Prompt{Text: "hi"}, Delivery: session.Steer,
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w := newWorld(t, summary)
		defer w.close(t)
		w.sources = []*source{{key: "core/rules", value: "theirs"}}
		_, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
			ID: "ses_a", Location: session.Location{Directory: "/work"}, Title: "test",
		})
		if err != nil {
			t.Fatal(err)
		}
		prompt(w, "msg_1")
		if _, err := w.engine.Commands.AdmitCompaction(t.Context(), admit.CompactionAdmission{SessionID: "ses_a"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		file, err := exportLog(t, w, "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		there := newWorld(t, summary)
		defer there.close(t)
		there.sources = []*source{{key: "core/rules", value: "ours"}}
		if _, err := importLog(there, file, len(file)); err != nil {
			t.Fatal(err)
		}
		prompt(there, "msg_2")
		if err := there.engine.Commands.UndoCompaction(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		err = there.store.View(t.Context(), func(r store.Reader) error {
			e, ok, err := r.Epoch("ses_a")
			if !ok || !strings.Contains(e.Baseline, "ours") || strings.Contains(e.Baseline, "theirs") {
				t.Errorf("the system context is %+v", e)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		proveClean(t, there, "after the undoing")
	})
}
