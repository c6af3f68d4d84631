package tool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// schema checks the input of one tool. If the library does not support the schema, it only checks that the input is an
// object: schemas of MCP servers may use any keyword.
type schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved // nil if the schema cannot be checked
	problem  error                // why it cannot
	// anyNumber allows numbers of any size, for values that no Go code reads.
	anyNumber bool
}

func compileSchema(raw jsontext.Value) (*schema, error) {
	if raw.Kind() != '{' || !raw.IsValid() {
		return nil, errors.New("it must be a JSON object")
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return &schema{problem: err}, nil
	}
	removeUnsupportedPatterns(&root)
	resolved, err := root.Resolve(nil)
	if err == nil {
		err = checkTermination(raw)
	}
	if err != nil {
		return &schema{problem: err}, nil
	}
	return &schema{root: &root, resolved: resolved}, nil
}

// checkInput returns the input converted to the types of the schema (see coerceValue), or an error for the model.
func (s *schema) checkInput(name string, input jsontext.Value) (jsontext.Value, error) {
	v, misfit, cure := s.matchInput(input)
	if misfit != "" {
		return nil, Failf("The input of %s %s. %s", name, misfit, cure)
	}
	return v, nil
}

// matchInput returns the converted input, or what is wrong with it and what the model can do.
func (s *schema) matchInput(input jsontext.Value) (v jsontext.Value, misfit, cure string) {
	const objectAgain = "Call it again with a JSON object."
	input, err := parseObject(input)
	if err != nil {
		return nil, fmt.Sprintf("is not usable: %v", err), objectAgain
	}
	if s.resolved == nil {
		return input, "", ""
	}
	input = coerceValue(s.root, input)
	problems := problems{anyNumber: s.anyNumber}
	problems.check(s.root, input, "")
	if len(problems.messages) == 0 {
		if err = s.validate(input); err == nil {
			return input, "", ""
		}
		problems.add("%s", session.ClipText(err.Error(), 400))
	}
	return nil, "does not fit: " + strings.Join(
		problems.messages, "; ",
	), s.describeProperties() + "Call it again with corrected input."
}

// validate validates with the library, which reads numbers as floats. If that fails, it tries again with exact
// integers.
func (s *schema) validate(input jsontext.Value) error {
	value, err := decodeValue(input, false)
	if err != nil {
		return err
	}
	if err = s.resolved.Validate(value); err == nil {
		return nil
	}
	if value, again := decodeValue(input, true); again != nil || s.resolved.Validate(value) != nil {
		return err
	}
	return nil
}

// decodeValue decodes a JSON value for the library. Numbers beyond the range of float64 become the largest one.
func decodeValue(v jsontext.Value, exact bool) (out any, err error) {
	number := func(dec *jsontext.Decoder, into *any) error {
		if dec.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && exact {
			*into = n
			return nil
		}
		f, _ := strconv.ParseFloat(string(raw), 64) // ±Inf if out of range
		*into = min(max(f, -math.MaxFloat64), math.MaxFloat64)
		return nil
	}
	return out, json.Unmarshal(v, &out, json.WithUnmarshalers(json.UnmarshalFromFunc(number)))
}

// parseObject returns the JSON object in input. Empty input and null are {}; a string that contains an object is that
// object.
func parseObject(input jsontext.Value) (jsontext.Value, error) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || string(input) == "null" {
		return jsontext.Value("{}"), nil
	}
	if input.Kind() == '"' {
		var inner string
		if json.Unmarshal(input, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			input = jsontext.Value(strings.TrimSpace(inner))
		}
	}
	if err := checkSyntax(input); err != nil {
		return nil, err
	}
	if input.Kind() != '{' {
		return nil, fmt.Errorf("it is %s", describeValue(input))
	}
	return input, nil
}

// checkSyntax returns an error unless v is exactly one valid JSON value, without repeated keys and invalid UTF-8.
func checkSyntax(v jsontext.Value) error {
	if v.IsValid() {
		return nil
	}
	var sink any
	if err := json.Unmarshal(v, &sink); err != nil {
		return fmt.Errorf("it is not valid JSON (%s)", session.ClipText(err.Error(), 200))
	}
	return errors.New("it is not valid JSON")
}

// describeProperties lists the parameters of the tool.
func (s *schema) describeProperties() string {
	if len(s.root.Properties) == 0 || len(s.root.Properties) > 24 {
		return ""
	}
	var parts []string
	for _, key := range sortKeys(s.root) {
		need := ""
		if slices.Contains(s.root.Required, key) {
			need = ", required"
		}
		parts = append(parts, fmt.Sprintf("%s (%s%s)", key, strings.Join(allowedTypes(s.root.Properties[key]), " or "), need))
	}
	return "It takes " + strings.Join(parts, ", ") + ". "
}

// sortKeys returns the properties, required ones first.
func sortKeys(s *jsonschema.Schema) []string {
	all := make([]string, 0, len(s.Properties))
	for key := range s.Properties {
		all = append(all, key)
	}
	slices.SortFunc(all, func(a, b string) int {
		ra, rb := slices.Contains(s.Required, a), slices.Contains(s.Required, b)
		if ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return all
}

// allowedTypes returns the types that the schema allows, "any" if it names none.
func allowedTypes(s *jsonschema.Schema) []string {
	switch {
	case s == nil:
		return []string{"any"}
	case s.Type != "":
		return []string{s.Type}
	case len(s.Types) > 0:
		return s.Types
	default:
		return []string{"any"}
	}
}
