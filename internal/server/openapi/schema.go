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

// builder generates schemas. The structs of responses become components.
type builder struct {
	types   Types
	schemas object
	names   map[reflect.Type]string
	open    bool // a request is being described
}

// describeRequest describes a request type: an open object, in place.
func (b *builder) describeRequest(t reflect.Type) object {
	b.open = true
	defer func() { b.open = false }()
	return b.describeType(t)
}

func (b *builder) describeType(t reflect.Type) object {
	// What Go's types do not say comes before what they say.
	if form, ok := b.types.Forms[t]; ok {
		schema := parseSchema(form)
		name, isComponent := b.types.Names[t]
		if !isComponent {
			return schema
		}
		b.schemas[name] = schema
		return newRef(name)
	}
	if u, ok := b.types.Unions[t]; ok {
		return b.describeUnion(t, u)
	}
	if t == reflect.TypeFor[jsontext.Value]() {
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.describeType(t.Elem())
	case reflect.Struct:
		return b.describeStruct(t)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.describeType(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": b.describeType(t.Elem())}
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

// parseSchema parses a schema that is given as text.
func parseSchema(form string) (out object) {
	if err := json.Unmarshal([]byte(form), &out); err != nil {
		panic(err) // it is a constant
	}
	return out
}

// describeStruct describes a struct. The struct of a response is a component.
func (b *builder) describeStruct(t reflect.Type) object {
	if b.open || t.Name() == "" || strings.Contains(t.Name(), "[") {
		return b.describeMembers(t, nil)
	}
	name, known := b.names[t]
	if !known {
		name = b.chooseName(t)
		b.schemas[name] = object{} // for types that hold themselves
		b.schemas[name] = b.describeMembers(t, nil)
	}
	return newRef(name)
}

func newRef(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// chooseName chooses the name of a component: that of the type, with its package if another type has the same name.
func (b *builder) chooseName(t reflect.Type) string {
	name := exportedName(t.Name())
	if given, ok := b.types.Names[t]; ok {
		name = given
	}
	for {
		if _, taken := b.schemas[name]; !taken {
			break
		}
		name = exportedName(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]) + name
	}
	b.names[t] = name
	return name
}

func exportedName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

// describeMembers describes a struct in place. The schemas in fixed override those of its members.
func (b *builder) describeMembers(t reflect.Type, fixed object) object {
	properties := object{}
	required := []string{}
	more := b.collectMembers(t, properties, &required)
	for name, schema := range fixed {
		properties[name] = schema
	}
	out := object{"type": "object", "properties": properties}
	if !b.open && !more {
		out["additionalProperties"] = false
	}
	if !b.open || len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

// collectMembers adds the members of a struct and of its embedded structs. more reports that the struct keeps
// unknown members.
func (b *builder) collectMembers(t reflect.Type, properties object, required *[]string) (more bool) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		// Members of embedded structs are members of the object itself; unknown ones make it open.
		switch {
		case options == "embed":
			more = true
			continue
		case name == "-" || (!f.IsExported() && !f.Anonymous):
			continue
		case f.Anonymous && name == "":
			more = b.collectMembers(f.Type, properties, required) || more
			continue
		}
		// The type gives the schema, which a name or a tag may narrow.
		schema := b.describeType(f.Type)
		if form, ok := b.types.Members[name]; ok {
			schema = parseSchema(form)
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

// describeUnion describes each type of a union, with its value of the member that distinguishes them.
func (b *builder) describeUnion(t reflect.Type, u Union) object {
	if name, known := b.names[t]; known {
		return newRef(name)
	}
	name := b.chooseName(t)
	b.schemas[name] = object{}
	defer func(open bool) { b.open = open }(b.open)
	b.open = u.Open
	// Each type is a component of its own: with the member that tells it apart, or within an envelope.
	any, mapping := []object{}, object{}
	for _, value := range slices.Sorted(maps.Keys(u.Of)) {
		tag := object{u.By: object{"type": "string", "enum": []string{value}}}
		holder, variant := u.Of[value], ""
		if u.In != "" {
			tag[u.In] = b.describeType(holder)
			holder, variant = t, name
			for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return !unicode.IsLetter(r) }) {
				variant += exportedName(word)
			}
		} else {
			variant = b.chooseName(holder)
		}
		b.schemas[variant] = b.describeMembers(holder, tag)
		any = append(any, newRef(variant))
		mapping[value] = newRef(variant)["$ref"]
	}
	for _, also := range u.Also {
		any = append(any, b.describeType(also))
	}
	// A discriminator needs all types to have that member.
	b.schemas[name] = object{"anyOf": any}
	if u.By != "" && len(u.Also) == 0 {
		b.schemas[name] = object{
			"anyOf": any, "discriminator": object{"propertyName": u.By, "mapping": mapping},
		}
	}
	return newRef(name)
}
