package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTag(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"work", "work"},
		{"to-do", "to-do"},
		{" work\n", "work"},
		{"仕事", "仕事"},
		{"Work", "Work"},
		{"-x", "-x"},
		{strings.Repeat("仕", 50), strings.Repeat("仕", 50)},
		{strings.Repeat("仕", 51), ""},
		{"", ""},
		{" ", ""},
		{"two words", ""},
		{"two\u3000words", ""},
		{"two\u00a0words", ""},
		{"a,b", ""},
		{"a\x00b", ""},
		{"a\x1b[31m", ""},
		{"a\u200bb", ""},
		{"a\u202eb", ""},
		{"a\u2028b", ""},
		{"\xff", ""},
	} {
		got, err := ParseTag("tag", c.text)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
	}
}

func TestTagChange(t *testing.T) {
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprintf("t%02d", i)
	}
	old := []string{"b", "d"}
	for _, c := range []struct {
		name   string
		old    []string
		change TagChange
		want   []string
		field  string // of the error
	}{
		{"nothing", old, TagChange{}, old, ""},
		{"added", old, TagChange{Add: []string{"c", "a", " b"}}, []string{"a", "b", "c", "d"}, ""},
		{"of a later version", []string{"a b", "c"}, TagChange{Add: []string{"d"}}, []string{"a b", "c", "d"}, ""},
		{"of a later version, removed", many, TagChange{Remove: many[:1]}, many[1:], ""},
		{"of a later version, nothing", many, TagChange{}, many, ""},
		{"removed", old, TagChange{Remove: []string{"b", "x"}}, []string{"d"}, ""},
		{"removed and added", old, TagChange{Remove: []string{"b"}, Add: []string{"b"}}, old, ""},
		{"replaced", old, TagChange{Replace: &[]string{"y", "x", "y"}}, []string{"x", "y"}, ""},
		{"cleared", old, TagChange{Replace: &[]string{}}, []string{}, ""},
		{"cleared and added", old, TagChange{Replace: &[]string{}, Add: []string{"x"}}, []string{"x"}, ""},
		{"as many as there may be", nil, TagChange{Add: many[:20]}, many[:20], ""},
		{"room after a removal", many[:20], TagChange{Remove: []string{"t00"}, Add: []string{"t20"}}, many[1:], ""},
		{"too many", many[:20], TagChange{Add: []string{"x"}}, nil, "addTags"},
		{"too many at once", nil, TagChange{Replace: &many}, nil, "tags"},
		{"invalid", old, TagChange{Replace: &[]string{"a b"}}, nil, "tags"},
		{"invalid addition", old, TagChange{Add: []string{""}}, nil, "addTags"},
		{"invalid removal", old, TagChange{Remove: []string{"a,b"}}, nil, "removeTags"},
	} {
		got, err := c.change.Apply(c.old)
		if e, _ := errors.AsType[*Error](err); (err != nil) != (c.field != "") || e != nil && e.Field != c.field {
			t.Errorf("%s: %v, want an error at %q", c.name, err, c.field)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", c.name, d)
		}
	}
	if d := cmp.Diff([]string{"b", "d"}, old); d != "" {
		t.Errorf("the old tags were changed: %s", d)
	}
}
