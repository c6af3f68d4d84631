package session

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestAnswerSurvives: every field of the answer that is stored beside a turn's calls comes back after a restart.
func TestAnswerSurvives(t *testing.T) {
	want := Answer{Finish: "stop", Cost: 1, Tokens: Tokens{Input: 2}, Usage: jsontext.Value(`{"a":1}`)}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Answer]()) {
		if reflect.ValueOf(want).FieldByIndex(f.Index).IsZero() {
			t.Errorf("the test does not set %s", f.Name)
		}
	}
	stored, err := json.Marshal(Private{Answer: &want})
	var got Private
	if err == nil {
		err = json.Unmarshal(stored, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got.Answer); diff != "" {
		t.Error(diff)
	}
}
