package cli

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for a keyring is told so, and others are not.
func TestWhatIsWaitedForIsSaid(t *testing.T) {
	for takes, want := range map[time.Duration]string{time.Second: "", 20 * time.Second: "! waiting for the keyring"} {
		synctest.Test(t, func(t *testing.T) {
			a, said := paper()
			why := errors.New("why")
			if err := a.whileKeyring(func() error { time.Sleep(takes); return why }); !errors.Is(err, why) {
				t.Error(err)
			}
			if got := said.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q", takes, got)
			}
		})
	}
}
