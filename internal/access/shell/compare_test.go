//go:build linux

package shell_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/shell"
)

// reading is the commands of a line.
type reading []readCommand

// readCommand is a command of a reading.
type readCommand struct {
	words []shell.Word
	opens []opening
}

// opening is a redirection to a file.
type opening struct {
	mode byte // '<' reads, '>' truncates, 'a' appends
	path shell.Word
}

// readLine reads a line with the recogniser.
func readLine(text string) (reading, error) {
	line, err := shell.Parse(text)
	if err != nil {
		return nil, err
	}
	var out reading
	for _, c := range line.Commands {
		r := readCommand{words: c.Words}
		for _, redirection := range c.Redirections {
			operator := strings.TrimPrefix(redirection.Operator, "2")
			mode := map[string]byte{"<": '<', ">": '>', ">>": 'a'}[operator]
			r.opens = append(r.opens, opening{mode, redirection.Target})
		}
		out = append(out, r)
	}
	return out, nil
}

// compare evaluates the line and says where bash differs from the reading.
func compare(o *oracle, line string, r reading) (string, error) {
	more, able := r.prerequisites()
	fault, err := r.compareRun(o, line, 0, more, able)
	if fault == "" && err == nil && strings.Contains(line, "||") {
		fault, err = r.compareRun(o, line, 1, more, able)
	}
	if fault == "" && err == nil && len(more) > 0 { // what is read is not made
		fault, err = r.compareRun(o, line, 0, nil, false)
	}
	return fault, err
}

func (r reading) compareRun(o *oracle, line string, status int, more map[string]string, able bool) (string, error) {
	got, err := o.run(line, status, more)
	if err != nil {
		return "", err
	}
	whole := able && status == 0 && !strings.Contains(line, "||")
	by, fault := r.assign(got.commands, able)
	if fault != "" {
		return fault, nil
	}
	for i, c := range r {
		if whole && by[i] < 0 && !c.isEmpty() {
			return fmt.Sprintf("bash did not run %v", c), nil
		}
	}
	return r.compareFiles(got.files, whole), nil
}

// assign finds a different command of the reading for each that bash ran, by augmenting paths. by holds, for each
// command of the reading, the index of the one that bash ran, -1 for none.
func (r reading) assign(got []ranCommand, able bool) (by []int, fault string) {
	by = slices.Repeat([]int{-1}, len(r))
	var place func(g int, tried []bool) bool
	place = func(g int, tried []bool) bool {
		for i, c := range r {
			if tried[i] || len(c.words) == 0 || !matchWords(c.words, got[g].words) {
				continue
			}
			if f := r.compareState(i, got[g]); f != "" && able {
				fault = f
				continue
			}
			tried[i] = true
			if by[i] < 0 || place(by[i], tried) {
				by[i] = g
				return true
			}
		}
		return false
	}
	for g, c := range got {
		if fault = ""; !place(g, make([]bool, len(r))) {
			return by, fmt.Sprintf("bash ran %q %s, the reading is %v", c.words, fault, r)
		}
	}
	return by, ""
}

// isEmpty reports that the command may have no words when it runs.
func (c readCommand) isEmpty() bool {
	return !slices.ContainsFunc(c.words, func(w shell.Word) bool { return strings.Trim(w.Text, shell.Placeholder) != "" })
}

// matchWords reports that the words may have become what bash ran.
func matchWords(want []shell.Word, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	w := want[0]
	if w.Literal {
		return len(got) > 0 && w.Text == got[0] && matchWords(want[1:], got[1:])
	}
	first, last := strings.IndexByte(w.Text, shell.Placeholder[0]), strings.LastIndexByte(w.Text, shell.Placeholder[0])
	for n := range len(got) + 1 {
		fits := n > 0 && strings.HasPrefix(got[0], w.Text[:first]) && strings.HasSuffix(got[n-1], w.Text[last+1:])
		if (fits || n == 0 && strings.Trim(w.Text, shell.Placeholder) == "") && matchWords(want[1:], got[n:]) {
			return true
		}
	}
	return false
}

// prerequisites are the files that the line reads; able reports that all its redirections succeed then and that each
// command is looked up by its name.
func (r reading) prerequisites() (more map[string]string, able bool) {
	more, able = map[string]string{}, true
	for _, c := range r {
		able = able &&
			(len(c.words) == 0 || c.words[0].Literal && c.words[0].Text != "" && !strings.Contains(c.words[0].Text, "/"))
		for _, open := range c.opens {
			name := open.path.Text
			switch {
			case name == "/dev/null" && open.path.Literal:
			case !open.path.Literal || !filepath.IsLocal(name) || strings.Contains(name, "/") && name != "d/f" ||
				name == "." || name == "d" || len(name) > 200:
				able = false
			case open.mode == '<' && files[name] == "":
				more[name] = name + "\n"
			}
		}
	}
	return more, able
}

// compareState says how the input and the variables of a command differ.
func (r reading) compareState(i int, got ranCommand) string {
	for name, value := range map[string]string{"TZ": got.zone, "CI": got.ci} {
		if value != "unset" {
			return fmt.Sprintf("with %s=%q, which nothing assigns", name, value)
		}
	}
	want := ""
	for _, open := range r[i].opens {
		if open.mode == '<' {
			want = open.path.Text + "\n"
		}
	}
	if want == "/dev/null\n" {
		want = ""
	}
	if got.input != want && strings.Trim(got.input, "oe") != "" && !r.writes(strings.TrimSuffix(want, "\n")) {
		return fmt.Sprintf("with the input %q", got.input)
	}
	if want != "" && got.input != want && !r.writes(strings.TrimSuffix(want, "\n")) {
		return fmt.Sprintf("with the input %q instead of %q", got.input, want)
	}
	return ""
}

func (r reading) writes(name string) bool {
	return slices.ContainsFunc(r, func(c readCommand) bool {
		return slices.ContainsFunc(c.opens, func(o opening) bool { return o.mode != '<' && o.path.Text == name })
	})
}

// compareFiles says how the files that bash made or changed differ from the redirections.
func (r reading) compareFiles(got map[string]string, whole bool) string {
	modes, unknown := map[string][]byte{}, false
	for _, c := range r {
		for _, open := range c.opens {
			if open.mode != '<' && open.path.Text != "/dev/null" {
				unknown = unknown || !open.path.Literal
				name := filepath.Clean(open.path.Text)
				modes[name] = append(modes[name], open.mode)
			}
		}
	}
	for name, text := range got {
		mode, ok := modes[name]
		switch {
		case !ok && !unknown:
			return fmt.Sprintf("bash wrote %q, the redirections are %v", name, slices.Collect(maps.Keys(modes)))
		case whole && len(mode) == 1 && mode[0] == '>' && strings.Trim(text, "oe") != "":
			return fmt.Sprintf("bash did not truncate %q", name)
		case len(mode) == 1 && mode[0] == 'a' && !strings.HasPrefix(text, files[name]):
			return fmt.Sprintf("bash truncated %q", name)
		}
	}
	for name, mode := range modes {
		if _, ok := got[name]; !ok && whole && (mode[0] == '>' || files[name] == "") {
			return fmt.Sprintf("bash did not write %q", name)
		}
	}
	return ""
}
