package v2

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestPublicSession: a client that does not ask for all gets the members of a session that OpenCode's document has,
// whatever is stored of it.
func TestPublicSession(t *testing.T) {
	var s session.Session
	fill(reflect.ValueOf(&s).Elem(), 0)
	got := map[string]jsontext.Value{}
	b, err := json.Marshal(publicSession(&s, false))
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("agent cost id location model parentID projectID revert subpath time title tokens")
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
}

// fill sets every field of a value, three structs deep.
func fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[jsontext.Value]():
		v.SetBytes([]byte(`{"x":1}`))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case v.Kind() == reflect.Pointer && depth < 3:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case v.Kind() == reflect.Struct && depth < 3:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}
