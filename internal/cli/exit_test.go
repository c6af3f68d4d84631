package cli

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want ExitCode
	}{
		{nil, ExitOK},
		{errors.New("x"), ExitFailure},
		{UsageErrorf("x"), ExitUsage},
		{ErrSignal, ExitInterrupted},
		{session.NotFound("model", "x"), ExitUsage},
		{session.Errorf(session.CodeInvalid, "x"), ExitUsage},
		{session.Errorf(session.CodeTooLarge, "x"), ExitUsage},
		{session.Errorf(session.CodeDenied, "x"), ExitDenied},
		{caller.Refuse(caller.ReasonScope, "x"), ExitFailure},
		{session.Errorf(session.CodeConflict, "x"), ExitFailure},
		{session.Errorf(session.CodeUnavailable, "x"), ExitFailure},
		{session.Errorf(session.CodeInternal, "x"), ExitFailure},
	} {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("codeOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
