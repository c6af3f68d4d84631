package session

import "slices"

// Job is a command that goes on in the background of a session, beside its turns. It is recorded before it starts, belongs
// to its session, and ends with it, with an interrupt, and with the process that runs it.
type Job struct {
	ID          JobID     `json:"id"`
	Command     string    `json:"command"`
	Description string    `json:"description,omitzero"`
	Directory   string    `json:"directory"`
	OutputPath  string    `json:"outputPath"` // the managed file that holds what it prints
	Status      JobStatus `json:"status"`
	Exit        *int      `json:"exit,omitzero"`  // 128 and the signal's number if a signal ended it
	Error       string    `json:"error,omitzero"` // why it could not be started
	Time        JobTime   `json:"time"`
}

// JobTime is when a job started and ended.
type JobTime struct {
	Started int64 `json:"started"`
	Ended   int64 `json:"ended,omitzero"`
}

// JobStatus is how a job stands.
type JobStatus string

// The states of a job. All but the first are final.
const (
	JobRunning     JobStatus = "running"
	JobEndedItself JobStatus = "ended"
	JobTimedOut    JobStatus = "timeout"
	JobCancelled   JobStatus = "cancelled"   // the model or the user ended it
	JobInterrupted JobStatus = "interrupted" // it ended with the process that ran it
	JobFailed      JobStatus = "failed"      // it could not be started
)

// What a session's row remembers of its jobs; the log has them all.
const (
	jobsKept      = 32
	jobCommandLen = 500 // bytes
)

// FindJob returns the job with the id, nil if the session remembers none.
func (s *Session) FindJob(id JobID) *Job {
	if i := slices.IndexFunc(s.Jobs, func(j Job) bool { return j.ID == id }); i >= 0 {
		return &s.Jobs[i]
	}
	return nil
}

// RunningJobs reports whether a job has started and not ended, as far as is recorded.
func (s *Session) RunningJobs() bool {
	return slices.ContainsFunc(s.Jobs, func(j Job) bool { return j.Status == JobRunning })
}

func (s *Session) startJob(e *JobStarted) {
	j := e.Job
	j.Command, j.Status, j.Time = clip(j.Command, jobCommandLen), JobRunning, JobTime{Started: e.Timestamp}
	jobs := append(slices.Clone(s.Jobs), j)
	for len(jobs) > jobsKept {
		i := slices.IndexFunc(jobs, func(j Job) bool { return j.Status != JobRunning })
		jobs = slices.Delete(jobs, max(i, 0), max(i, 0)+1)
	}
	s.Jobs = jobs
}

// endJob reports whether the job was running.
func (s *Session) endJob(e *JobEnded) bool {
	j := s.FindJob(e.JobID)
	if j == nil || j.Status != JobRunning {
		return false
	}
	s.Jobs = slices.Clone(s.Jobs)
	j = s.FindJob(e.JobID)
	j.Status, j.Exit, j.Error, j.Time.Ended = e.Status, e.Exit, e.Error, e.Timestamp
	return true
}
