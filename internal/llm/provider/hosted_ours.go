package provider

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// runsHere says why a declaration is of no tool that the vendor runs: vendors have declarations, too, of what a client runs
// whose calls wait for its results. Those would be made, shown and never run. Empty says that nothing is known against it.
func (w Wire) runsHere(declaration jsontext.Value) string {
	var d struct {
		Type        string
		Execution   string
		Functions   jsontext.Value `json:"functionDeclarations"`
		Computer    jsontext.Value `json:"computerUse"`
		Environment struct{ Type string }
	}
	_ = json.Unmarshal(declaration, &d, json.MatchCaseInsensitiveNames(true)) // what is of another form is the vendor's to judge
	kind := d.Type
	switch {
	case w == Gemini && len(d.Functions) > 0:
		kind = "functionDeclarations"
	case w == Gemini && len(d.Computer) > 0:
		kind = "computerUse"
	case w == Gemini:
		return ""
	case kind == "shell" && strings.HasPrefix(d.Environment.Type, "container"), kind == "tool_search" && d.Execution != "client":
		return ""
	case w == Messages && kind == "":
		kind = "custom"
	}
	for _, ours := range clientRun {
		if kind == ours || w == Messages && strings.HasPrefix(kind, ours+"_2") { // the date of its version
			return fmt.Sprintf("%s is a tool that the client would have to run, which is not what hosted_tools are for: they run at the vendor", kind)
		}
	}
	return ""
}

// clientRun are the types of declarations whose calls a client must run: of OpenAI's Responses, of Anthropic's Messages
// without their dates, and of Gemini.
var clientRun = []string{
	"function", "custom", "local_shell", "shell", "apply_patch", "computer", "computer_use", "computer_use_preview", "tool_search",
	"bash", "text_editor", "memory", "functionDeclarations", "computerUse",
}
