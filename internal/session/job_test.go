package session

import (
	"fmt"
	"strings"
	"testing"
)

// The row remembers a bounded number of jobs and never forgets a running one for an ended one. The first end counts.
func TestJobsAreRemembered(t *testing.T) {
	s := &Session{}
	three := 3
	for i := range 100 {
		id := JobID(fmt.Sprint("job_", i))
		s.Apply(&JobStarted{Fact: at(int64(i)), Job: Job{ID: id, Command: strings.Repeat("x", 10_000)}})
		if i > 0 && !s.Apply(&JobEnded{Fact: at(200), JobID: id, Status: JobEndedItself, Exit: &three}) {
			t.Fatal(id)
		}
		if s.Apply(&JobEnded{Fact: at(300), JobID: id, Status: JobCancelled}) && i > 0 {
			t.Fatal("ended twice")
		}
		if i == 0 {
			s.FindJob(id).Status = JobRunning
		}
	}
	last := s.FindJob("job_99")
	if len(s.Jobs) != jobsKept || s.Jobs[0].ID != "job_0" || !s.RunningJobs() || last == nil {
		t.Fatalf("%d %+v", len(s.Jobs), s.Jobs[0].ID)
	}
	if last.Status != JobEndedItself || *last.Exit != 3 || last.Time != (JobTime{99, 200}) ||
		len(last.Command) > jobCommandLen+3 {
		t.Errorf("%+v", last)
	}
}
