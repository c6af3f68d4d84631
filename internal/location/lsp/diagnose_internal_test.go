package lsp

import (
	"context"
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

const notAnswered = "language server fake has not answered yet: its errors are not shown"

// inBubble runs f with a world whose time is that of a bubble.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Parallel()
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		w.T = t
		f(t, w)
		if w.manager != nil {
			w.manager.Close()
		}
	})
}

func TestDiagnoseReportsErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		if text, _ := w.diagnose("a.x", "fine\n"); text != "" {
			t.Errorf("correct file: %s", text)
		}
		text, took := w.diagnose("a.x", "ERROR one\nERROR two\nbreaks b.x\n")
		want := "LSP errors detected in this file, please fix:\n<diagnostics file=\"a.x\">\nERROR [1:1] ERROR one\n" +
			"ERROR [2:1] ERROR two\n</diagnostics>\n\nLSP errors detected in other files:\n<diagnostics file=\"b.x\">\n" +
			"ERROR [1:1] broken by a.x\n</diagnostics>"
		if diff := cmp.Diff(want, text); diff != "" {
			t.Error(diff)
		}
		if took != quietTime {
			t.Errorf("a server that answers at once is waited for %v", took)
		}
		// The error of b.x was there before the next change.
		if text, _ := w.diagnose("a.x", "breaks b.x\n"); text != "" {
			t.Errorf("an error of before is reported: %s", text)
		}
		// The server gets a range that covers the old text.
		change := w.server().find("textDocument/didChange")[1]
		if !strings.Contains(string(change.Params), `"end":{"line":3,"character":0}`) {
			t.Errorf("change: %s", change.Params)
		}
	})
}

// Errors that were there when the server started are not those of the first change.
func TestDiagnoseKnowsNoBaselineAtStart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		if text, _ := w.diagnose("a.x", "breaks b.x\n"); text != "" {
			t.Errorf("unknown errors are reported: %s", text)
		}
		w.manager.OpenInBackground(w.write("c.x", "breaks d.x\n"))
		synctest.Wait()
		time.Sleep(time.Second)
		if text, _ := w.diagnose("c.x", "breaks d.x\nbreaks e.x\n"); !strings.Contains(text, "e.x") || strings.Contains(text, "d.x") {
			t.Errorf("want the new error only: %s", text)
		}
	})
}

func TestDiagnoseWaitsLessForASilentServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) { f.handle = nil }
		w.start(nil)
		var waits []time.Duration
		for i := range 6 {
			text, took := w.diagnose("a.x", strings.Repeat("x", i))
			want := ""
			if i == 0 { // it is said once in a row
				want = notAnswered
			}
			if text != want {
				t.Errorf("report %d: %s", i, text)
			}
			waits = append(waits, took)
		}
		want := []time.Duration{
			2 * time.Second, time.Second, time.Second / 2, time.Second / 4, time.Second / 8, time.Second / 8,
		}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Error(diff)
		}
		// An answer makes it wait again.
		w.server().follow(publishErrors)
		w.diagnose("a.x", "ERROR now\n")
		if text, _ := w.diagnose("a.x", "ERROR again\n"); !strings.Contains(text, "ERROR again") {
			t.Errorf("report: %s", text)
		}
	})
}

// Errors of an earlier version are not reported: the change may have mended them.
func TestDiagnoseLeavesOutOldErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "ERROR old\n")
		w.server().follow(nil)
		if text, _ := w.diagnose("a.x", "new\n"); text != notAnswered {
			t.Errorf("report: %s", text)
		}
	})
}

// What a change broke is reported with the next change if the server was too slow.
func TestDiagnoseReportsLateErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "fine\n")
		w.server().follow(func(f *fakeServer, m message) (any, bool) {
			if m.Method == "textDocument/didChange" {
				time.Sleep(5 * time.Second)
			}
			return publishErrors(f, m)
		})
		if text, took := w.diagnose("a.x", "breaks b.x\n"); text != notAnswered || took != DefaultBound {
			t.Errorf("after %v: %s", took, text)
		}
		time.Sleep(time.Minute)
		w.server().follow(publishErrors)
		if text, _ := w.diagnose("a.x", "fine again\n"); !strings.Contains(text, "broken by a.x") {
			t.Errorf("report: %s", text)
		}
	})
}

// The second step of a server that publishes in two, such as syntax and types, is waited for.
func TestDiagnoseWaitsForTheSecondStep(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "textDocument/didOpen" || m.Method == "textDocument/didChange" {
					f.publish(m.uri())
					time.Sleep(200 * time.Millisecond)
					f.publish(m.uri(), m.text())
				}
				return nil, false
			}
		}
		w.start(nil)
		if text, _ := w.diagnose("a.x", "first"); !strings.Contains(text, "first") {
			t.Errorf("report: %q", text)
		}
	})
}

func TestDiagnosePulls(t *testing.T) {
	report := func(m message) object {
		item := object{"range": Range{}, "severity": 1, "message": "pulled " + m.file()}
		return object{"kind": "full", "items": []object{item}}
	}
	for _, dynamic := range []bool{false, true} {
		t.Run(fmt.Sprintf("dynamic=%v", dynamic), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.configure = func(f *fakeServer) {
					if !dynamic {
						f.capabilities = `{"textDocumentSync":1,"diagnosticProvider":{"interFileDependencies":true,"workspaceDiagnostics":false}}`
					}
					f.handle = func(f *fakeServer, m message) (any, bool) {
						if m.Method == "initialized" && dynamic {
							f.ask("client/registerCapability", object{"registrations": []object{
								{"id": "1", "method": "textDocument/diagnostic", "registerOptions": object{"identifier": "i"}},
							}})
						}
						return report(m), m.Method == "textDocument/diagnostic"
					}
				}
				w.start(nil)
				text, took := w.diagnose("a.x", "x")
				if !strings.Contains(text, "pulled a.x") || took != 0 {
					t.Errorf("after %v: %s", took, text)
				}
				pulls := w.server().find("textDocument/diagnostic")
				if got := strings.Contains(string(pulls[0].Params), `"identifier":"i"`); got != dynamic {
					t.Errorf("request: %s", pulls[0].Params)
				}
			})
		})
	}
}

// A server that starts slowly gets the files that waited for it, and is then waited for as any other.
func TestDiagnoseSlowStart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.ready, f.handle = make(chan struct{}), nil
			time.AfterFunc(5*time.Second, func() { close(f.ready) })
		}
		w.start(nil)
		w.diagnose("a.x", "x")
		w.diagnose("b.x", "x")
		time.Sleep(time.Minute)
		var opened []string
		for _, m := range w.server().find("textDocument/didOpen") {
			opened = append(opened, m.file())
		}
		if diff := cmp.Diff([]string{"a.x", "b.x"}, opened); diff != "" {
			t.Error(diff)
		}
		if _, took := w.diagnose("c.x", "x"); took != DefaultBound {
			t.Errorf("after its start it is waited for %v", took)
		}
	})
}

// A server that publishes other files without a pause is not waited for long.
func TestDiagnosePause(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		if _, took := w.diagnose("a.x", "x"); took != quietTime {
			t.Errorf("a server that answers at once is waited for %v", took)
		}
		w.server().follow(func(f *fakeServer, m message) (any, bool) {
			if m.Method == "textDocument/didChange" {
				f.publish(m.uri())
				for i := range 100 {
					time.Sleep(quietTime / 2)
					f.publish(fileuri.Format(w.dir+"/b.x"), fmt.Sprint(i))
				}
			}
			return nil, false
		})
		if _, took := w.diagnose("a.x", "new"); took > 3*quietTime {
			t.Errorf("other files are waited for %v", took)
		}
		time.Sleep(time.Minute)
	})
}

// Errors of an earlier version of the document are not those of the change.
func TestDiagnoseWaitsForTheVersion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.handle = func(f *fakeServer, m message) (any, bool) {
				switch m.Method {
				case "textDocument/didOpen":
					f.publishVersion(m.uri(), 0)
				case "textDocument/didChange":
					f.publishVersion(m.uri(), 0, "of before")
					time.Sleep(time.Second)
					f.publishVersion(m.uri(), 1, "of the change")
				}
				return nil, false
			}
		}
		w.start(nil)
		w.diagnose("a.x", "x")
		if text, _ := w.diagnose("a.x", "xx"); !strings.Contains(text, "of the change") {
			t.Errorf("report: %s", text)
		}
	})
}

// A caller that goes away is not an answer that did not come.
func TestDiagnoseInterrupted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) { f.handle = nil }
		w.start(nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		w.manager.Diagnose(ctx, []string{w.write("a.x", "x")}, DefaultBound)
		if took := time.Since(began); took != time.Second {
			t.Errorf("an interrupted call waits %v", took)
		}
		if _, took := w.diagnose("a.x", "xx"); took != DefaultBound {
			t.Errorf("the next call waits %v", took)
		}
	})
}

// A server that gives a request up, as LSP lets it, is asked again.
func TestDiagnosePullsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities = `{"textDocumentSync":1,"diagnosticProvider":{}}`
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method != "textDocument/diagnostic" {
					return nil, false
				}
				if len(f.find(m.Method)) == 1 {
					f.send(message{ID: m.ID, Error: jsontext.Value(`{"code":-32802,"message":"server cancelled"}`)})
					return nil, false
				}
				return object{"kind": "full", "items": []object{{"message": "pulled", "range": Range{}}}}, true
			}
		}
		w.start(nil)
		if text, took := w.diagnose("a.x", "x"); !strings.Contains(text, "pulled") || took != 0 {
			t.Errorf("after %v: %s", took, text)
		}
	})
}

// Columns of a server that counts bytes are reported in UTF-16.
func TestDiagnoseConvertsColumns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities = `{"textDocumentSync":2,"positionEncoding":"utf-8"}`
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if text := m.text(); text != "" {
					at := Position{0, strings.Index(text, "!")}
					f.send(message{Method: "textDocument/publishDiagnostics", Params: encode(object{
						"uri": m.uri(), "diagnostics": []object{{"range": Range{at, at}, "message": "here"}},
					})})
				}
				return nil, false
			}
		}
		w.start(nil)
		if text, _ := w.diagnose("a.x", "é😀!"); !strings.Contains(text, "ERROR [1:4] here") {
			t.Errorf("report: %s", text)
		}
		w.diagnose("a.x", "é😀!!")
		change := w.server().find("textDocument/didChange")[0]
		if !strings.Contains(string(change.Params), `"character":7`) {
			t.Errorf("the end of the old text is not in bytes: %s", change.Params)
		}
	})
}

// A change of a file that is removed closes it, and the files that it broke are reported.
func TestDiagnoseRemovedFile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "ERROR one\n")
		path := filepath.Join(w.dir, "a.x")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if r := w.manager.Diagnose(t.Context(), []string{path}, DefaultBound); len(r.Files) > 0 {
			t.Errorf("report: %+v", r)
		}
		synctest.Wait()
		if !isSubsequence([]string{"textDocument/didClose a.x", "workspace/didChangeWatchedFiles"}, w.server().list()) {
			t.Errorf("messages: %q", w.server().list())
		}
	})
}

func TestReportIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		w.diagnose("a.x", "fine\n")
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, "ERROR %d\nbreaks b%d.x\n", i, i)
		}
		path := w.write("a.x", b.String())
		r := w.manager.Diagnose(t.Context(), []string{path}, DefaultBound)
		text := r.Format(func(string) string { return "a.x" })
		if n := strings.Count(text, "ERROR ["); n != maxShown+maxOthers {
			t.Errorf("%d errors are shown", n)
		}
		if !strings.Contains(text, "\n... and 10 more\n") || !strings.Contains(text, "detected in a.x, please fix") {
			t.Errorf("text: %s", text)
		}
		if len(r.Files) != 1+maxOthers {
			t.Errorf("%d files", len(r.Files))
		}
	})
}

// Two sessions that change files at the same time share a server.
func TestDiagnoseShares(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.start(nil)
		a, b := w.write("a.x", "ERROR a\n"), w.write("sub/b.x", "ERROR b\n")
		reports := make(chan Report)
		for _, path := range []string{a, b} {
			go func() { reports <- w.manager.Diagnose(t.Context(), []string{path}, DefaultBound) }()
		}
		for range 2 {
			if r := <-reports; len(r.Changed) != 1 {
				t.Errorf("report: %+v", r)
			}
		}
		if w.count() != 1 {
			t.Errorf("%d servers", w.count())
		}
	})
}

func TestDecodeDiagnostics(t *testing.T) {
	t.Parallel()
	list := []jsontext.Value{
		jsontext.Value(`{"range":{"start":{"line":2,"character":1},"end":{"line":2,"character":3}},"severity":2,"code":"c","source":"s","message":"warning"}`),
		jsontext.Value(`{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}},"code":{"value":1},"message":"no severity\u0007","tags":[1,2]}`),
		jsontext.Value(`{"range":{"start":{"line":-7,"character":-1},"end":{"line":9223372036854775807,"character":5}},"message":"absurd"}`),
		jsontext.Value(`"nonsense"`),
		jsontext.Value(`{"range":"nonsense","message":"x"}`),
	}
	want := []Diagnostic{
		{Range: Range{Position{0, 0}, Position{1<<31 - 1, 5}}, Severity: 1, Message: "absurd"},
		{Range: Range{Position{1, 0}, Position{1, 0}}, Severity: 1, Message: "no severity\uFFFD", Tags: []int{1, 2}},
		{
			Range: Range{Position{2, 1}, Position{2, 3}}, Severity: 2, Code: jsontext.Value(`"c"`), Source: "s",
			Message: "warning",
		},
	}
	if diff := cmp.Diff(want, decodeDiagnostics(list)); diff != "" {
		t.Error(diff)
	}
	const form = `{"range":{"start":{"line":2,"character":1},"end":{"line":2,"character":3}},"severity":2,"code":"c",` +
		`"source":"s","message":"warning"}`
	if diff := cmp.Diff(form, string(encode(want[2]))); diff != "" {
		t.Error(diff)
	}
}

// A change of many files, such as a merge, does not exceed the requests that a server may leave open.
func TestDiagnoseOfManyFiles(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities, f.handle = `{"textDocumentSync":1,"diagnosticProvider":{}}`, nil // it answers no request
		}
		w.start(nil)
		var paths []string
		for i := range 2 * maxOpenCalls {
			paths = append(paths, w.write(fmt.Sprintf("%d.x", i), "x"))
		}
		w.manager.Diagnose(t.Context(), paths, DefaultBound)
		synctest.Wait()
		if got := w.manager.Status(); len(got) != 1 || got[0].Status != "connected" {
			t.Errorf("status: %+v", got)
		}
		if n := len(w.server().find("textDocument/diagnostic")); n != maxParallel {
			t.Errorf("%d requests are open", n)
		}
	})
}
