package attach

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

const png = "\x89PNG\r\n\x1a\n rest"

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFindPastedPath: a pasted text that is one path as a whole is that of a file, in the forms in which terminals
// paste a dropped file. A path inside of other text is not.
func TestFindPastedPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, dir, "It's my shot.png", png)
	escaped := strings.NewReplacer(" ", `\ `, "'", `\'`).Replace(path)
	for text, want := range map[string]bool{
		path: true, path + "\n": true, escaped + " ": true, `"` + path + `"`: true,
		"'" + strings.ReplaceAll(path, "'", `'\''`) + "'":         true,
		(&url.URL{Scheme: "file", Path: path}).String():           true,
		"file://localhost" + (&url.URL{Path: path}).EscapedPath(): true,
		"file://elsewhere" + (&url.URL{Path: path}).EscapedPath(): false,
		"look at " + escaped: false, escaped + " please": false, escaped + " " + escaped: false,
		path + "\nsecond line": false, filepath.Base(path): false, dir: false, dir + "/missing.png": false, "": false,
		"@" + path: false,
	} {
		got, ok := FindPastedPath(text)
		if ok != want || ok && got != path {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

// TestReadFile: text, its lines, images and PDFs are carried, judged by their content; other files and missing lines
// are errors that name the file.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "a.go", "one\ntwo\nthree\n")
	writeFile(t, dir, "shot", png)
	writeFile(t, dir, "data.txt", "\x00\x01")
	for name, c := range map[string]struct{ mime, text, label, fails string }{
		"a.go":     {mime: "text/plain", text: "one\ntwo\nthree\n", label: "a.go"},
		"a.go#2-9": {mime: "text/plain", text: "two\nthree\n", label: "a.go#2-9"},
		"a.go#L2":  {mime: "text/plain", text: "two\n", label: "a.go#2"},
		"a.go#3-":  {mime: "text/plain", text: "three\n", label: "a.go#3-"},
		"a.go#4":   {fails: "a.go has 3 lines, there is no line 4"},
		"a.go#2-1": {fails: "a.go#2-1 not found"},
		"shot":     {mime: "image/png", text: png, label: "shot"},
		"shot#1":   {fails: "shot has no lines"},
		"data.txt": {fails: "data.txt is binary"},
		"missing":  {fails: "missing not found"},
		".":        {mime: "application/x-directory", label: filepath.Base(dir)},
	} {
		path, lines := CutLines(filepath.Join(dir, name))
		f, err := ReadFile(path, lines)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %v, want %s", name, err, c.fails)
			}
			continue
		}
		_, data, _ := session.DataURI(f.URI)
		diff := cmp.Diff([]string{c.mime, c.text, c.label}, []string{f.Mime, string(data), f.Name})
		if diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestInspectMedia: the content decides whether a file is an image.
func TestInspectMedia(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"shot": png, "text.png": "words", "empty.png": ""} {
		m, ok := InspectMedia(writeFile(t, dir, name, content))
		if ok != (name == "shot") || ok && (m.Size != int64(len(png)) || m.Mime != "image/png") {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
}
