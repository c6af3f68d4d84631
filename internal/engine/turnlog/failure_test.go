package turnlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A recorded failure has only text that is meant for people, and only a provider's error counts as the provider's.
func TestFromError(t *testing.T) {
	secret := errors.New("open /home/me/.secret: permission denied")
	for _, c := range []struct {
		name   string
		err    error
		reason session.Reason
		says   string
	}{
		{"the provider's", &llm.Error{Class: llm.Quota, Message: "no money left"}, session.ReasonQuota, "no money left"},
		{
			"the provider's, wrapped", fmt.Errorf("x: %w", &llm.Error{Class: llm.Timeout, Message: "slow"}), session.ReasonAPI,
			"slow",
		},
		{
			"a session error", session.Errorf(
				session.CodeInvalid, "cairn.json line 3",
			).Because(secret), session.ReasonUnavailable,
			"cairn.json line 3",
		},
		{
			"an internal session error", session.Errorf(session.CodeInternal, "secret").Because(secret), session.ReasonInternal,
			"the log has the details",
		},
		{
			"the store's", fmt.Errorf("%w: secret: disk full", store.ErrUnavailable), session.ReasonStore,
			"could not be read or written",
		},
		{"damage", &store.Damage{SessionID: "ses_a", Detail: "secret"}, session.ReasonStore, "is damaged"},
		{"another error", secret, session.ReasonInternal, "the log has the details"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := DescribeFailure(c.err)
			if f.Reason != c.reason || !strings.Contains(f.Message, c.says) || strings.Contains(f.Message, "secret") {
				t.Errorf("recorded as %s: %s", f.Reason, f.Message)
			}
		})
	}
}
