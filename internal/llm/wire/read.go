package wire

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Read decodes a frame, or a part of one. Of what is in v, a value of another type than x has for it is passed over as
// if it were not there: one bad part never takes the rest with it. Only v itself must be what x is.
func Read(v []byte, x any) error {
	if json.Unmarshal(v, x, Foreign) == nil {
		return nil
	}
	reflect.ValueOf(x).Elem().SetZero()
	return json.Unmarshal(v, x, Foreign, forgiving) // which takes longer
}

// Lists returns an error if the member of that name is there and no list.
func Lists(frame []byte, name string) error {
	members, _ := ReadObject(frame)
	if _, ok := List(members[name]); !ok && Present(members[name]) {
		return Malformed("%s is no list", name)
	}
	return nil
}

var forgiving = json.WithUnmarshalers(json.UnmarshalFromFunc(forgive))

// forgive passes a value over that does not fit x, a pointer to what it would become; all else is left to others.
func forgive(dec *jsontext.Decoder, x any) error {
	kind := dec.PeekKind()
	if kind == 'n' || kind == 0 || dec.StackDepth() == 0 {
		return errors.ErrUnsupported
	}
	field := reflect.TypeOf(x).Elem()
	for field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	switch {
	case field.Kind() == reflect.Int && kind == '0':
		return forgiveNumber(dec, reflect.ValueOf(x).Elem())
	case fits(field, kind):
		return errors.ErrUnsupported
	}
	return dec.SkipValue()
}

// forgiveNumber reads an integer into v, or into what v will point to.
func forgiveNumber(dec *jsontext.Decoder, v reflect.Value) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return nil
	}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.SetInt(int64(n))
	return nil
}

// fits reports whether a value of that kind can become a t.
func fits(t reflect.Type, kind jsontext.Kind) bool {
	switch t.Kind() {
	case reflect.String:
		return kind == '"'
	case reflect.Bool:
		return kind == 't' || kind == 'f'
	case reflect.Int:
		return false
	case reflect.Struct, reflect.Map:
		return kind == '{'
	case reflect.Slice:
		return kind == '[' || t == reflect.TypeFor[jsontext.Value]()
	default:
		return true
	}
}
