package describe

import (
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// DescribeRetry says why an attempt failed and when the next one is made.
func DescribeRetry(d *session.Retried) string {
	text := terminal.FirstLine(d.Error.Message, 200)
	wait := time.Duration(d.Next-d.Timestamp) * time.Millisecond
	if d.Next == 0 || wait <= 0 {
		return text + "; retrying"
	}
	return fmt.Sprintf("%s; attempt %d starts in %s", text, d.Attempt+1, wait.Round(100*time.Millisecond))
}
