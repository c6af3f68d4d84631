package run

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestDescribeJobs: leaving the full screen names the jobs that go on.
func TestDescribeJobs(t *testing.T) {
	ended := session.Job{Status: session.JobEndedItself}
	running := session.Job{Status: session.JobRunning}
	if got := describeJobs([]session.Job{ended}); got != "" {
		t.Errorf("got %q of a job that ended", got)
	}
	want := "2 jobs still running, see cairn jobs list; "
	if got := describeJobs([]session.Job{running, ended, running}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
