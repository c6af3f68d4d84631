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

// localFiles are the files of this machine that the person named, by the name that follows the @ in the text: images
// and PDFs, and text outside of the session's directory. Only a pasted path as a whole, or a typed @PATH, names one:
// the content of a file never leaves the machine because pasted text mentions it.
//
// Files are looked at in the background, because a directory of another machine may answer late.
type localFiles map[string]attach.File

// inspectPasted looks at the file whose path a pasted text is as a whole. The path of an image or a PDF becomes a
// mention where it was pasted; other text stays.
func inspectPasted(m *model, text string) tea.Cmd {
	if len(attach.ListPastedPaths(text)) == 0 {
		return nil
	}
	return m.readDisk(func() tea.Msg {
		path, ok := attach.FindPastedPath(text)
		if !ok {
			return nil
		}
		f, ok := attach.InspectMedia(path)
		return func() tea.Cmd {
			switch {
			case !ok:
			case f.Size > attach.MaxBytes:
				m.note = filepath.Base(path) + " is not attached: it has " + describe.FormatBytes(f.Size) +
					", the limit is " + describe.FormatBytes(attach.MaxBytes)
			case m.editor.ReplacePasted(text, "@"+path+" "): // else it is edited or sent already
				m.localFiles[path] = f
			}
			return nil
		}
	})
}

// mediaEndings are the ends of the names of images and PDFs.
func mediaEndings() []string { return []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"} }

// inspectWord notes the typed mention at the cursor, after a key, and looks at its file.
func inspectWord(m *model) tea.Cmd {
	word, ok := strings.CutPrefix(m.editor.Word(), "@")
	if !ok {
		return nil
	}
	m.typedMentions[word] = true
	return m.inspectTyped(word)
}

// inspectTyped looks at the file of a typed mention, at one at a time: the newest one that is typed meanwhile is the next.
func (m *model) inspectTyped(word string) tea.Cmd {
	name, _ := attach.CutLines(word)
	path := localPath(m, name)
	if path == "" {
		return nil
	}
	if m.inspecting {
		m.typedNext = word
		return nil
	}
	m.inspecting, m.typedNext = true, ""
	return m.readDisk(func() tea.Msg {
		f, err := attach.Inspect(path)
		return func() tea.Cmd {
			m.inspecting = false
			m.keepInspected(name, path, f, err)
			return m.inspectTyped(m.typedNext)
		}
	})
}

// keepInspected keeps what was found at the path of a name, if the name still means that path.
func (m *model) keepInspected(name, path string, f attach.File, err error) {
	if localPath(m, name) != path {
		return
	}
	if delete(m.localFiles, name); err == nil { // it may have been there before
		m.localFiles[name] = f
	}
}

// forget removes the names of a file.
func (l localFiles) forget(path string) {
	maps.DeleteFunc(l, func(_ string, x attach.File) bool { return x.Path == path })
}

// forgetRelative removes the names that begin in a directory which is left.
func (l localFiles) forgetRelative() {
	maps.DeleteFunc(l, func(name string, _ attach.File) bool {
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
func (l localFiles) findIn(text string) (names []string) {
	for _, f := range l.findFiles(text) {
		if name := mention.NameOf(f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// findFiles returns the files that the text names, without their content.
func (l localFiles) findFiles(text string) []session.File {
	offered := map[string]bool{}
	for name := range l {
		offered[name] = true
	}
	return mention.FindFiles(text, offered, "")
}

// findPromptFiles returns the files that a text names: those of this machine, whose content is sent, and the names of
// others.
func findPromptFiles(m *model, text string) (named []session.File, local []attach.File) {
	offered := map[string]bool{}
	for name := range m.offeredPaths {
		if _, isLocal := m.localFiles[name]; !isLocal {
			offered[name] = true
		}
	}
	for _, f := range m.localFiles.findFiles(text) {
		name, lines := attach.CutLines(f.Name)
		if _, isLocal := m.localFiles[name]; !isLocal { // a name that ends like lines
			name, lines = f.Name, attach.Lines{}
		}
		x := m.localFiles[name]
		if x.Lines = lines; !slices.Contains(local, x) {
			local = append(local, x)
		}
	}
	return mention.FindFiles(text, offered, m.api.Directory), local
}

// listTyped returns the names that the person typed behind an @ in the text.
func (m *model) listTyped(text string) (names []string) {
	for _, word := range strings.Fields(text) {
		name, ok := strings.CutPrefix(strings.TrimRight(word, ",;:?!)."), "@")
		if ok && m.typedMentions[name] {
			names = append(names, name)
		}
	}
	return names
}

// checkMentions looks at the files that the person named with a typed @PATH, and then sends the text. If one cannot be
// attached, the text stays: the note says why, and Enter again sends the same text without the file.
func checkMentions(m *model, text string, send func() tea.Cmd) tea.Cmd {
	// Choose the files of this machine. Without one there is nothing to wait for. Resources may be typed whole.
	names, paths := m.listTyped(text), map[string]string{}
	for _, name := range names {
		if mention.IsResource(name) && mention.ExplainResource(m.resources, name) == "" {
			m.offeredPaths[name] = true
		}
		file, _ := attach.CutLines(name)
		if path := localPath(m, file); path != "" && !m.offeredPaths[file] {
			paths[file] = path
		}
	}
	finish := func(problems map[string]error) tea.Cmd {
		if m.warnedMention == text {
			return send()
		}
		for _, name := range names {
			if why := m.explainUnattached(name, problems); why != "" {
				m.warnedMention = text
				m.note = "@" + terminal.FirstLine(name, 200) + " is not attached: " + why +
					"; correct it, or press enter again to send the text alone"
				return nil
			}
		}
		return send()
	}
	if len(paths) == 0 {
		return finish(nil)
	}
	// Look at them in the background. The text is not sent if the person has gone on meanwhile.
	if m.checking {
		return nil
	}
	m.checking = true
	visit := m.visits
	return m.inspectFiles(paths, func(problems map[string]error) tea.Cmd {
		m.checking = false
		if strings.TrimSpace(m.editor.Text()) != text || m.visits != visit {
			m.note = "the prompt was not sent, because it was changed while its files were looked at; press enter again"
			return nil
		}
		return finish(problems)
	})
}

// inspectFiles looks at files of this machine, given by name, in the background and keeps those that can be attached.
// then gets the errors of the others by name; a directory is no error, because the model lists it.
func (m *model) inspectFiles(paths map[string]string, then func(problems map[string]error) tea.Cmd) tea.Cmd {
	return m.readDisk(func() tea.Msg {
		found, problems, isDir := map[string]attach.File{}, map[string]error{}, map[string]bool{}
		for name, path := range paths {
			found[name], problems[name] = attach.Inspect(path)
			if info, err := os.Stat(path); err == nil {
				isDir[name] = info.IsDir()
			}
		}
		return func() tea.Cmd {
			for name, path := range paths {
				if m.keepInspected(name, path, found[name], problems[name]); isDir[name] {
					problems[name] = nil
				}
			}
			return then(problems)
		}
	})
}

// explainUnattached says why a file that the person named does not go with the prompt, from the problems of files by
// name; "" if it does, or if it is no file of this machine.
func (m *model) explainUnattached(name string, problems map[string]error) string {
	// What follows the # looks like lines and is not: it is in the name.
	file, lines := attach.CutLines(name)
	before, after, hasMark := strings.Cut(name, "#")
	if lines.First == 0 && hasMark && after != "" && strings.Trim(after, "L0123456789-") == "" {
		if _, isLocal := m.localFiles[before]; isLocal || m.offeredPaths[before] || localPath(m, before) != "" {
			return "it has no lines " + after
		}
	}
	if err := problems[file]; err != nil {
		return err.Error()
	}
	if mention.IsResource(name) && !m.offeredPaths[name] {
		return mention.ExplainResource(m.resources, name)
	}
	return ""
}

// describeAttached says what goes with the next prompt, "" without files.
func (m *model) describeAttached() string {
	var list []string
	if len(m.attached) > 0 {
		list = append(list, mention.DescribeFiles(m.attached))
	}
	for _, name := range m.localFiles.findIn(m.editor.Text()) {
		f := m.localFiles[name]
		list = append(list, describe.FileLabel(withoutContent(f))+" ("+describe.FormatBytes(f.Size)+")")
	}
	if len(list) == 0 {
		return ""
	}
	return "attached to the next prompt: " + terminal.FirstLine(strings.Join(list, ", "), 300)
}

// withoutContent returns the file as it is in a prompt, without its content.
func withoutContent(x attach.File) session.File {
	return session.File{Mime: x.Mime, Name: filepath.Base(x.Path)}
}

// checkModelInput reports whether the model of the prompt can see its files. If not, the prompt must not be sent yet:
// the person sees why, and Enter again sends the same prompt.
func checkModelInput(m *model, text string, files []session.File, local []attach.File) bool {
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
	for _, x := range local {
		files = append(files, withoutContent(x))
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

// inspectKept looks at the files that kept texts name, and says which are gone.
func (m *model) inspectKept(names []string) tea.Cmd {
	paths := map[string]string{}
	for _, name := range names {
		m.typedMentions[name] = true
		if path := localPath(m, name); path != "" {
			paths[name] = path
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return m.inspectFiles(paths, func(problems map[string]error) tea.Cmd {
		for _, name := range names {
			if why := m.explainUnattached(name, problems); why != "" {
				m.note = "@" + terminal.FirstLine(name, 200) + " of the text that was kept cannot be attached any more: " + why
			}
		}
		return nil
	})
}
