package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// decode turns the tree into settings. An error has the position of the invalid value and what is expected there; bad
// is that value.
func decode(root *document.Node) (s Settings, bad *document.Node, err error) {
	err = json.Unmarshal(root.AppendJSON(nil, document.Substituted), &s)
	if err == nil {
		return s, nil, nil
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return s, root, root.Doc.NewError(root.Offset, "", "cannot be read")
	}
	n, key := root.FollowPointer(e.JSONPointer)
	return s, n, n.Doc.NewError(n.Offset, key, "%s", describeExpected(e, n))
}

// describeExpected says what a value should have been and what it is. Only values of types that accept a fixed set are
// quoted, because they cannot be secrets; of others the kind is named.
func describeExpected(e *json.SemanticError, n *document.Node) string {
	if e.Err != nil && strings.HasPrefix(e.Err.Error(), "want ") {
		if e.GoType == reflect.TypeFor[auth.Secret]() {
			return e.Err.Error() + ", got " + n.DescribeKind()
		}
		return e.Err.Error() + ", got " + n.FormatExcerpt()
	}
	want := "something else"
	if t := e.GoType; t != nil {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.String:
			want = "a string"
		case reflect.Bool:
			want = "true or false"
		case reflect.Int, reflect.Int64, reflect.Float64:
			want = "a number"
		case reflect.Slice:
			want = "a list in square brackets"
		case reflect.Map, reflect.Struct:
			want = "an object in braces"
		}
	}
	return fmt.Sprintf("want %s, got %s", want, n.DescribeKind())
}
