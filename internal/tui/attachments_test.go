package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/attach"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

const testImage = "\x89PNG\r\n\x1a\n rest"

// writeTestImage writes an image whose name has a blank.
func writeTestImage(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my shot.png")
	if err := os.WriteFile(path, []byte(testImage), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sentFiles presses Enter and returns the files of the prompt, and whether it was sent.
func sentFiles(m *model) ([]session.File, bool) {
	n := len(m.unsentPrompts)
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		if m.unsentPrompts[n].reading { // the request itself is not made
			m.Update(f(context.Background()))
		}
		return nil
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(m.unsentPrompts) == n {
		return nil, false
	}
	return m.unsentPrompts[n].Files, true
}

// TestImageFromAnywhere: an image outside of the project is sent with its content if its path is pasted as a whole, or
// typed behind an @; also to another machine. A path inside of pasted text is text.
func TestImageFromAnywhere(t *testing.T) {
	image := writeTestImage(t)
	plain := strings.ReplaceAll(image, "my ", "my")
	if err := os.WriteFile(plain, []byte(testImage), 0o600); err != nil {
		t.Fatal(err)
	}
	paste := func(text string) func(*model) {
		return func(m *model) { m.Update(tea.PasteMsg{Content: text}) }
	}
	for name, c := range map[string]struct {
		do   func(*model)
		want bool
	}{
		"pasted in quotes":       {paste("'" + image + "'"), true},
		"pasted escaped":         {paste(strings.ReplaceAll(image, " ", `\ `)), true},
		"typed":                  {func(m *model) { typeText(m, "what is @"+plain+" about") }, true},
		"inside of a paste":      {paste("please look at @" + plain + " now"), false},
		"several lines":          {paste(plain + "\n" + plain), false},
		"a mention that is text": {paste("@" + plain), false},
		"a mention that is text, and a key that removes the blank behind it": {func(m *model) {
			paste("see @" + plain + " ")(m)
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyBackspace})
		}, false},
	} {
		for _, remote := range []bool{false, true} {
			m := newTestModel(t, composer.DraftFile{})
			m.options.Remote = remote
			c.do(m)
			above := ansi.Strip(strings.Join(m.aboveLines(20), "\n"))
			files, sent := sentFiles(m)
			if !sent || (len(files) == 1) != c.want {
				t.Errorf("%s, remote %v: sent %v, files %v", name, remote, sent, files)
				continue
			}
			if !c.want {
				continue
			}
			_, data, _ := session.DataURI(files[0].URI)
			if string(data) != testImage || files[0].Mime != "image/png" {
				t.Errorf("%s: %+v", name, files[0])
			}
			if want := filepath.Base(files[0].Name) + " (13 bytes)"; !strings.Contains(above, want) {
				t.Errorf("%s: %q is not announced: %s", name, want, above)
			}
			m.transcript.SetMessages([]session.Message{&session.User{Text: "x", Files: files}}, nil)
			if got := m.transcript.View(); !strings.Contains(got, "image "+files[0].Name+" (13 bytes)") {
				t.Errorf("%s: the transcript is %s", name, got)
			}
		}
	}
}

// TestTypedPaths: a typed @PATH is sent with its content from anywhere on this machine, with its lines. One that cannot
// be attached is named before the prompt is sent, which stays in the composer; Enter again sends the text alone.
func TestTypedPaths(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "proj")
	for name, content := range map[string]string{
		"note.txt": "one\ntwo\nthree\n", "x.png": testImage, "b.bin": "\x00\x01", "proj/f.txt": "f\n",
		"big.png": testImage + strings.Repeat("x", attach.MaxBytes),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]struct{ name, content, refused string }{
		"see @" + home + "/note.txt":     {name: "note.txt", content: "one\ntwo\nthree\n"},
		"see @" + home + "/note.txt#2-3": {name: "note.txt#2-3", content: "two\nthree\n"},
		"see @~/x.png, please":           {name: "x.png", content: testImage},
		"see @../note.txt.":              {name: "note.txt", content: "one\ntwo\nthree\n"},
		"see @/no/such.png":              {refused: "@/no/such.png is not attached: there is no such file"},
		"see @~/b.bin":                   {refused: "@~/b.bin is not attached: it is binary"},
		"see @../big.png":                {refused: "@../big.png is not attached: it is larger than 10 MiB"},
		"see @f.txt#3-1":                 {refused: "@f.txt#3-1 is not attached: it has no lines 3-1"},
		"see @f.txt#0":                   {refused: "@f.txt#0 is not attached: it has no lines 0"},
		"see @types/node and @you":       {},
	} {
		m := newTestModel(t, composer.DraftFile{})
		env := m.options.Env
		m.options.Env = func(name string) string {
			if name == "HOME" {
				return home
			}
			return env(name)
		}
		m.api.Directory = dir
		m.offeredPaths["f.txt"] = true
		typeText(m, text)
		files, sent := sentFiles(m)
		if want.refused != "" {
			if sent || !strings.HasPrefix(m.note, want.refused) || m.editor.Text() != text {
				t.Errorf("%s: sent %v, note %q, the composer has %q", text, sent, m.note, m.editor.Text())
			}
			if files, sent := sentFiles(m); !sent || len(files) > 0 {
				t.Errorf("%s: enter again sends %v, files %v", text, sent, files)
			}
			continue
		}
		if !sent || len(files) != min(len(want.name), 1) {
			t.Errorf("%s: sent %v, files %v, note %q", text, sent, files, m.note)
			continue
		}
		if want.name != "" {
			_, data, _ := session.DataURI(files[0].URI)
			if files[0].Name != want.name || string(data) != want.content {
				t.Errorf("%s: %q with %q", text, files[0].Name, data)
			}
		}
	}
}

// TestFilesAreReadInBackground: a key, a paste and Enter do not wait for the disk. Typed keys have one file looked at at a
// time. A text that is changed while its files are looked at is not sent.
func TestFilesAreReadInBackground(t *testing.T) {
	image := strings.ReplaceAll(writeTestImage(t), "my ", "")
	if err := os.WriteFile(image, []byte(testImage), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		write     func(*model)
		meanwhile string
		sent      bool
	}{
		"typed":             {func(m *model) { typeText(m, "see @"+image) }, "", true},
		"pasted":            {func(m *model) { m.Update(tea.PasteMsg{Content: image}) }, "", true},
		"typed and changed": {func(m *model) { typeText(m, "see @"+image) }, " more", false},
	} {
		m := newTestModel(t, composer.DraftFile{})
		var reads []func() tea.Msg
		m.readDisk = func(f func() tea.Msg) tea.Cmd { reads = append(reads, f); return nil }
		finishReads := func() {
			for len(reads) > 0 {
				f := reads[0]
				reads = reads[1:]
				m.Update(f())
			}
		}
		c.write(m)
		if len(reads) != 1 || len(m.localFiles) > 0 {
			t.Errorf("%s: %d reads wait, the files are %v", name, len(reads), m.localFiles)
		}
		finishReads()
		if _, ok := m.localFiles[image]; !ok {
			t.Errorf("%s: the files are %v", name, m.localFiles)
		}
		m.typedMentions[image] = true // of the pasted one, too
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyEnter})
		if len(reads) != 1 || len(m.unsentPrompts) > 0 {
			t.Errorf("%s: Enter has %d reads wait, %d prompts are sent", name, len(reads), len(m.unsentPrompts))
		}
		typeText(m, c.meanwhile)
		finishReads()
		if sent := len(m.unsentPrompts) == 1; sent != c.sent || m.editor.IsEmpty() != c.sent || (m.note == "") != c.sent {
			t.Errorf("%s: sent %v, the composer has %q, the note is %q", name, sent, m.editor.Text(), m.note)
		}
	}
}

// TestPasteWhileFileIsRead: a mention in a text that is pasted while the file of a typed one is looked at stays text.
func TestPasteWhileFileIsRead(t *testing.T) {
	image := strings.ReplaceAll(writeTestImage(t), "my ", "")
	if err := os.WriteFile(image, []byte(testImage), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newTestModel(t, composer.DraftFile{})
	var reads []func() tea.Msg
	m.readDisk = func(f func() tea.Msg) tea.Cmd { reads = append(reads, f); return nil }
	typeText(m, "@/a ")
	m.Update(tea.PasteMsg{Content: "see @" + image})
	for len(reads) > 0 {
		f := reads[0]
		reads = reads[1:]
		m.Update(f())
	}
	if len(m.localFiles) > 0 || m.typedMentions[image] {
		t.Errorf("the files are %v, typed are %v", m.localFiles, m.typedMentions)
	}
}

// TestGoneImageOfDraft: a kept text whose image is gone says so.
func TestGoneImageOfDraft(t *testing.T) {
	file, image := composer.NewDraftFile(filepath.Join(t.TempDir(), "draft.json")), writeTestImage(t)
	m := newTestModel(t, file)
	m.Update(tea.PasteMsg{Content: image})
	m.Update(saveMsg{})
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	m = newTestModel(t, file)
	if m.Init(); !strings.Contains(m.note, "there is no such file") {
		t.Errorf("the note is %q", m.note)
	}
}

// TestImageOfDraft: the image of a prompt that was typed before a restart is sent.
func TestImageOfDraft(t *testing.T) {
	file := composer.NewDraftFile(filepath.Join(t.TempDir(), "tui", "draft.json"))
	m := newTestModel(t, file)
	m.Update(tea.PasteMsg{Content: writeTestImage(t)})
	m.Update(saveMsg{})
	m = newTestModel(t, file)
	m.Init()
	if files, sent := sentFiles(m); !sent || len(files) != 1 || files[0].Mime != "image/png" {
		t.Errorf("sent %v: %v", sent, files)
	}
}

// TestImageOnce: a prompt with an image that comes back into the composer does not carry it twice.
func TestImageOnce(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.PasteMsg{Content: writeTestImage(t)})
	files, _ := sentFiles(m)
	m.returnPrompt(session.Prompt{Text: m.unsentPrompts[0].Text, Files: files})
	m.unsentPrompts = nil
	if _, sent := sentFiles(m); !sent || len(m.unsentPrompts[0].Files) != 1 {
		t.Errorf("%v, %d files", sent, len(m.unsentPrompts[0].Files))
	}
}

// TestBlindModel: a model that cannot see images is named before the prompt is sent; Enter again sends it.
func TestBlindModel(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.offers.Models = []api.Model{{ID: "blind", ProviderID: "mock", Capabilities: api.ModelCapabilities{Input: []string{"text"}}}}
	m.model = &session.ModelRef{ID: "blind", ProviderID: "mock"}
	m.Update(tea.PasteMsg{Content: writeTestImage(t)})
	text := m.editor.Text()
	if _, sent := sentFiles(m); sent || m.editor.Text() != text || !strings.Contains(m.note, "mock/blind cannot see image my shot.png") {
		t.Errorf("sent %v, the composer has %q, the note is %q", sent, m.editor.Text(), m.note)
	}
	if files, sent := sentFiles(m); !sent || len(files) != 1 {
		t.Errorf("the second time: sent %v with %v", sent, files)
	}
}

// TestMentionedLines: lines of an offered file are sent as OpenCode sends them, and are found again after an undo.
func TestMentionedLines(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.api.Directory = "/w"
	m.offeredPaths["lib/stats.py"] = true
	typeText(m, "see @lib/stats.py#2-3")
	files, sent := sentFiles(m)
	if !sent || len(files) != 1 || files[0].URI != "file:///w/lib/stats.py?start=2&end=3" || files[0].Mime != "text/plain" {
		t.Fatalf("sent %v: %+v", sent, files)
	}
	delete(m.offeredPaths, "lib/stats.py")
	m.returnPrompt(session.Prompt{Text: "see @lib/stats.py#2-3", Files: files})
	if again, _ := sentFiles(m); len(m.attached) != 0 || len(again) != 1 || again[0].URI != files[0].URI {
		t.Errorf("again: %+v, attached %v", again, m.attached)
	}
}

// TestMentionedResource: an @ offers the resources of MCP servers, and one that is named goes with the prompt; a / offers
// the prompts of servers that have been connected meanwhile.
func TestMentionedResource(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	answer(m, "/api/mcp/resource", `{"location":{"directory":"/w"},"data":{"templates":[],"resources":[
		{"server":"docs","name":"The Guide","uri":"doc://guide"},{"server":"docs","name":"Rules","uri":"doc://rules"}]}}`)
	typeText(m, "follow @guid")
	if items := m.completion.Items; len(items) != 1 || items[0].Label != "@mcp:docs:doc://guide  The Guide" {
		t.Fatalf("offered: %+v", items)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyTab})
	files, sent := sentFiles(m)
	if !sent || len(files) != 1 || files[0].URI != "mcp:docs:doc://guide" {
		t.Errorf("sent %v, files %+v", sent, files)
	}
	m = newTestModel(t, composer.DraftFile{})
	answer(m, "/api/command", `{"location":{"directory":"/w"},"data":[{"name":"docs:summary","description":"x"}]}`)
	typeText(m, "/docs")
	if items := m.completion.Items; len(items) != 1 || items[0].ID != "/docs:summary " {
		t.Errorf("commands: %+v", items)
	}
}

// TestUnknownResource: a typed name of a resource that no MCP server has is explained before the text is sent alone; one
// that a server has goes with the prompt, also if it was never offered.
func TestUnknownResource(t *testing.T) {
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	for name, c := range map[string]struct{ text, note string }{
		"unknown server":   {"see @mcp:nope:a:b please", `@mcp:nope:a:b is not attached: no connected MCP server "nope" has resources`},
		"unknown resource": {"see @mcp:notes:a:c.", `@mcp:notes:a:c is not attached: the MCP server "notes" has no resource a:c`},
		"no URI":           {"see @mcp:notes now", `@mcp:notes is not attached: a resource is named @mcp:SERVER:URI`},
		"known":            {"see @mcp:notes:a:b, please", ""},
	} {
		m := newTestModel(t, composer.DraftFile{})
		typeText(m, c.text)
		m.Update(resourcesMsg{{Server: "notes", URI: "a:b", Name: "page"}})
		clear(m.offeredPaths)
		pressKeys(m, enter)
		if c.note == "" {
			if len(m.unsentPrompts) != 1 || len(m.unsentPrompts[0].Prompt.Files) != 1 {
				t.Errorf("%s: %+v, the note is %q", name, m.unsentPrompts, m.note)
			}
			continue
		}
		if len(m.unsentPrompts) > 0 || !strings.HasPrefix(m.note, c.note) {
			t.Errorf("%s: %d prompts are sent, the note is %q", name, len(m.unsentPrompts), m.note)
		}
		if pressKeys(m, enter); len(m.unsentPrompts) != 1 {
			t.Errorf("%s: a second Enter does not send the text", name)
		}
	}
}
