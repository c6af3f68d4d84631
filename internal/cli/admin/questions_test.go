package admin

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestAnswersToAllQuestions(t *testing.T) {
	if _, err := parseAnswers(make([]session.Question, 2), []string{"1"}); err == nil {
		t.Error("one answer for two questions")
	}
}
