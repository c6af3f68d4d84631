package printer

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// A prefix that changed by itself is reported to people and in logs; one that the user changed is not.
func TestCacheNote(t *testing.T) {
	for _, tt := range []struct {
		prefix *session.CachePrefix
		want   bool
	}{
		{&session.CachePrefix{Changed: "the tool zoom was added"}, true},
		{&session.CachePrefix{Changed: "the tool zoom was added", Cause: session.CauseAgent}, false},
		{&session.CachePrefix{}, false},
		{nil, false},
	} {
		a, b := testInvocation()
		for _, v := range []Printer{NewText(a, false), NewJSONLines(a, false)} {
			v.ShowEvent(story(&session.StepStarted{TurnFact: session.OfTurn("msg_a"), Prefix: tt.prefix})[0])
		}
		want := 0
		if tt.want {
			want = 2
		}
		if n := strings.Count(b.String(),
			"so the whole conversation is charged at full price: the tool zoom was added\n"); n != want {
			t.Errorf("%+v is reported %d times, want %d, in\n%s", tt.prefix, n, want, b)
		}
	}
}
