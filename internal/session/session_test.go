package session

import (
	"errors"
	"testing"
)

// What would guard nothing is refused, and the error says where it stands.
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
