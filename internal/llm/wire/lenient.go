package wire

import (
	"errors"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeLenient decodes a frame, or a part of one, into x. A member whose type does not match x is skipped as if it
// were absent, so that one invalid part does not discard the others. v itself must have the type of x.
func DecodeLenient(v []byte, x any) error {
	if json.Unmarshal(v, x, Foreign) == nil {
		return nil
	}
	reflect.ValueOf(x).Elem().SetZero()
	return json.Unmarshal(v, x, Foreign, skipMismatches) // slower
}

// CheckList returns an error if the frame's member of that name exists and is not a list.
func CheckList(frame []byte, name string) error {
	members, _ := ReadObject(frame)
	if _, ok := ReadList(members[name]); !ok && IsPresent(members[name]) {
		return NewMalformed("%s is not a list", name)
	}
	return nil
}

var skipMismatches = json.WithUnmarshalers(json.UnmarshalFromFunc(skipMismatch))

// skipMismatch skips a value that cannot be decoded into x; other values are left to the default decoder.
func skipMismatch(dec *jsontext.Decoder, x any) error {
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
		return decodeNumber(dec, reflect.ValueOf(x).Elem())
	case canDecode(field, kind):
		return errors.ErrUnsupported
	}
	return dec.SkipValue()
}

// decodeNumber decodes an integer into v, or into what v points to. Other numbers are skipped.
func decodeNumber(dec *jsontext.Decoder, v reflect.Value) error {
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

// canDecode reports whether a value of that kind can be decoded into a t.
func canDecode(t reflect.Type, kind jsontext.Kind) bool {
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
