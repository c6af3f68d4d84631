package provider_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestCheckHostedTool: declarations of tools that the client has to run are refused in the configuration, because cairn
// would never run their calls.
func TestCheckHostedTool(t *testing.T) {
	for declared, refused := range map[string]struct {
		wire provider.Wire
		want bool
	}{
		`{"type":"local_shell"}`:                                               {provider.Responses, true},
		`{"type":"shell"}`:                                                     {provider.Responses, true},
		`{"type":"shell","environment":{"type":"local"}}`:                      {provider.Responses, true},
		`{"type":"shell","environment":{"type":"container_auto"}}`:             {provider.Responses, false},
		`{"type":"apply_patch"}`:                                               {provider.Responses, true},
		`{"type":"custom","name":"raw"}`:                                       {provider.Responses, true},
		`{"type":"function","name":"f"}`:                                       {provider.Responses, true},
		`{"type":"computer_use_preview"}`:                                      {provider.Responses, true},
		`{"type":"tool_search","execution":"client"}`:                          {provider.Responses, true},
		`{"type":"tool_search"}`:                                               {provider.Responses, false},
		`{"type":"mcp","server_label":"s"}`:                                    {provider.Responses, false},
		`{"type":"file_search","vector_store_ids":[]}`:                         {provider.Responses, false},
		`{"type":"bash_20250124","name":"bash"}`:                               {provider.Messages, true},
		`{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"}`: {provider.Messages, true},
		`{"type":"computer_20250124","name":"computer"}`:                       {provider.Messages, true},
		`{"type":"memory_20250818","name":"memory"}`:                           {provider.Messages, true},
		`{"name":"f","input_schema":{}}`:                                       {provider.Messages, true},
		`{"type":"tool_search_tool_regex_20251119","name":"tool_search"}`:      {provider.Messages, false},
		`{"type":"web_search_20250305","name":"web_search"}`:                   {provider.Messages, false},
		`{"functionDeclarations":[]}`:                                          {provider.Gemini, true},
		`{"computerUse":{}}`:                                                   {provider.Gemini, true},
		`{"googleMaps":{}}`:                                                    {provider.Gemini, false},
	} {
		_, err := provider.Vendor{ID: "v", Wire: refused.wire}.DeclareHosted([]jsontext.Value{jsontext.Value(declared)})
		if (err != nil) != refused.want || err != nil && !strings.Contains(err.Error(), "the client has to run") {
			t.Errorf("%s: %v", declared, err)
		}
	}
}
