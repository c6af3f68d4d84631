package tui

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/clipboard"
)

// pasteText gives pasted text to the dialog on top, or to the composer.
func pasteText(m *model, text string) tea.Cmd {
	if n := len(m.dialogs); n > 0 {
		m.dialogs[n-1].PasteText(text)
		return nil
	}
	if m.asks.dialog != nil && m.asks.armed {
		m.asks.dialog.PasteText(text)
		return nil
	}
	if path, ok := imagePath(text); ok && !m.options.Remote {
		m.offeredPaths[path], text = true, "@"+path+" "
	}
	m.editor.PasteText(text)
	return m.asks.holdOff()
}

// imagePath returns the path of an existing image or PDF if the pasted text is nothing else, as it is when a terminal
// pastes a file that was dropped on it.
func imagePath(text string) (path string, ok bool) {
	path = strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "file://"), `'"`)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf":
	default:
		return "", false
	}
	if !filepath.IsAbs(path) || strings.Contains(path, "\n") {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// pasteImage writes the image in the clipboard to a file and mentions that in the prompt.
func pasteImage(m *model) tea.Cmd {
	if m.options.Remote {
		m.note = "images of this machine cannot be attached: cairn runs on another one"
		return nil
	}
	m.note = "reading the clipboard"
	return m.run(func(ctx context.Context) tea.Msg {
		path, err := saveClipboardImage(ctx, m.options.Env)
		return func() tea.Cmd {
			if err != nil {
				m.showError("paste an image", err)
				return nil
			}
			m.note = ""
			return pasteText(m, path)
		}
	})
}

// saveClipboardImage returns the path of a temporary file with the image, which stays as long as the system keeps such
// files: a prompt that waits may mention it.
func saveClipboardImage(ctx context.Context, env func(string) string) (string, error) {
	image, err := clipboard.ReadImage(ctx, env)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "cairn-clipboard-*.png")
	if err != nil {
		return "", err
	}
	_, err = f.Write(image)
	if err = cmp.Or(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
