package tool

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Form checks answers against a schema in the way in which the inputs of tools are checked.
type Form struct{ schema *schema }

// NewForm returns the form of a JSON Schema for objects. The error says why the schema cannot be checked.
func NewForm(raw jsontext.Value) (*Form, error) {
	s, err := compile(raw)
	if err != nil {
		return nil, err
	}
	if s.resolved == nil {
		return nil, fmt.Errorf("it is not a JSON Schema that can be checked: %w", s.problem)
	}
	return &Form{s}, nil
}

// Check returns the answer in the form that fits, or an error written for the model, which knows it as name.
func (f *Form) Check(name string, answer jsontext.Value) (jsontext.Value, error) {
	return f.schema.check(name, answer)
}
