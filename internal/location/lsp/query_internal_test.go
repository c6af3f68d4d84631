package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const allProviders = `"definitionProvider":true,"referencesProvider":{},"hoverProvider":true,"implementationProvider":true,` +
	`"documentSymbolProvider":true,"callHierarchyProvider":true,"workspaceSymbolProvider":true`

// answerQueries is a handler that answers each query with its method and position, and a search with more symbols than
// are shown.
func answerQueries(_ *fakeServer, m message) (any, bool) {
	switch m.Method {
	case "textDocument/hover":
		return object{"contents": string(m.Params)}, true
	case "textDocument/prepareCallHierarchy":
		return []object{{"name": "item", "data": 1}, {"name": "second"}}, true
	case "workspace/symbol":
		list := []object{{"name": "a file", "kind": 1}}
		for i := range 20 {
			list = append(list, object{"name": fmt.Sprint(i), "kind": 12})
		}
		return list, true
	case "textDocument/implementation":
		return nil, true
	case "textDocument/documentSymbol":
		return []any{nil, object{"name": "f"}}, true
	}
	return []object{{"method": m.Method, "params": m.Params}}, true
}

func TestAsk(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities, f.handle = `{"textDocumentSync":2,`+allProviders+`}`, answerQueries
		}
		w.start(nil)
		path := w.write("a.x", "first\nsecond\n")
		document := `"textDocument":{"uri":"` + fileuri.Format(path) + `"}`
		at := `"position":{"line":1,"character":2},` + document
		for _, test := range []struct{ operation, want string }{
			{"goToDefinition", `[{"method":"textDocument/definition","params":{` + at + `}}]`},
			{"findReferences", `[{"method":"textDocument/references","params":{"context":{"includeDeclaration":true},` + at + `}}]`},
			{"hover", `[` + string(encode(object{"contents": `{` + at + `}`})) + `]`},
			{"documentSymbol", `[{"name":"f"}]`},
			{"goToImplementation", `[]`},
			{"prepareCallHierarchy", `[{"data":1,"name":"item"},{"name":"second"}]`},
			{"incomingCalls", `[{"method":"callHierarchy/incomingCalls","params":{"item":{"data":1,"name":"item"}}}]`},
			{"outgoingCalls", `[{"method":"callHierarchy/outgoingCalls","params":{"item":{"data":1,"name":"item"}}}]`},
		} {
			list, err := w.manager.Ask(t.Context(), Query{Operation: test.operation, Path: path, Position: Position{1, 2}})
			if err != nil {
				t.Errorf("%s: %v", test.operation, err)
			}
			if diff := cmp.Diff(test.want, string(encode(append([]jsontext.Value{}, list...)))); diff != "" {
				t.Errorf("%s: %s", test.operation, diff)
			}
		}
		if list, err := w.manager.Ask(t.Context(), Query{Operation: "workspaceSymbol", Path: path}); err != nil || len(list) != maxSymbols {
			t.Errorf("workspaceSymbol: %d %v", len(list), err)
		}
		if list := w.manager.FindSymbols(t.Context(), "x"); len(list) != maxSymbols {
			t.Errorf("FindSymbols: %d", len(list))
		}
		if _, err := w.manager.Ask(t.Context(), Query{Operation: "hover", Path: w.write("a.y", "")}); !errors.Is(err, errNoServer) {
			t.Errorf("error: %v", err)
		}
	})
}

func TestAskFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities, f.handle = `{"hoverProvider":true,"definitionProvider":false}`, nil
		}
		w.start(nil)
		path := w.write("a.x", "x")
		_, err := w.manager.Ask(t.Context(), Query{Operation: "goToDefinition", Path: path})
		if err == nil || err.Error() != "language server fake does not support goToDefinition" {
			t.Errorf("error: %v", err)
		}
		// A caller that gives up tells the server.
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if _, err := w.manager.Ask(ctx, Query{Operation: "hover", Path: path}); err == nil || err.Error() != "enough" {
			t.Errorf("error: %v", err)
		}
		synctest.Wait()
		if list := w.server().find("$/cancelRequest"); len(list) != 1 || string(list[0].Params) != `{"id":2}` {
			t.Errorf("messages: %q", w.server().list())
		}
		// A server that answers nothing is ended.
		for range maxOpenCalls {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _ = w.manager.Ask(ctx, Query{Operation: "hover", Path: path})
			cancel()
		}
		synctest.Wait()
		if got := w.manager.Status(); len(got) != 1 || !strings.Contains(got[0].Reason, "64 requests have no answer") {
			t.Errorf("status: %+v", got)
		}
	})
}

// The error of a server is that of the call.
func TestAskReportsErrorsOfServers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities = `{"hoverProvider":true}`
			f.handle = func(f *fakeServer, m message) (any, bool) {
				if m.Method == "textDocument/hover" {
					f.send(message{ID: m.ID, Error: jsontext.Value(`{"code":1,"message":"no identifier found"}`)})
				}
				return nil, false
			}
		}
		w.start(nil)
		_, err := w.manager.Ask(t.Context(), Query{Operation: "hover", Path: w.write("a.x", "x")})
		if err == nil || err.Error() != "no identifier found" {
			t.Errorf("error: %v", err)
		}
	})
}

// Positions go to a server that counts bytes, and come from it, in UTF-16 here.
func TestAskConvertsColumns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		other := w.write("b.x", "é😀b")
		w.configure = func(f *fakeServer) {
			f.capabilities = `{"positionEncoding":"utf-8","textDocumentSync":2,` + allProviders + `}`
			f.handle = func(_ *fakeServer, m message) (any, bool) {
				at := func(n int) object { return object{"start": Position{0, n}, "end": Position{0, n}} }
				switch m.Method {
				case "textDocument/definition":
					return []object{
						{"uri": m.uri(), "range": at(4), "params": m.Params},
						{"uri": fileuri.Format(other), "range": at(7)},
						{"targetUri": fileuri.Format(other), "targetRange": at(7), "originSelectionRange": at(4)},
					}, true
				case "textDocument/prepareCallHierarchy":
					return []object{{"uri": m.uri(), "range": at(4)}}, true
				case "callHierarchy/incomingCalls":
					return []object{{"from": object{"uri": fileuri.Format(other), "range": at(7)}, "fromRanges": []object{at(7)}}}, true
				case "callHierarchy/outgoingCalls":
					return []object{{"to": object{"uri": fileuri.Format(other), "range": at(7)}, "fromRanges": []object{at(4)}}}, true
				}
				return nil, false
			}
		}
		w.start(nil)
		path := w.write("a.x", "😀a")
		ask := func(operation string) string {
			list, err := w.manager.Ask(t.Context(), Query{Operation: operation, Path: path, Position: Position{0, 2}})
			if err != nil {
				t.Fatal(err)
			}
			return strings.ReplaceAll(string(encode(list)), fileuri.Format(w.dir), "")
		}
		at := func(n int) string {
			return fmt.Sprintf(`{"end":{"character":%d,"line":0},"start":{"character":%d,"line":0}}`, n, n)
		}
		// The server got byte 4, which is column 2.
		want := `[{"params":{"position":{"character":2,"line":0},"textDocument":{"uri":"/a.x"}},"range":` + at(2) +
			`,"uri":"/a.x"},{"range":` + at(4) + `,"uri":"/b.x"},{"originSelectionRange":` + at(2) + `,"targetRange":` + at(4) +
			`,"targetUri":"/b.x"}]`
		if diff := cmp.Diff(want, ask("goToDefinition")); diff != "" {
			t.Error(diff)
		}
		sent := string(w.server().find("textDocument/definition")[0].Params)
		if !strings.Contains(sent, `"character":4`) {
			t.Errorf("sent: %s", sent)
		}
		want = `[{"from":{"range":` + at(4) + `,"uri":"/b.x"},"fromRanges":[` + at(4) + `]}]`
		if diff := cmp.Diff(want, ask("incomingCalls")); diff != "" {
			t.Error(diff)
		}
		want = `[{"fromRanges":[` + at(2) + `],"to":{"range":` + at(4) + `,"uri":"/b.x"}}]`
		if diff := cmp.Diff(want, ask("outgoingCalls")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTool(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.configure = func(f *fakeServer) {
			f.capabilities, f.handle = `{"textDocumentSync":2,`+allProviders+`}`, answerQueries
		}
		w.start(nil)
		w.write("a.x", "first\nsecond\n")
		lsp := NewTool(w.manager, workpath.Resolver{Directory: w.dir, Worktree: w.dir})
		run := func(input string, deny error) (tool.Output, []tool.Request, error) {
			var asked []tool.Request
			out, err := lsp.Run(t.Context(), tool.Call{
				Name: "lsp", Input: jsontext.Value(input),
				Ask: func(_ context.Context, r tool.Request) error { asked = append(asked, r); return deny },
			})
			return out, asked, err
		}
		out, asked, err := run(`{"operation":"documentSymbol","filePath":"a.x","line":1,"character":1}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) != 1 || asked[0].Action != "lsp" || asked[0].Resources[0] != "*" {
			t.Errorf("asked: %+v", asked)
		}
		if out.Title != "documentSymbol a.x" || string(out.Structured) != `{"result":[{"name":"f"}]}` {
			t.Errorf("%s: %s", out.Title, out.Structured)
		}
		if diff := cmp.Diff("[\n  {\n    \"name\": \"f\"\n  }\n]", out.Content[0].Text); diff != "" {
			t.Error(diff)
		}
		out, _, err = run(`{"operation":"goToImplementation","filePath":"a.x","line":1,"character":2}`, nil)
		if err != nil || out.Content[0].Text != "No results found for goToImplementation" ||
			out.Title != "goToImplementation a.x:1:2" {
			t.Errorf("%+v %v", out, err)
		}
		if _, _, err = run(`{"operation":"hover","filePath":"none.x","line":1,"character":1}`, nil); err == nil ||
			err.Error() != "File not found: "+filepath.Join(w.dir, "none.x") {
			t.Errorf("error: %v", err)
		}
		denied := errors.New("denied")
		if _, _, err = run(`{"operation":"hover","filePath":"a.x","line":1,"character":1}`, denied); !errors.Is(err, denied) {
			t.Errorf("error: %v", err)
		}
	})
}

// Large results are cut, and the text says so.
func TestToolResultsAreBounded(t *testing.T) {
	t.Parallel()
	var list []jsontext.Value
	for range 10 {
		list = append(list, encode(strings.Repeat("x", 50<<10)))
	}
	text, kept := formatResults("findReferences", list)
	if len(kept) != 5 || !strings.HasSuffix(text, "(5 more results are not shown)") {
		t.Errorf("%d are kept: …%s", len(kept), text[len(text)-40:])
	}
}
