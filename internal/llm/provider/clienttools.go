package provider

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkHostedTool returns the reason why a declaration is not of a hosted tool; "" if none is known. Vendors also
// accept declarations of tools that the client has to run; cairn would never run such calls.
func (w Wire) checkHostedTool(declaration jsontext.Value) string {
	// Decode what tells the vendors' forms apart.
	var d struct {
		Type        string
		Execution   string
		Functions   jsontext.Value `json:"functionDeclarations"`
		Computer    jsontext.Value `json:"computerUse"`
		Environment struct{ Type string }
	}
	_ = json.Unmarshal(declaration, &d, json.MatchCaseInsensitiveNames(true)) // the vendor checks other forms
	kind := d.Type
	// Determine the type of the tool. Some types run at the vendor or at the client, depending on a member.
	switch {
	case w == Gemini && len(d.Functions) > 0:
		kind = "functionDeclarations"
	case w == Gemini && len(d.Computer) > 0:
		kind = "computerUse"
	case w == Gemini:
		return ""
	case kind == "shell" && strings.HasPrefix(d.Environment.Type, "container"),
		kind == "tool_search" && d.Execution != "client":
		return ""
	case w == Messages && kind == "":
		kind = "custom"
	}
	// Refuse the types that the client has to run.
	for _, name := range clientTools {
		if kind == name || w == Messages && strings.HasPrefix(kind, name+"_2") { // with a version's date
			return fmt.Sprintf(
				"%s is a tool that the client has to run; hosted_tools accepts only tools that the vendor runs", kind,
			)
		}
	}
	return ""
}

// clientTools are the types of declarations whose calls the client has to run: of OpenAI's Responses, of Anthropic's
// Messages (without their dates), and of Gemini.
var clientTools = []string{
	"function", "custom", "local_shell", "shell", "apply_patch", "computer", "computer_use", "computer_use_preview",
	"tool_search", "bash", "text_editor", "memory", "functionDeclarations", "computerUse",
}
