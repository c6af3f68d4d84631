package operation

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

// requestType is the decoder and the description of a type of requests.
type requestType struct {
	path, query, headers []requestField
	bodyIndex            []int // nil: there is no body
	bodyOptional         bool
	locations            [][]int // indices of the fields of type Location

	parameters []openapi.Parameter // of the query, as the document lists them
	body       reflect.Type        // as the document describes it; nil: none
	bodySchema jsontext.Value      // JSON Schema of a constant's body
}

// requestField is a field that is one value of the request.
type requestField struct {
	index    []int
	name     string
	prefixes []session.Prefix // of an id
	required bool
	enum     []string
	span     httpio.Range // of a number
	custom   bool         // a Decoder
}

// maxNumber is the largest integer that JavaScript represents exactly.
const maxNumber = 1<<53 - 1

// idPrefixes are the prefixes of the id types.
var idPrefixes = map[reflect.Type]session.Prefix{
	reflect.TypeFor[session.ID]():        session.PrefixSession,
	reflect.TypeFor[session.MessageID](): session.PrefixMessage,
	reflect.TypeFor[session.PartID]():    session.PrefixPart,
	reflect.TypeFor[session.JobID]():     session.PrefixJob,
}

// newRequestType reads the tags of t.
func newRequestType(route string, t reflect.Type) *requestType {
	rt := &requestType{}
	for _, f := range reflect.VisibleFields(t) {
		if err := rt.addField(f); err != nil {
			panic(fmt.Sprintf("operation %s: field %s of %s: %v", route, f.Name, t, err))
		}
	}
	return rt
}

func (rt *requestType) addField(f reflect.StructField) error {
	// A Location is resolved from the whole request; the tag only documents its query parameter.
	if f.Type == reflect.TypeFor[Location]() {
		rt.locations = append(rt.locations, f.Index)
		if name, ok := f.Tag.Lookup("query"); ok {
			rt.parameters = append(rt.parameters, openapi.Parameter{Name: name, Type: reflect.TypeFor[LocationParameter]()})
		}
		return nil
	}
	// Fields that are no part of the request.
	if f.Tag.Get("query") == "-" {
		return nil
	}
	// The body. Its type may name another one for the document.
	if kind, ok := f.Tag.Lookup("body"); ok {
		rt.bodyIndex, rt.bodyOptional, rt.body = f.Index, kind == "optional", f.Type
		if d, ok := reflect.Zero(f.Type).Interface().(Documenter); ok {
			rt.body = d.DocumentType()
		}
		return nil
	}
	// All other fields are parameters of the path, the query or a header.
	x, err := newField(f)
	if err != nil {
		return err
	}
	switch {
	case f.Tag.Get("path") != "":
		x.name = f.Tag.Get("path")
		rt.path = append(rt.path, x)
	case f.Tag.Get("query") != "":
		x.name = f.Tag.Get("query")
		rt.query = append(rt.query, x)
		p := openapi.Parameter{Name: x.name, Type: typeOfText, Required: x.required, Enum: x.enum}
		if isNumber(f.Type) {
			p.Type = reflect.TypeFor[float64]()
		}
		if d, ok := reflect.Zero(f.Type).Interface().(Documenter); ok {
			p.Type = d.DocumentType()
		}
		rt.parameters = append(rt.parameters, p)
	case f.Tag.Get("header") != "":
		x.name = f.Tag.Get("header")
		rt.headers = append(rt.headers, x)
	case f.Anonymous: // its fields follow
	case x.custom:
		rt.query = append(rt.query, x)
	default:
		return fmt.Errorf("no tag says where it comes from")
	}
	return nil
}

// typeOfText is the type of parameters without another one.
var typeOfText = reflect.TypeFor[string]()

func newField(f reflect.StructField) (x requestField, err error) {
	x = requestField{index: f.Index, span: httpio.Range{Max: maxNumber}}
	x.required = f.Tag.Get("required") == "true"
	if enum := f.Tag.Get("enum"); enum != "" {
		x.enum = strings.Split(enum, ",")
	}
	_, x.custom = reflect.New(f.Type).Interface().(Decoder)
	if prefix, ok := idPrefixes[f.Type]; ok {
		x.prefixes = []session.Prefix{prefix}
	}
	if tag := f.Tag.Get("id"); tag != "" {
		for prefix := range strings.SplitSeq(tag, ",") {
			x.prefixes = append(x.prefixes, session.Prefix(prefix))
		}
	}
	for name, to := range map[string]*int64{"default": &x.span.Default, "min": &x.span.Min, "max": &x.span.Max} {
		if tag, ok := f.Tag.Lookup(name); ok {
			if *to, err = strconv.ParseInt(tag, 10, 64); err != nil {
				return x, err
			}
		}
	}
	return x, nil
}

// LocationParameter describes the parameter that names a location in the document.
type LocationParameter struct {
	Directory string `json:"directory"`
	Workspace string `json:"workspace"`
}

func isNumber(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Int64
}

// parameterNames returns the names of the query parameters that a request may give only once.
func (rt *requestType) parameterNames(c *Contract) []string {
	names := append([]string{}, c.Unlisted...)
	for _, p := range rt.parameters {
		names = append(names, p.Name)
	}
	return names
}

// decode reads the request into in and closes its body: what was not read is not needed.
func (rt *requestType) decode(c *requestCall, in reflect.Value) error {
	// The order is a promise: path, query, headers, body, location.
	for _, x := range rt.path {
		if err := x.checkID(c.r.PathValue(x.name), "params"); err != nil {
			return err
		}
		in.FieldByIndex(x.index).SetString(c.r.PathValue(x.name))
	}
	if err := httpio.CheckDuplicates(c.r, func() []string { return rt.parameterNames(c.contract) }); err != nil {
		return err
	}
	if c.contract.RequireJSON && rt.bodyIndex != nil && !rt.bodyOptional {
		if err := httpio.CheckContentType(c.r); err != nil {
			return err
		}
	}
	for _, x := range rt.query {
		if err := x.decodeQuery(c, in.FieldByIndex(x.index)); err != nil {
			return err
		}
	}
	for _, x := range rt.headers {
		in.FieldByIndex(x.index).SetString(c.r.Header.Get(x.name))
	}
	if err := rt.decodeBody(c.r, in); err != nil {
		return err
	}
	if c.r.Body != nil {
		_ = c.r.Body.Close()
	}
	for _, index := range rt.locations {
		l, named, err := c.contract.Locate(c.r)
		if err != nil {
			return err
		}
		in.FieldByIndex(index).Set(reflect.ValueOf(Location{l, named}))
	}
	return nil
}

func (rt *requestType) decodeBody(r *http.Request, in reflect.Value) error {
	if rt.bodyIndex == nil {
		return nil
	}
	decode := httpio.DecodeBody
	if rt.bodyOptional {
		decode = httpio.DecodeOptionalBody
	}
	body := in.FieldByIndex(rt.bodyIndex).Addr().Interface()
	if err := decode(r, body); err != nil {
		return err
	}
	if v, ok := body.(Validator); ok {
		if err := v.Validate(); err != nil && httpio.ErrorPart(err) == "" {
			return httpio.WithPart("body", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// checkID refuses an id that cannot be one of its kind.
func (x requestField) checkID(v, part string) error {
	if len(x.prefixes) == 0 {
		return nil
	}
	for _, p := range x.prefixes[1:] {
		if strings.HasPrefix(v, string(p)) {
			return nil
		}
	}
	return httpio.WithPart(part, session.CheckID(x.name, x.prefixes[0], v))
}

func (x requestField) decodeQuery(c *requestCall, v reflect.Value) error {
	if x.custom {
		return v.Addr().Interface().(Decoder).DecodeRequest(c.r)
	}
	values := c.query()
	text, given := values.Get(x.name), values.Has(x.name)
	// An empty value of an optional parameter counts as absent, except for its presence in a pointer.
	switch {
	case x.required && !given:
		return httpio.NewInvalid("query", x.name, "%s is missing", x.name)
	case text != "" || x.required:
		if err := x.checkText(text); err != nil {
			return err
		}
	}
	if isNumber(v.Type()) {
		return x.decodeNumber(v, text)
	}
	if v.Kind() == reflect.Bool {
		v.SetBool(text == "true")
		return nil
	}
	if v.Kind() == reflect.Pointer {
		if given {
			p := reflect.New(v.Type().Elem())
			p.Elem().SetString(text)
			v.Set(p)
		}
		return nil
	}
	v.SetString(text)
	return nil
}

func (x requestField) checkText(text string) error {
	if err := x.checkID(text, "query"); err != nil {
		return err
	}
	if x.enum == nil {
		return nil
	}
	return httpio.CheckChoice(x.name, text, x.enum...)
}

func (x requestField) decodeNumber(v reflect.Value, text string) error {
	n, err := httpio.ParseNumber(x.name, text, x.span)
	switch {
	case err != nil:
		return err
	case v.Kind() != reflect.Pointer:
		v.SetInt(n)
	case text != "":
		v.Set(reflect.ValueOf(&n))
	}
	return nil
}
