package cli

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// That a prefix changed by itself is said to whoever watches, and in the history; what was done on purpose is not.
func TestAlarmOfTheCache(t *testing.T) {
	for _, tt := range []struct {
		prefix *session.CachePrefix
		want   bool
	}{
		{&session.CachePrefix{Changed: "the tool zoom was added"}, true},
		{&session.CachePrefix{Changed: "the tool zoom was added", Cause: session.CauseAgent}, false},
		{&session.CachePrefix{}, false},
		{nil, false},
	} {
		a, b := paper()
		for _, v := range []view{newTextView(a, false), newLineView(a, false)} {
			v.event(story(&session.StepStarted{TurnFact: session.OfTurn("msg_a"), Prefix: tt.prefix})[0])
		}
		(&transcript{out: a.out, marks: a.marks}).print(&session.Session{}, []session.Message{&session.Assistant{Prefix: tt.prefix}})
		want := 0
		if tt.want {
			want = 3
		}
		if n := strings.Count(b.String(), "anew, at full price: the tool zoom was added\n"); n != want {
			t.Errorf("%+v is told %d times in\n%s", tt.prefix, n, b)
		}
	}
}

func TestCacheHit(t *testing.T) {
	for want, tokens := range map[string]session.Tokens{
		"":    {Input: 10},
		"75%": {Input: 20, Output: 1000, Cache: session.CacheUsage{Read: 75, Write: 5}},
		"99%": {Input: 1, Cache: session.CacheUsage{Read: 999}},
	} {
		if got := cacheHit(tokens); got != want {
			t.Errorf("%+v: %q, want %q", tokens, got, want)
		}
	}
	a, b := paper()
	(&transcript{out: a.out, marks: a.marks}).print(&session.Session{Tokens: session.Tokens{Input: 1, Cache: session.CacheUsage{Read: 3}}}, nil)
	if !strings.Contains(b.String(), "75% of the input from the cache") {
		t.Error(b)
	}
}
