package session

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock gives the times of a list, then the last one for ever.
func clock(ms ...int64) func() time.Time {
	return func() time.Time {
		now := time.UnixMilli(ms[0])
		if len(ms) > 1 {
			ms = ms[1:]
		}
		return now
	}
}

func zeroes(p []byte) { clear(p) }

func TestIDs(t *testing.T) {
	const wrap = 1786706395136 // 2026-08-14T11:19:55.136Z: the 48 bits begin anew
	for _, c := range []struct {
		name string
		ms   []int64
		p    Prefix
		want []string
	}{
		{"counter", []int64{1}, PrefixMessage, []string{"msg_000000001001", "msg_000000001002", "msg_000000001003"}},
		{"time", []int64{1, 2}, PrefixEvent, []string{"evt_000000001001", "evt_000000002001"}},
		{
			"clock steps back",
			[]int64{5, 1, 1, 6},
			PrefixPart,
			[]string{"prt_000000005001", "prt_000000005002", "prt_000000005003", "prt_000000006001"},
		},
		{"sessions fall", []int64{1, 2}, PrefixSession, []string{"ses_ffffffffeffe", "ses_ffffffffdffe"}},
		{
			"across the wrap",
			[]int64{wrap - 1, wrap - 1, wrap, wrap + 1},
			PrefixMessage,
			[]string{"msg_fffffffff001", "msg_fffffffff002", "msg_000000000001", "msg_000000001001"},
		},
		{
			"back across the wrap",
			[]int64{wrap, wrap - 1, wrap - 1},
			PrefixMessage,
			[]string{"msg_000000000001", "msg_000000000002", "msg_000000000003"},
		},
	} {
		g := &IDs{Now: clock(c.ms...), Rand: zeroes}
		for _, want := range c.want {
			if got := g.New(c.p); got != want+strings.Repeat("0", 14) {
				t.Errorf("%s: got %s, want %s…", c.name, got, want)
			}
		}
	}
}

// More ids in a millisecond than the counter has room for run into the next one, and stay in order.
func TestIDsOverflow(t *testing.T) {
	g := &IDs{Now: clock(1), Rand: zeroes}
	var ids []string
	for range 10_000 {
		ids = append(ids, g.New(PrefixMessage))
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 10_000 {
		t.Error("ids of one millisecond are not distinct and rising")
	}
}

func TestIDsConcurrent(t *testing.T) {
	shape := regexp.MustCompile(`^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$`)
	var g IDs
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				id := g.New(PrefixPart)
				mu.Lock()
				if seen[id[:16]] || !shape.MatchString(id) {
					t.Errorf("%s is there twice or has another shape", id)
				}
				seen[id[:16]] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestCheckID(t *testing.T) {
	for _, c := range []struct {
		id string
		ok bool
	}{
		{"msg_1", true},
		{"msg", true},
		{"msgabc", true},
		{"msg_" + strings.Repeat("a", 64), true},
		{"msg_" + strings.Repeat("a", 124), true},
		{"msg_" + strings.Repeat("a", 125), false},
		{"", false},
		{"ses_1", false},
		{"MSG_1", false},
		{" msg_1", false},
		{"msg_ 1", false},
		{"msg_\n", false},
		{"msg_é", false},
		{"msg_../x", false},
		{`msg_a\b`, false},
		{"msg_\x00", false},
	} {
		err := CheckID("id", PrefixMessage, c.id)
		if (err == nil) != c.ok {
			t.Errorf("%q: %v", c.id, err)
		}
		if e, _ := errors.AsType[*Error](err); err != nil &&
			(e.Code != CodeInvalid || e.Field != "id" || len(e.Message) > 200) {
			t.Errorf("%q: %+v", c.id, e)
		}
	}
}

func TestErrorWords(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{NotFound("model", "gtp"), `model "gtp" not found`},
		{NotFound("model", "gtp", "gpt"), `model "gtp" not found; did you mean gpt?`},
		{NotFound("model", "gtp", "gpt", "gtx"), `model "gtp" not found; similar names: gpt, gtx`},
		{Conflict("prompt", "msg_1", "is taken"), `prompt "msg_1" is taken`},
		{Conflict("prompt", strings.Repeat("é", 90), "is taken"), `prompt "` + strings.Repeat("é", 40) + `…" is taken`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if !c.err.Because(fmt.Errorf("x")).Is(&Error{Code: c.err.Code}) || c.err.Is(&Error{Code: "other"}) {
			t.Errorf("%s is not what it is", c.err)
		}
	}
}
