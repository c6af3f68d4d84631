package script

import (
	"fmt"
	"strings"
)

// replace does a literal replacement through the edit tool, and tells what became of it.
func (t *task) replace(in intent) string {
	if in.a == in.b {
		return "The old and the new text are the same; there is nothing to do.\n"
	}
	f, e, ready := t.read(in.path, 0, 0)
	if !ready {
		return ""
	}
	if e.failed && e.absent == "" {
		return t.unreadable(in.path, e) + "I changed nothing.\n"
	}
	if e.media {
		return fmt.Sprintf("`%s` is an image or a document; I changed nothing.\n", f.path)
	}
	places := placesOf(f, in.a)
	if len(places) == 0 && f.whole && !e.failed {
		return fmt.Sprintf("`%s` does not contain `%s`; I changed nothing. Upper and lower case matter.\n\n%s", f.path, brief(in.a), t.filesRead())
	}
	args := []any{"filePath", in.path, "oldString", in.a, "newString", in.b}
	if len(places) != 1 || !f.whole {
		args = append(args, "replaceAll", true)
	}
	edit, ready := t.do("edit", args...)
	if !ready {
		return ""
	}
	what := fmt.Sprintf("`%s` with `%s` in `%s`", brief(in.a), brief(in.b), f.path)
	if edit.failed {
		return fmt.Sprintf("I could not replace %s: %s\nI changed nothing.\n\n%s", what, edit.trouble(), t.filesRead())
	}
	if !f.whole || e.failed {
		return fmt.Sprintf("The edit tool replaced %s everywhere and said: %s\n\n%s", what, quote(edit.text), t.filesRead())
	}
	return fmt.Sprintf("Done: I replaced %s in %s (%s). The edit tool said: %s\n\n%s",
		what, count(len(places), "place", "places"), lineList(places), quote(edit.text), t.filesRead())
}

func brief(s string) string { return shorten(strings.ReplaceAll(s, "\n", "⏎"), 80) }

// placesOf returns the lines in which each occurrence of old begins.
func placesOf(f file, old string) []int {
	var places []int
	text := f.text()
	at, row := 0, 0
	for {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return places
		}
		row += strings.Count(text[at:at+i], "\n")
		places = append(places, f.lines[min(row, len(f.lines)-1)].n)
		row += strings.Count(old, "\n")
		at += i + len(old)
	}
}

func lineList(places []int) string {
	const most = 12
	var names []string
	for _, n := range places[:min(len(places), most)] {
		names = append(names, fmt.Sprint(n))
	}
	s := "line " + strings.Join(names, ", ")
	if len(places) > 1 {
		s = "lines " + strings.Join(names, ", ")
	}
	if len(places) > most {
		s += ", …"
	}
	return s
}

// create writes a file that is not there yet.
func (t *task) create(in intent) string {
	e, ready := t.do("read", "filePath", in.path)
	if !ready {
		return ""
	}
	if !e.failed {
		return fmt.Sprintf("`%s` exists already; I do not overwrite files. I changed nothing.\n", in.path)
	}
	if e.absent == "" && !missing().MatchString(e.text) {
		return fmt.Sprintf("I could not make sure that `%s` does not exist: %s; I changed nothing.\n", in.path, e.trouble())
	}
	w, ready := t.do("write", "filePath", in.path, "content", in.a)
	if !ready {
		return ""
	}
	if w.failed {
		return fmt.Sprintf("I could not create `%s`: %s\n", in.path, w.trouble())
	}
	return fmt.Sprintf("Done: I created `%s` with %s. The write tool said: %s\n", in.path, count(len(in.a), "byte", "bytes"), quote(w.text))
}

// run runs a command that the user wrote out.
func (t *task) run(in intent) string {
	e, ready := t.do("bash", "command", in.a)
	if !ready {
		return ""
	}
	if e.failed {
		return fmt.Sprintf("The command `%s` did not succeed: %s\n", brief(in.a), e.trouble())
	}
	var lines []line
	for text := range strings.Lines(e.text) {
		lines = append(lines, line{text: strings.TrimRight(text, "\r\n")})
	}
	if len(lines) == 0 {
		return fmt.Sprintf("I ran `%s`; it printed nothing.\n", brief(in.a))
	}
	const most = 100
	s := fmt.Sprintf("I ran `%s`. Its output:\n\n%s", brief(in.a), fence(lines[:min(len(lines), most)]))
	if len(lines) > most {
		s += fmt.Sprintf("\n… and %d more lines.\n", len(lines)-most)
	}
	return s
}
