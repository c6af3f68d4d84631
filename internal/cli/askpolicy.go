package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// CheckAskPolicy reports a wrong value of --ask before anything is started: it must be empty, one of the words, or
// wait:DURATION. The engine checks again.
func CheckAskPolicy(value string, words ...string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	if d, ok := strings.CutPrefix(value, "wait:"); ok {
		if v, err := time.ParseDuration(d); err == nil && v > 0 {
			return nil
		}
		if n, err := strconv.Atoi(d); err == nil && n > 0 {
			return nil
		}
	}
	return UsageErrorf("--ask must be %s or wait:DURATION (like wait:30s), got %q", strings.Join(words, ", "), value)
}
