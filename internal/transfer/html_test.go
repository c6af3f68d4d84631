package transfer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

const pageMessages = `{"data":[
{"type":"user","id":"msg_1","time":{"created":1790000000000},"text":"Fix <b>it</b> & go","files":[{"uri":"file:///w/a.go","name":"a.go"}]},
{"type":"assistant","id":"msg_2","time":{"created":1790000001000,"completed":1790000002000},"agent":"build",
 "model":{"id":"m","providerID":"p"},"content":[
 {"type":"reasoning","id":"r","text":"think <hard>"},
 {"type":"text","id":"t","text":"# Done\\n\\n- **one**\\n\\n<script>alert(1)</script> [x](javascript:alert(1)) key sk-secret-1234"},
 {"type":"tool","id":"c","name":"edit","time":{"created":1},"state":{"status":"completed","input":{"filePath":"/w/a.go"},
  "structured":{"diff":"--- a\\n+++ a\\n@@ -1 +1 @@\\n-old <x>\\n+new"},"content":[{"type":"text","text":"Edit applied"}]}}]},
{"type":"assistant","id":"msg_4","time":{"created":1790000003000,"completed":1790000004000},"agent":"build",
 "model":{"id":"m","providerID":"p"},"content":[
 {"type":"tool","id":"d","name":"task","time":{"created":1},"state":{"status":"completed","input":{"description":"look","subagent_type":"general"},
  "content":[{"type":"text","text":"<task id=\"ses_3\" state=\"completed\">\\n<task_result>\\nIt is fine.\\n</task_result>\\n</task>"}]}}]},
{"type":"user","id":"msg_5","time":{"created":1790000005000},"text":"<task id=\"ses_2\" state=\"completed\">\\n<task_result>\\n# All pass\\n\\nNothing *failed*.\\n</task_result>\\n</task>",
 "parts":[{"id":"prt_1","type":"text","synthetic":true}]},
{"type":"shell","id":"msg_3","time":{"created":1},"callID":"c","command":"ls <dir>","output":"a.go"}],"cursor":{}}`

// The page has what a person reads of a session, runs nothing, loads nothing, and has no secrets.
func TestWriteHTML(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.ReplaceAll(pageMessages, `\\n`, `\n`))
	})
	e := transfer.Export{
		API:   &api.Client{HTTP: &http.Client{Transport: api.Local(server)}, Base: "http://localhost"},
		Known: []string{"sk-secret-1234"},
	}
	var page strings.Builder
	left, err := e.WriteHTML(t.Context(), &page, &session.Session{
		ID: "ses_1", Title: "A <title>", Todos: []session.Todo{{Content: "Look & see", Status: "pending"}},
		Metadata: jsontext.Value(`{}`),
	})
	if err != nil || left != 1 {
		t.Errorf("%d secrets left out, %v", left, err)
	}
	for _, want := range []string{
		"<title>A &lt;title&gt;</title>", "Look &amp; see", "Fix &lt;b&gt;it&lt;/b&gt; &amp; go", "think &lt;hard&gt;",
		"<h1>Done</h1>", "<strong>one</strong>", `<span class="del">-old &lt;x&gt;`, `<span class="add">+new</span>`,
		"Edit applied", "$ ls &lt;dir&gt;", "a.go", "The subagent ses_2 reports", "<h1>All pass</h1>", "It is fine.",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"<script", `href="javascript`, "sk-secret", "<b>", "http://", "https://", "task_result", "state="} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if t.Failed() {
		t.Log(page.String())
	}
}

// The report of a subagent that worked in the background is text for people, not what the model gets.
func TestWriteMarkdownOfReports(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(pageMessages, `\\n`, `\n`))
	})
	e := transfer.Export{API: &api.Client{HTTP: &http.Client{Transport: api.Local(server)}, Base: "http://localhost"}}
	var page strings.Builder
	if _, err := e.WriteMarkdown(t.Context(), &page, &session.Session{ID: "ses_1", Title: "T"}); err != nil {
		t.Fatal(err)
	}
	want := "\n## The subagent ses_2 reports\n\n# All pass\n\nNothing *failed*.\n"
	if !strings.Contains(page.String(), want) || strings.Contains(page.String(), "<task") {
		t.Errorf("%q is missing in\n%s", want, page.String())
	}
}
