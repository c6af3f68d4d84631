package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestChosen(t *testing.T) {
	options := []session.Option{{Label: "Red"}, {Label: "Blue, dark"}, {Label: "7"}}
	one := session.Question{Options: options}
	some := session.Question{Options: options, Multiple: true}
	closed := session.Question{Options: options, Custom: new(bool)}
	for _, tt := range []struct {
		q    session.Question
		text string
		want []string // nil: refused
	}{
		{one, "1", []string{"Red"}},
		{one, "red", []string{"Red"}},
		{one, "7", []string{"7"}},
		{one, "2", []string{"Blue, dark"}},
		{one, "4", []string{"4"}},
		{one, "green, or so", []string{"green, or so"}},
		{one, "", []string{}},
		{some, "1, 3,1", []string{"Red", "7"}},
		{some, "1, pink", []string{"1, pink"}},
		{closed, "3", []string{"7"}},
		{closed, "4", nil},
		{closed, "pink", nil},
	} {
		got, err := tt.q.ParseAnswer(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
		if err == nil && session.CheckAnswers("", []session.Question{tt.q}, [][]string{got}) != nil {
			t.Errorf("%q: %v would be refused", tt.text, got)
		}
	}
}
