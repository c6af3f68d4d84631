package openapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// builder makes schemas of types. Structs of answers become components.
type builder struct {
	types   Types
	schemas object
	names   map[reflect.Type]string
	open    bool // a request is being described
}

// request describes what is read: open objects, in place.
func (b *builder) request(t reflect.Type) object {
	b.open = true
	defer func() { b.open = false }()
	return b.schema(t)
}

func (b *builder) schema(t reflect.Type) object {
	if form, ok := b.types.Forms[t]; ok {
		return written(form)
	}
	if u, ok := b.types.Unions[t]; ok {
		return b.union(t, u)
	}
	if t == reflect.TypeFor[jsontext.Value]() {
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.schema(t.Elem())
	case reflect.Struct:
		return b.object(t)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.schema(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": b.schema(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		out := object{"type": "string"}
		if values := b.types.Enums[t]; values != nil {
			out["enum"] = values
		}
		return out
	default:
		return object{}
	}
}

// written is a schema that is given as text.
func written(form string) (out object) {
	if err := json.Unmarshal([]byte(form), &out); err != nil {
		panic(err) // it is a constant
	}
	return out
}

// object describes a struct; that of an answer is a component.
func (b *builder) object(t reflect.Type) object {
	if b.open || t.Name() == "" || strings.Contains(t.Name(), "[") {
		return b.members(t, nil)
	}
	name, known := b.names[t]
	if !known {
		name = b.name(t)
		b.schemas[name] = object{} // for types that hold themselves
		b.schemas[name] = b.members(t, nil)
	}
	return ref(name)
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// name finds one for a component: that of the type, behind that of its package if another has it.
func (b *builder) name(t reflect.Type) string {
	name := exported(t.Name())
	if given, ok := b.types.Names[t]; ok {
		name = given
	}
	for {
		if _, taken := b.schemas[name]; !taken {
			break
		}
		name = exported(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]) + name
	}
	b.names[t] = name
	return name
}

func exported(name string) string {
	name, _, _ = strings.Cut(name, "[")
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

// members describes a struct in place; those in fixed are as they are there.
func (b *builder) members(t reflect.Type, fixed object) object {
	properties := object{}
	required := []string{}
	more := b.collect(t, properties, &required)
	for name, schema := range fixed {
		properties[name] = schema
	}
	out := object{"type": "object", "properties": properties}
	if !b.open {
		if !more {
			out["additionalProperties"] = false
		}
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

// collect adds the members of a struct, and of those within it that have no name of their own. more says that it keeps
// members that it does not know, and may have them.
func (b *builder) collect(t reflect.Type, properties object, required *[]string) (more bool) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case options == "embed":
			more = true
			continue
		case name == "-" || (!f.IsExported() && !f.Anonymous):
			continue
		case f.Anonymous && name == "":
			more = b.collect(f.Type, properties, required) || more
			continue
		}
		schema := b.schema(f.Type)
		if form, ok := b.types.Members[name]; ok {
			schema = written(form)
		}
		if values := f.Tag.Get("enum"); values != "" {
			schema["enum"] = strings.Split(values, ",")
		}
		if kind := f.Tag.Get("is"); kind != "" {
			schema["type"] = kind
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	return more
}

// union describes each that there may be, with its value of the member that tells them apart.
func (b *builder) union(t reflect.Type, u Union) object {
	if name, known := b.names[t]; known {
		return ref(name)
	}
	name := b.name(t)
	b.schemas[name] = object{}
	any := []object{}
	for _, value := range slices.Sorted(maps.Keys(u.Of)) {
		tag := object{u.By: object{"type": "string", "enum": []string{value}}}
		holder, variant := u.Of[value], ""
		if u.In != "" {
			tag[u.In] = b.schema(holder)
			holder, variant = t, name
			for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return !unicode.IsLetter(r) }) {
				variant += exported(word)
			}
		} else {
			variant = b.name(holder)
		}
		b.schemas[variant] = b.members(holder, tag)
		any = append(any, ref(variant))
	}
	for _, also := range u.Also {
		any = append(any, b.schema(also))
	}
	b.schemas[name] = object{"anyOf": any}
	return ref(name)
}
