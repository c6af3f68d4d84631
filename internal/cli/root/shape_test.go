package root_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// shaped FILE looks whether the JSON that the last command printed has what the JSON in FILE has, which was recorded
// from OpenCode: the same members, of the same kinds, in documents of the same number and order. Further members beside
// them are no difference; lists are as their first items.
func shaped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shaped FILE")
	}
	want, err := documents(ts.ReadFile(args[0]))
	ts.Check(err)
	got, err := documents(ts.ReadFile("stdout"))
	ts.Check(err)
	if len(want) != len(got) {
		ts.Fatalf("%d documents, OpenCode has %d", len(got), len(want))
	}
	for i := range want {
		if lacks := missing("", want[i], got[i]); len(lacks) > 0 {
			ts.Fatalf("document %d is not like OpenCode's:\n%s\n%v", i, strings.Join(lacks, "\n"), got[i])
		}
	}
}

// same FILE looks whether the session that the last command exported is the one in FILE, but for where it lives.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: same FILE")
	}
	var docs [2]map[string]any
	for i, text := range []string{ts.ReadFile(args[0]), ts.ReadFile("stdout")} {
		ts.Check(json.Unmarshal([]byte(text), &docs[i]))
		info, ok := docs[i]["info"].(map[string]any)
		if !ok {
			ts.Fatalf("there is no session in it:\n%s", text)
		}
		for _, home := range []string{"directory", "projectID", "path"} {
			delete(info, home)
		}
	}
	if diff := cmp.Diff(docs[0], docs[1]); diff != "" {
		ts.Fatalf("-FILE +exported\n%s", diff)
	}
}

// documents reads all JSON objects and lists of a text, leaving out lines of other kinds.
func documents(text string) (all []any, err error) {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if l == "" || strings.ContainsRune("{}[]\" ", rune(l[0])) {
			lines = append(lines, l)
		}
	}
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(strings.Join(lines, "\n"))))
	for {
		var v any
		switch err := json.UnmarshalDecode(dec, &v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, v)
	}
}

// missing names what want has and got has not. A member whose name begins with a question mark may be missing.
func missing(at string, want, got any) (lacks []string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{at + " is no object"}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			bare := strings.TrimPrefix(name, "?")
			member, ok := got[bare]
			switch {
			case ok:
				lacks = append(lacks, missing(at+"."+bare, want[name], member)...)
			case bare == name:
				lacks = append(lacks, at+"."+name+" is missing")
			}
		}
	case []any:
		got, ok := got.([]any)
		switch {
		case !ok:
			return []string{at + " is no list"}
		case len(want) > 0 && len(got) == 0:
			return []string{at + " is empty"}
		case len(want) > 0:
			return missing(at+"[0]", want[0], got[0])
		}
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
			return []string{fmt.Sprintf("%s is a %T, not a %T", at, got, want)}
		}
	}
	return lacks
}
