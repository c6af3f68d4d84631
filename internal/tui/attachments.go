package tui

import (
	"maps"
	"os"
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

// offerTyped notes the file of a typed @PATH.
func (l localMedia) offerTyped(m *model, word string) {
	word, ok := strings.CutPrefix(word, "@")
	if !ok {
		return
	}
	m.typedMentions["@"+word] = true
	name, _ := attach.CutLines(word)
	path := localPath(m, name)
	if path == "" {
		return
	}
	media, err := attach.Inspect(path)
	if err != nil {
		delete(l, name) // it may have been there before, or in another directory
		return
	}
	l[name] = media
}

// forget removes the names of a file.
func (l localMedia) forget(path string) {
	maps.DeleteFunc(l, func(_ string, x attach.Media) bool { return x.Path == path })
}

// forgetRelative removes the names that begin in a directory which is left.
func (l localMedia) forgetRelative() {
	maps.DeleteFunc(l, func(name string, _ attach.Media) bool {
		return !filepath.IsAbs(name) && !strings.HasPrefix(name, "~/")
	})
}

// localPath returns the path of a name that a person typed if it is read on this machine: an image, a PDF, or a file
// outside of the session's directory. Else it returns "": other names, and on another machine's server relative ones,
// are those of the server.
func localPath(m *model, name string) string {
	isMedia := slices.Contains(mediaEndings(), strings.ToLower(filepath.Ext(name)))
	below, isHome := strings.CutPrefix(name, "~/")
	switch {
	case isHome && m.options.Env("HOME") != "":
		return filepath.Join(m.options.Env("HOME"), below)
	case filepath.IsAbs(name) && filepath.Base(name) != string(filepath.Separator):
		return name
	case !m.options.Remote && (isMedia || strings.HasPrefix(name, "../")):
		return filepath.Join(m.api.Directory, name)
	}
	return ""
}

// findIn returns the names in the text.
func (l localMedia) findIn(text string) (names []string) {
	for _, f := range l.findFiles(text) {
		if name := mention.NameOf(f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// findFiles returns the files that the text names, without their content.
func (l localMedia) findFiles(text string) []session.File {
	offered := map[string]bool{}
	for name := range l {
		offered[name] = true
	}
	return mention.FindFiles(text, offered, "")
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
	for _, f := range m.media.findFiles(text) {
		name, lines := attach.CutLines(f.Name)
		if _, isLocal := m.media[name]; !isLocal { // a name that ends like lines
			name, lines = f.Name, attach.Lines{}
		}
		x := m.media[name]
		if x.Lines = lines; !slices.Contains(local, x) {
			local = append(local, x)
		}
	}
	return mention.FindFiles(text, offered, m.api.Directory), local
}

// checkMentions reports whether all files can be attached that the person named with a typed @PATH. If not, the prompt
// must not be sent yet: the note says why, and Enter again sends the same text without the file.
func checkMentions(m *model, text string) bool {
	if m.warnedMention == text {
		return true
	}
	for _, word := range strings.Fields(text) {
		word = strings.TrimRight(word, ",;:?!).")
		if !m.typedMentions[word] {
			continue
		}
		if why := explainUnattached(m, word[1:]); why != "" {
			m.warnedMention = text
			m.note = terminal.FirstLine(word, 200) + " is not attached: " + why +
				"; correct it, or press enter again to send the text alone"
			return false
		}
	}
	return true
}

// explainUnattached says why a file that the person named does not go with the prompt; "" if it does, or if it is no
// file of this machine.
func explainUnattached(m *model, name string) string {
	path, lines := attach.CutLines(name)
	before, after, hasMark := strings.Cut(name, "#")
	if lines.First == 0 && hasMark && after != "" && strings.Trim(after, "L0123456789-") == "" {
		if _, isLocal := m.media[before]; isLocal || m.offeredPaths[before] || localPath(m, before) != "" {
			return "it has no lines " + after
		}
	}
	local := localPath(m, path)
	if local == "" || m.offeredPaths[path] {
		return ""
	}
	if info, err := os.Stat(local); err == nil && info.IsDir() {
		return "" // the model lists it
	}
	if _, err := attach.Inspect(local); err != nil {
		return err.Error()
	}
	return ""
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

// offerKept notes the files that kept texts name, and says which are gone.
func (m *model) offerKept(names []string) {
	for _, name := range names {
		m.media.offerTyped(m, "@"+name)
		if why := explainUnattached(m, name); why != "" {
			m.note = "@" + terminal.FirstLine(name, 200) + " of the text that was kept cannot be attached any more: " + why
		}
	}
}
