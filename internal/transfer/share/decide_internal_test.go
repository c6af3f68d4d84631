package share

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestDecide has a row for each state of a share.
func TestDecide(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	shared := &session.Session{Share: &session.Share{URL: "u"}}
	private := &session.Session{}
	const head = 7
	active := Share{URL: "u", Target: "t", SyncedSeq: head}
	with := func(s Share, change func(*Share)) Share {
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		share   Share
		current *session.Session
		want    action
	}{
		"up to date":            {active, shared, action{}},
		"behind":                {with(active, func(s *Share) { s.SyncedSeq = 3 }), shared, action{step: stepPush}},
		"nothing sent":          {with(active, func(s *Share) { s.SyncedSeq = -1 }), shared, action{step: stepPush}},
		"ahead of the session":  {with(active, func(s *Share) { s.SyncedSeq = 9 }), shared, action{step: stepPush}},
		"page, not synced":      {Share{URL: "u"}, shared, action{}},
		"unrecorded":            {active, private, action{step: stepRecord}},
		"recorded elsewhere":    {with(active, func(s *Share) { s.URL = "v" }), shared, action{step: stepRecord}},
		"new expiry unrecorded": {with(active, func(s *Share) { s.Expires = at(time.Hour) }), shared, action{step: stepRecord}},
		"behind, in backoff": {
			with(active, func(s *Share) { s.SyncedSeq, s.NextAttempt = 3, at(time.Minute) }), shared,
			action{stepWait, now.Add(time.Minute)},
		},
		"behind, backoff over": {with(active, func(s *Share) { s.SyncedSeq, s.NextAttempt = 3, at(0) }), shared, action{step: stepPush}},

		"pending, automatic":             {Share{Auto: true, Target: "t"}, private, action{step: stepOpen}},
		"pending, automatic, in backoff": {Share{Auto: true, Target: "t", NextAttempt: at(1e9)}, private, action{stepWait, now.Add(1e9)}},
		"pending, manual, new":           {Share{Target: "t", Created: at(-time.Second)}, private, action{stepWait, now.Add(59 * time.Second)}},
		"pending, manual, left behind":   {Share{Target: "t", Created: at(-time.Minute)}, private, action{step: stepRemove}},

		"deleted":                 {active, nil, action{step: stepRevoke}},
		"deleted, push failed":    {with(active, func(s *Share) { s.NextAttempt = at(time.Hour) }), nil, action{step: stepRevoke}},
		"deleted, page":           {Share{URL: "u"}, nil, action{step: stepRevoke}},
		"deleted, pending":        {Share{Auto: true, Target: "t"}, nil, action{step: stepRevoke}},
		"expired":                 {with(active, func(s *Share) { s.Expires = at(0) }), shared, action{step: stepRevoke}},
		"expired, push failed":    {with(active, func(s *Share) { s.Expires, s.NextAttempt = at(-1), at(time.Hour) }), shared, action{step: stepRevoke}},
		"expired, session unread": {with(active, func(s *Share) { s.Expires = at(-1) }), nil, action{step: stepRevoke}},

		"revoked":             {with(active, func(s *Share) { s.RevokedAt = at(-1) }), shared, action{step: stepRevoke}},
		"revoked and deleted": {with(active, func(s *Share) { s.RevokedAt = at(-1) }), nil, action{step: stepRevoke}},
		"revoked, in backoff": {
			with(active, func(s *Share) { s.RevokedAt, s.NextAttempt = at(-1), at(time.Hour) }), nil, action{stepWait, now.Add(time.Hour)},
		},
		"revoked, expired, in backoff": {
			with(active, func(s *Share) { s.RevokedAt, s.Expires, s.NextAttempt = at(-1), at(-1), at(time.Hour) }), shared,
			action{stepWait, now.Add(time.Hour)},
		},
		"abandoned": {with(active, func(s *Share) { s.RevokedAt = at(-revokeRetryLimit - time.Second) }), nil, action{}},
	} {
		if got := decide(&c.share, c.current, head, now); got.step != c.want.step || !got.until.Equal(c.want.until) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
