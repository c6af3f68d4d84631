package v1_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files that a prompt brings are read as it is sent, and shown as OpenCode shows them. What lies outside of the
// place is only named, and the same prompt again, with its ids, is the same.
func TestFilesOfAPromptAreRead(t *testing.T) {
	w := newWorld(
		t,
		"",
		map[string]string{
			"a.txt":    "alpha\nbeta\ngamma\n",
			"src/m.go": "package m\n",
			"bin.dat":  "\x00\x01",
			"dot.png":  "\x89PNG\r\n\x1a\n",
		},
	)
	outside := filepath.Join(w.home, "secret.txt")
	w.put(t, outside, "secret\n")
	if err := os.Symlink(outside, filepath.Join(w.work, "link.txt")); err != nil {
		t.Fatal(err)
	}
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	file := func(mime, url string) string { return `{"type":"file","mime":"` + mime + `","url":"` + url + `"}` }
	at := "file://" + w.work
	body := `{"noReply":true,"parts":[{"type":"text","text":"look"},` + strings.Join([]string{
		file(
			"text/plain",
			at+"/a.txt?start=2&end=3",
		), file("application/x-directory", at+"/src"), file("text/plain", "file://"+outside),
		file("text/plain", at+"/link.txt"), file("text/plain", at+"/bin.dat"), file("text/plain", "data:text/plain,hi"),
		file("image/png", at+"/dot.png"),
	}, ",") + `]}`
	var got []string
	if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", body); a.status != http.StatusNoContent {
		t.Fatal(a.body)
	}
	for _, m := range get[[]struct {
		Parts []map[string]any `json:"parts"`
	}](t, w, "/session/"+id+"/message")[0].Parts {
		text, _ := m["text"].(string)
		url, _ := m["url"].(string)
		got = append(got, strings.ReplaceAll(m["type"].(string)+" "+text+url, w.work, "/w"))
	}
	want := []string{
		"text look",
		`text Called the Read tool with the following input: {"filePath":"/w/a.txt","offset":2,"limit":2}`,
		"text <path>/w/a.txt</path>\n<type>file</type>\n<content>\n2: beta\n3: gamma\n\n(End of file - total 3 lines)\n" +
			"</content>",
		"file file:///w/a.txt?start=2&end=3",
		`text Called the Read tool with the following input: {"filePath":"/w/src"}`,
		"text <path>/w/src</path>\n<type>directory</type>\n<entries>\nm.go\n\n(1 entry)\n</entries>",
		"file file:///w/src",
		"file file://" + outside, "file file:///w/link.txt", "file file:///w/bin.dat",
		`text Called the Read tool with the following input: {"filePath":""}`, "text hi", "file data:text/plain,hi",
		`text Called the Read tool with the following input: {"filePath":"/w/dot.png"}`,
		"file data:image/png;base64,iVBORw0KGgo=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	named := `{"noReply":true,"messageID":"msg_f00000000001aaaaaaaaaaaaaa","parts":[{"id":"prt_f00000000001aaaaaaaaaaaaaa",` + file("text/plain", at+"/a.txt")[1:] + `]}`
	for range 2 {
		if a := w.ask(t, http.MethodPost, "/session/"+id+"/prompt_async", named); a.status != http.StatusNoContent {
			t.Errorf("%d %s", a.status, a.body)
		}
		w.put(t, filepath.Join(w.work, "a.txt"), "changed\n") // the prompt has what it said before
	}
}

// The second contract reads the files of a prompt as the first one does; a file that changed since does not change a
// prompt that is repeated, and one that is missing is refused.
func TestFilesOfAV2PromptAreRead(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", "dot.png": "\x89PNG\r\n\x1a\n"})
	id := read(t, w.ask(t, http.MethodPost, "/session", `{}`).body).(map[string]any)["id"].(string)
	path, at := "/api/session/"+id+"/prompt", "file://"+w.work
	body := `{"id":"msg_f00000000001aaaaaaaaaaaaaa","resume":false,"prompt":{"text":"look","agents":[],"files":[{"uri":"` +
		at + `/a.txt"},{"uri":"` + at + `/dot.png"}]}}`
	for _, again := range []string{body, strings.Replace(body, `,"agents":[]`, "", 1)} {
		a := w.ask(t, http.MethodPost, path, again)
		if a.status != http.StatusOK || !strings.Contains(a.body, `1: alpha`) ||
			!strings.Contains(a.body, `"data:image/png;base64,iVBORw0KGgo="`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, name := range []string{"a.txt", "dot.png"} {
			w.put(t, filepath.Join(w.work, name), "changed\n")
		}
	}
	missing := `{"resume":false,"prompt":{"text":"look","files":[{"uri":"` + at + `/b.txt"}]}}`
	if a := w.ask(t, http.MethodPost, path, missing); a.status != http.StatusBadRequest {
		t.Errorf("%d %s", a.status, a.body)
	}
}
