package session

import (
	"errors"
	"testing"
)

// Rules that can never match are refused with their place.
func TestGuardsAreChecked(t *testing.T) {
	for _, c := range []struct {
		err   error
		field string // "" is right
	}{
		{CheckRules("permission", nil), ""},
		{CheckRules("permission", []Rule{{"edit", "*", Deny}, {"*", "src/*", Ask}}), ""},
		{CheckRules("permission", []Rule{{"edit", "*", Deny}, {"edit", "*", "denied"}}), "permission[1].effect"},
		{CheckRules("permission", []Rule{{"edit", "*", ""}}), "permission[0].effect"},
		{CheckRules("permission", []Rule{{"", "*", Deny}}), "permission[0].action"},
		{CheckRules("permission", []Rule{{"edit", "", Deny}}), "permission[0].resource"},
		{(*Budget)(nil).Check("budget"), ""},
		{(&Budget{}).Check("budget"), ""},
		{(&Budget{USD: Dollar, Tokens: 1, Wall: 1, Turns: 1}).Check("budget"), ""},
		{(&Budget{USD: -1}).Check("budget"), "budget.usd"},
		{(&Budget{Tokens: -1}).Check("budget"), "budget.tokens"},
		{(&Budget{Wall: -1}).Check("budget"), "budget.wall"},
		{(&Budget{USD: 5, Turns: -1}).Check("budget"), "budget.turns"},
	} {
		e, refused := errors.AsType[*Error](c.err)
		if refused != (c.field != "") || (refused && (e.Code != CodeInvalid || e.Field != c.field)) {
			t.Errorf("want an error at %q, got %+v", c.field, e)
		}
	}
}

func TestCheckParts(t *testing.T) {
	p := Prompt{Text: "abc", Files: []File{{URI: "data:,x"}}}
	for _, c := range []struct {
		name  string
		parts []PromptPart
		field string // "" is good
	}{
		{"none", nil, ""},
		{
			"all",
			[]PromptPart{
				{ID: "prt_1", Type: PartText, Length: 2},
				{ID: "prt_2", Type: PartText, Index: 2, Length: 1},
				{ID: "prt_3", Type: PartFile},
			},
			"",
		},
		{"empty text", []PromptPart{{ID: "prt_1", Type: PartText, Index: 3}}, ""},
		{"no id", []PromptPart{{Type: PartText}}, "p.parts[0].id"},
		{"twice", []PromptPart{{ID: "prt_1", Type: PartText}, {ID: "prt_1", Type: PartFile}}, "p.parts[1].id"},
		{"beyond the text", []PromptPart{{ID: "prt_1", Type: PartText, Index: 2, Length: 2}}, "p.parts[0]"},
		{"overflow", []PromptPart{{ID: "prt_1", Type: PartText, Index: 1, Length: 1<<63 - 1}}, "p.parts[0]"},
		{"before it", []PromptPart{{ID: "prt_1", Type: PartText, Index: -1}}, "p.parts[0]"},
		{"no such file", []PromptPart{{ID: "prt_1", Type: PartFile, Index: 1}}, "p.parts[0]"},
		{"no such agent", []PromptPart{{ID: "prt_1", Type: PartAgent}}, "p.parts[0]"},
		{"no such type", []PromptPart{{ID: "prt_1", Type: "snapshot"}}, "p.parts[0]"},
	} {
		p.Parts = c.parts
		var e *Error
		switch err := p.CheckParts("p"); {
		case c.field == "" && err != nil, c.field != "" && (!errors.As(err, &e) || e.Field != c.field):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
