package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/fileuri"
)

func TestServerStartsOnceForEachRoot(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(func(o *Options) { o.Servers[0].Roots = [][]string{{"mark"}} })
		w.write("one/mark", "")
		w.write("two/mark", "")
		w.diagnose("one/a.x", "x")
		w.diagnose("one/sub/b.x", "x")
		w.diagnose("two/a.x", "x")
		w.diagnose("readme.y", "x")
		if w.count() != 2 {
			t.Errorf("%d servers were started", w.count())
		}
		want := []Status{
			{ID: "fake", Name: "fake", Root: "one", Status: "connected"},
			{ID: "fake", Name: "fake", Root: "two", Status: "connected"},
		}
		if diff := cmp.Diff(want, w.manager.Status()); diff != "" {
			t.Error(diff)
		}
		w.mu.Lock()
		if w.changes != 2 {
			t.Errorf("%d changes of the status", w.changes)
		}
		w.mu.Unlock()
		outside := filepath.Join(filepath.Dir(w.dir), "c.x")
		if r := w.manager.Diagnose(t.Context(), []string{outside}, DefaultBound); len(r.Unanswered) > 0 || w.count() != 2 {
			t.Error("a file outside of the location has a server")
		}
	})
}

func TestServerEndsWhenIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "x")
		first := w.server()
		time.Sleep(defaultIdle - time.Second)
		w.diagnose("a.x", "xx")
		time.Sleep(defaultIdle - time.Second)
		synctest.Wait()
		if got := w.manager.Status(); len(got) != 1 {
			t.Errorf("a server that is used was ended: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := w.manager.Status(); len(got) != 0 || len(first.find("shutdown")) != 1 {
			t.Errorf("an idle server was not ended: %v", got)
		}
		w.diagnose("a.x", "xxx")
		if got := w.manager.Status(); len(got) != 1 || w.count() != 2 {
			t.Errorf("it was not started again: %v", got)
		}
	})
}

func TestServersAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		limits := &Limits{Servers: 2}
		w.start(func(o *Options) { o.Servers[0].Roots, o.Limits = [][]string{{"mark"}}, limits })
		for i := range 3 {
			w.write(fmt.Sprintf("r%d/mark", i), "")
			w.diagnose(fmt.Sprintf("r%d/a.x", i), "x")
			time.Sleep(time.Second)
		}
		// The third start ends the first server.
		w.diagnose("r2/a.x", "x")
		var roots []string
		for _, s := range w.manager.Status() {
			roots = append(roots, s.Root)
		}
		if diff := cmp.Diff([]string{"r1", "r2"}, roots); diff != "" {
			t.Error(diff)
		}
		// So does one of another location.
		first := w.manager
		defer first.Close()
		w.start(func(o *Options) { o.Limits = limits })
		w.diagnose("a.x", "x")
		w.diagnose("a.x", "xx")
		if a, b := len(first.Status()), len(w.manager.Status()); a != 1 || b != 1 {
			t.Errorf("%d and %d servers run", a, b)
		}
	})
}

// A server that uses too much memory is ended and started again, and the next report says so.
func TestServerUsesTooMuchMemory(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(func(o *Options) { o.Limits = &Limits{Memory: 1 << 30} })
		w.memory.Store(1 << 30)
		w.diagnose("a.x", "x")
		time.Sleep(memoryInterval)
		if text, _ := w.diagnose("a.x", "xx"); text != "" || w.count() != 1 {
			t.Errorf("%d servers: %s", w.count(), text)
		}
		w.memory.Store(3 << 30)
		time.Sleep(memoryInterval)
		text, _ := w.diagnose("a.x", "xxx")
		if text != "language server fake was ended: it used 3072 MiB of memory; the limit is 1024 MiB" {
			t.Error(text)
		}
		w.memory.Store(0)
		time.Sleep(time.Minute)
		if text, _ := w.diagnose("a.x", "ERROR now"); !strings.Contains(text, "ERROR now") || w.count() != 2 {
			t.Errorf("%d servers: %s", w.count(), text)
		}
	})
}

// A server that never initializes is given up after its time; an edit waits for its bound only.
func TestServerNeverInitializes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) { f.silent = true }
		w.start(nil)
		if text, took := w.diagnose("a.x", "x"); text != notAnswered || took != DefaultBound {
			t.Errorf("after %v: %s", took, text)
		}
		if got := w.manager.Status(); len(got) != 0 {
			t.Errorf("status while it starts: %v", got)
		}
		time.Sleep(initializeTime)
		synctest.Wait()
		got := w.manager.Status()
		if len(got) != 1 || got[0].Status != "error" || !strings.Contains(got[0].Reason, "did not initialize within 45s") {
			t.Errorf("status: %+v", got)
		}
	})
}

// Close does not wait for a server that is starting.
func TestCloseWhileStarting(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) { f.silent = true }
		m := w.start(nil)
		w.diagnose("a.x", "x")
		began := time.Now()
		m.Close()
		w.manager = nil
		if took := time.Since(began); took != 0 {
			t.Errorf("Close takes %v", took)
		}
		path := w.write("a.x", "xx")
		m.OpenInBackground(path)
		m.NoteChanged([]string{path})
		if r := m.Diagnose(t.Context(), []string{path}, DefaultBound); len(r.Unanswered) > 0 || w.count() != 1 {
			t.Errorf("a closed manager starts servers: %+v", r)
		}
		if _, err := m.Ask(t.Context(), Query{Operation: "hover", Path: path}); err == nil {
			t.Error("a closed manager answers")
		}
	})
}

func TestServerCrashesInALoop(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "textDocument/didOpen" {
					f.write("garbage\n\n")
				}
				return nil, false
			}
		}
		w.start(nil)
		var waited time.Duration
		for i := range 50 {
			_, took := w.diagnose("a.x", strings.Repeat("x", i))
			waited += took
			time.Sleep(time.Second)
		}
		if w.count() != maxCrashes {
			t.Errorf("it was started %d times", w.count())
		}
		if waited != 0 {
			t.Errorf("edits waited %v", waited)
		}
		got := w.manager.Status()
		want := `language server fake failed 3 times and is not started again: it wrote "garbage" instead of a message`
		if len(got) != 1 || got[0].Reason != want {
			t.Errorf("status: %+v", got)
		}
		if _, err := w.manager.Ask(t.Context(), Query{Operation: "hover", Path: w.dir + "/a.x"}); err == nil || err.Error() != want {
			t.Errorf("error: %v", err)
		}
	})
}

// A server that crashes once in a while is started again.
func TestServerCrashesLater(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.text() == "crash" {
					f.write("Content-Length: none\r\n\r\n")
				}
				return publishErrors(f, m)
			}
		}
		w.start(nil)
		for range 5 {
			w.diagnose("a.x", "crash")
			synctest.Wait()
			if got := w.manager.Status(); got[0].Status != "error" {
				t.Fatalf("status: %+v", got)
			}
			time.Sleep(2 * time.Minute)
			if text, _ := w.diagnose("a.x", "ERROR works\n"); !strings.Contains(text, "works") {
				t.Fatalf("report: %s", text)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// A server that publishes for ever is slowed down, costs bounded memory, and delays a result by its bound at most.
func TestServerPublishesForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		sent := make(chan int, 1)
		sent <- 0
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "initialized" {
					go func() {
						for i := 0; ; i++ {
							f.publish(fmt.Sprintf("file:///%d.x", i), "one", "two", "three", "four", "five", "six", "seven")
							if n := <-sent; n < 0 {
								return
							}
							sent <- i + 1
						}
					}()
				}
				return publishErrors(f, m)
			}
		}
		w.start(nil)
		time.Sleep(time.Second)
		if text, took := w.diagnose("a.x", "ERROR one\n"); took > DefaultBound {
			t.Errorf("after %v: %s", took, text)
		}
		before := <-sent
		sent <- before
		time.Sleep(10 * time.Second)
		after := <-sent
		sent <- after
		if rate := (after - before) / 10; rate > 2*messageRate {
			t.Errorf("%d messages a second are read", rate)
		}
		for _, e := range w.manager.entries {
			s := e.client.diagnostics
			s.mu.Lock()
			if len(s.files) > maxFiles || s.total > maxDiagnostics {
				t.Errorf("%d diagnostics of %d files are kept", s.total, len(s.files))
			}
			s.mu.Unlock()
		}
		<-sent
		sent <- -1
	})
}

// A server that does not read what it is sent ends.
func TestServerDoesNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "initialized" {
					time.Sleep(time.Hour)
				}
				return nil, false
			}
		}
		w.start(nil)
		for i := range maxQueue {
			w.diagnose("a.x", strings.Repeat("x", i))
			if got := w.manager.Status(); len(got) == 1 && got[0].Status == "error" {
				if !strings.Contains(got[0].Reason, "does not read") {
					t.Errorf("status: %+v", got)
				}
				time.Sleep(time.Hour)
				return
			}
		}
		t.Error("it is connected after 1024 changes")
	})
}

func TestMissingServerIsReportedOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "server")
	inBubble(t, func(t *testing.T, w *world) {
		w.start(func(o *Options) {
			o.Servers[0].Programs, o.Servers[0].Install = start(program), "get it"
			o.Servers = append(o.Servers, Server{
				ID: "optional", Extensions: []string{".x"}, Programs: start("no-such-server"), Optional: true,
			})
		})
		want := "language server fake is not installed (program " + program + "): get it"
		for range 3 {
			if text, took := w.diagnose("a.x", "x"); text != want || took != 0 {
				t.Errorf("after %v: %s", took, text)
			}
			want = ""
			time.Sleep(time.Hour)
		}
		got := w.manager.Status()
		if len(got) != 1 || got[0].ID != "fake" || got[0].Status != "error" || !strings.Contains(got[0].Reason, "get it") {
			t.Errorf("status: %v", got)
		}
		// It is used once it is installed.
		if err := os.WriteFile(program, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if text, _ := w.diagnose("a.x", "ERROR works\n"); !strings.Contains(text, "works") {
			t.Errorf("report: %s", text)
		}
	})
}

func TestNoteChanged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.manager.NoteChanged([]string{w.write("none.x", "")}) // no server runs
		w.diagnose("a.x", "x")
		a, b := w.write("a.x", "changed by a command"), w.write("b.x", "new")
		gone := filepath.Join(w.dir, "gone.x")
		w.manager.NoteChanged([]string{a, b, gone})
		synctest.Wait()
		f := w.server()
		if changes := f.find("textDocument/didChange"); len(changes) != 1 || changes[0].text() != "changed by a command" {
			t.Errorf("changes: %v", changes)
		}
		watched := f.find("workspace/didChangeWatchedFiles")
		want := jsontext.Value(fmt.Sprintf(`{"changes":[{"type":1,"uri":%q},{"type":3,"uri":%q}]}`, fileuri.Format(b), fileuri.Format(gone)))
		if diff := cmp.Diff(string(want), string(watched[len(watched)-1].Params)); diff != "" {
			t.Error(diff)
		}
	})
}

// A document that changed on disk is sent before a question about another one.
func TestChangedDocumentsAreSentBeforeQuestions(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "x")
		w.write("a.x", "changed by a command")
		w.diagnose("b.x", "x")
		if changes := w.server().find("textDocument/didChange"); len(changes) != 1 {
			t.Errorf("messages: %q", w.server().list())
		}
	})
}

func TestDocumentsAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		for i := range maxDocuments + 3 {
			w.diagnose(fmt.Sprintf("%d.x", i), "x")
		}
		w.diagnose("0.x", "ERROR again\n")
		synctest.Wait()
		var closed []string
		for _, m := range w.server().find("textDocument/didClose") {
			closed = append(closed, m.file())
		}
		if diff := cmp.Diff([]string{"0.x", "1.x", "2.x", "3.x"}, closed); diff != "" {
			t.Error(diff)
		}
		w.write("large.x", strings.Repeat("x", maxDocument+1))
		if r := w.manager.Diagnose(t.Context(), []string{w.dir + "/large.x"}, DefaultBound); len(r.Unanswered) > 0 {
			t.Error("a file that is not sent is waited for")
		}
		synctest.Wait()
		for _, m := range w.server().find("textDocument/didOpen") {
			if m.file() == "large.x" {
				t.Error("a large file is sent")
			}
		}
	})
}

func TestSaveAndFullText(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities = `{"textDocumentSync":{"openClose":true,"change":1,"save":{"includeText":true}}}`
		}
		w.start(nil)
		w.diagnose("a.x", "x")
		w.diagnose("a.x", "xx")
		synctest.Wait()
		if change := w.server().find("textDocument/didChange")[0]; strings.Contains(string(change.Params), "range") {
			t.Errorf("change: %s", change.Params)
		}
		if saved := w.server().find("textDocument/didSave"); len(saved) != 1 || !strings.Contains(string(saved[0].Params), `"text":"xx"`) {
			t.Errorf("saved: %v", saved)
		}
	})
}

func TestRequestsOfServers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		requests := []struct {
			method string
			params any
			want   string
		}{
			{"workspace/configuration", object{"items": []object{{"section": "a.b"}, {"section": "no"}, {}}}, `[1,null,{"a":{"b":1}}]`},
			{"workspace/workspaceFolders", nil, string(encode(workspaceFolders(w.dir)))},
			{"window/workDoneProgress/create", object{"token": "t"}, `null`},
			{"window/showMessageRequest", object{"message": "m"}, `null`},
			{"window/showDocument", object{"uri": "https://example.org"}, `{"success":false}`},
			{"client/registerCapability", object{"registrations": []object{}}, `null`},
			{"workspace/applyEdit", object{"edit": object{}}, `{"applied":false,"failureReason":"files are changed by tools only"}`},
			{"workspace/diagnostic/refresh", nil, `null`},
			{"x/unknown", nil, `{"code":-32601,"message":"not supported: x/unknown"}`},
			{"workspace/configuration", "nonsense", `[]`},
		}
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "initialized" {
					for _, r := range requests {
						f.ask(r.method, r.params)
					}
				}
				return publishErrors(f, m)
			}
		}
		w.start(func(o *Options) { o.Servers[0].Initialization = jsontext.Value(`{"a":{"b":1}}`) })
		w.diagnose("a.x", "x")
		synctest.Wait()
		answers := w.server().find("")
		if len(answers) != len(requests) {
			t.Fatalf("%d answers", len(answers))
		}
		for i, r := range requests {
			got := string(answers[i].Result)
			if answers[i].Error != nil {
				got = string(answers[i].Error)
			}
			if got != r.want {
				t.Errorf("%s: got %s, want %s", r.method, got, r.want)
			}
		}
		if settings := w.server().find("workspace/didChangeConfiguration"); len(settings) != 1 {
			t.Errorf("settings: %v", settings)
		}
	})
}
