package tui

import (
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/attach"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/mention"
)

// localMedia are the images and PDFs of this machine that the person named, by the name that follows the @ in the text.
// Only a pasted path as a whole, or a typed @PATH, names one: the content of a file never leaves the machine because
// pasted text mentions it.
type localMedia map[string]attach.Media

// offerPasted returns @PATH for a pasted path of an image or a PDF; false for other text.
func (l localMedia) offerPasted(m *model, text string) (string, bool) {
	path, ok := attach.FindPastedPath(text)
	if !ok {
		return "", false
	}
	media, ok := attach.InspectMedia(path)
	switch {
	case !ok:
		return "", false
	case media.Size > attach.MaxBytes:
		m.note = filepath.Base(path) + " is not attached: it has " + describe.FormatBytes(media.Size) +
			", the limit is " + describe.FormatBytes(attach.MaxBytes)
		return "", false
	}
	l[path] = media
	return "@" + path + " ", true
}

// mediaEndings are the ends of the names of images and PDFs.
func mediaEndings() []string { return []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"} }

// offerTyped notes the file of a typed @PATH. On another machine's server, relative names are its files.
func (l localMedia) offerTyped(m *model, word string) {
	name, ok := strings.CutPrefix(word, "@")
	// Other names are not worth a look at the disk with each key.
	isMedia := slices.Contains(mediaEndings(), strings.ToLower(filepath.Ext(name)))
	if !ok || !isMedia || m.options.Remote && !filepath.IsAbs(name) {
		return
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.api.Directory, path)
	}
	if media, ok := attach.InspectMedia(path); ok && media.Size <= attach.MaxBytes {
		l[name] = media
	}
}

// findIn returns the names in the text.
func (l localMedia) findIn(text string) (names []string) {
	offered := map[string]bool{}
	for name := range l {
		offered[name] = true
	}
	for _, f := range mention.FindFiles(text, offered, "") {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// findPromptFiles returns the files that a text names: images and PDFs of this machine, whose content is sent, and the
// names of others.
func findPromptFiles(m *model, text string) (named []session.File, local []attach.Media) {
	offered := map[string]bool{}
	for name := range m.offeredPaths {
		if _, isLocal := m.media[name]; !isLocal {
			offered[name] = true
		}
	}
	for _, name := range m.media.findIn(text) {
		local = append(local, m.media[name])
	}
	return mention.FindFiles(text, offered, m.api.Directory), local
}

// describeAttached says what goes with the next prompt, "" without files.
func (m *model) describeAttached() string {
	var list []string
	if len(m.attached) > 0 {
		list = append(list, mention.DescribeFiles(m.attached))
	}
	for _, name := range m.media.findIn(m.editor.Text()) {
		media := m.media[name]
		list = append(list, describe.FileLabel(describeMedia(media))+" ("+describe.FormatBytes(media.Size)+")")
	}
	if len(list) == 0 {
		return ""
	}
	return "attached to the next prompt: " + terminal.FirstLine(strings.Join(list, ", "), 300)
}

// describeMedia returns the file as it is in a prompt, without its content.
func describeMedia(x attach.Media) session.File {
	return session.File{Mime: x.Mime, Name: filepath.Base(x.Path)}
}

// checkModelInput reports whether the model of the prompt can see its files. If not, the prompt must not be sent yet:
// the person sees why, and Enter again sends the same prompt.
func checkModelInput(m *model, text string, files []session.File, media []attach.Media) bool {
	// Nothing is known about the inputs of some models; then the prompt is sent.
	ref := m.nextModel()
	i := slices.IndexFunc(m.offers.Models, func(x api.Model) bool {
		return x.ID == ref.ID && x.ProviderID == ref.ProviderID
	})
	if i < 0 || len(m.offers.Models[i].Capabilities.Input) == 0 || m.warnedBlind == text+ref.String() {
		return true
	}
	// Find the first file that the model cannot see.
	files = slices.Concat(files, m.attached)
	for _, x := range media {
		files = append(files, describeMedia(x))
	}
	for _, f := range files {
		kind := ""
		switch {
		case strings.HasPrefix(f.Mime, "image/"):
			kind = "image"
		case f.Mime == "application/pdf":
			kind = "pdf"
		}
		if kind == "" || slices.Contains(m.offers.Models[i].Capabilities.Input, kind) {
			continue
		}
		m.warnedBlind = text + ref.String()
		m.note = ref.String() + " cannot see " + describe.FileLabel(f) +
			": enter again sends the prompt anyway; /models chooses another model"
		return false
	}
	return true
}

// offerTypedFile notes the image that the word at the cursor names, after a typed key.
func offerTypedFile(m *model) tea.Cmd {
	m.media.offerTyped(m, m.editor.Word())
	return completeWord(m)
}
