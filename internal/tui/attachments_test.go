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

// TestImageOfDraft: the image of a prompt that was typed before a restart is sent.
func TestImageOfDraft(t *testing.T) {
	file := composer.NewDraftFile(filepath.Join(t.TempDir(), "tui", "draft.json"))
	m := newTestModel(t, file)
	m.Update(tea.PasteMsg{Content: writeTestImage(t)})
	m.Update(saveMsg{})
	m = newTestModel(t, file)
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
