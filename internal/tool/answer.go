package tool

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	patterns "regexp/syntax"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// AnswerSchema checks structured answers of models as the inputs of tools are checked.
type AnswerSchema struct{ schema *schema }

// NewAnswerSchema compiles a JSON Schema of an object. The error says why the schema cannot be checked.
func NewAnswerSchema(raw jsontext.Value) (*AnswerSchema, error) {
	s, err := compileSchema(raw)
	if err != nil {
		return nil, err
	}
	if s.resolved != nil {
		s.problem = checkTypes(s.root)
	}
	if s.problem != nil {
		return nil, s.problem
	}
	s.anyNumber = true
	return &AnswerSchema{s}, nil
}

// Check returns the answer of a call, converted to the types of the schema, or an error for the model that names the
// call's tool.
func (f *AnswerSchema) Check(name string, answer jsontext.Value) (jsontext.Value, error) {
	return f.schema.checkInput(name, answer)
}

// Validate returns an answer in text, converted to the types of the schema, or an error that says what is wrong.
func (f *AnswerSchema) Validate(answer jsontext.Value) (jsontext.Value, error) {
	v, misfit, _ := f.schema.matchInput(answer)
	if misfit != "" {
		return nil, errors.New("it " + misfit)
	}
	return v, nil
}

var typeNames = []string{"", "array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes returns an error for a schema that names a type JSON does not have.
func checkTypes(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	for _, name := range append(slices.Clone(s.Types), s.Type) {
		if !slices.Contains(typeNames, name) {
			return fmt.Errorf("%.40q is not a type", name)
		}
	}
	for _, child := range listSubschemas(s) {
		if err := checkTypes(child); err != nil {
			return err
		}
	}
	return nil
}

// listSubschemas returns the direct listSubschemas of s; some may be nil.
func listSubschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	inner := slices.Concat(s.ItemsArray, s.PrefixItems, s.AllOf, s.AnyOf, s.OneOf)
	inner = append(inner, s.Items, s.AdditionalItems, s.AdditionalProperties, s.Not, s.If, s.Then, s.Else)
	for _, members := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			inner = append(inner, members[name])
		}
	}
	return inner
}

// removeUnsupportedPatterns removes the patterns that Go does not support, such as those with look-ahead. Vendors get
// and check them; here they are not checked. A property with such a name pattern is allowed as any other.
func removeUnsupportedPatterns(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if isUnsupportedPattern(s.Pattern) {
		s.Pattern = ""
	}
	for name := range s.PatternProperties {
		if isUnsupportedPattern(name) {
			delete(s.PatternProperties, name)
			s.AdditionalProperties = nil
		}
	}
	for _, child := range listSubschemas(s) {
		removeUnsupportedPatterns(child)
	}
}

// isUnsupportedPattern reports whether a pattern is valid in other regular-expression dialects but not in Go.
func isUnsupportedPattern(pattern string) bool {
	_, err := regexp.Compile(pattern)
	e, ok := errors.AsType[*patterns.Error](err)
	return ok &&
		slices.Contains(
			[]patterns.ErrorCode{
				patterns.ErrInvalidPerlOp, patterns.ErrInvalidEscape, patterns.ErrInvalidRepeatSize, patterns.ErrInvalidCharRange,
			},
			e.Code,
		)
}
