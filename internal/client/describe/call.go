package describe

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// argWidth bounds what a line shows of a call's arguments, in characters.
const argWidth = 120

// arguments are those of the tools by which a call is described.
type arguments struct {
	FilePath string `json:"filePath"`
	Path     string `json:"path"`
	Pattern  string `json:"pattern"`
	Command  string `json:"command"`
	Patch    string `json:"patchText"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Subagent string `json:"subagent_type"`
	About    string `json:"description"`

	Todos     []session.Todo     `json:"todos"`
	Questions []session.Question `json:"questions"`

	Rest jsontext.Value `json:",embed"`
}

// DescribeCall describes a call in a few words: the tool and its main argument.
func DescribeCall(tool string, input jsontext.Value) string {
	var in arguments
	name := terminal.FirstLine(tool, 40)
	// Tools share the names of their arguments. Input with other types is shown whole.
	if json.Unmarshal(input, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		if !input.IsValid() {
			return name
		}
		in = arguments{} // a tool with other types for these names
	}
	about := ""
	// The first argument present describes the call, from specific to general.
	switch {
	case in.Command != "":
		about = in.Command
	case in.FilePath != "":
		about = in.FilePath
	case in.Patch != "":
		about = strings.Join(patchFiles(in.Patch), ", ")
	case in.Pattern != "" && in.Path != "":
		about = in.Pattern + " in " + in.Path
	case in.Pattern != "":
		about = in.Pattern
	case in.Path != "":
		about = in.Path
	case in.URL != "":
		about = in.URL
	case in.Query != "":
		about = in.Query
	case in.Subagent != "":
		about = in.About + " (@" + in.Subagent + ")"
	case in.Todos != nil:
		open := 0
		for _, todo := range in.Todos {
			if todo.Status.Open() {
				open++
			}
		}
		about = fmt.Sprintf("%d steps, %d open", len(in.Todos), open)
	case len(in.Questions) > 0:
		about = in.Questions[0].Question
	default:
		if about = strings.TrimSpace(string(input)); about == "{}" {
			about = ""
		}
	}
	if about == "" {
		return name
	}
	return name + " " + terminal.FirstLine(about, argWidth)
}

// patchFiles are the files that a patch names, in its order.
func patchFiles(patch string) []string {
	var files []string
	for l := range strings.Lines(patch) {
		for _, marker := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if name, ok := strings.CutPrefix(l, marker); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}
