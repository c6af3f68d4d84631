package session

import "slices"

// Job is a command or a task that runs in the background of a session, beside its turns. It is recorded before it
// starts, and it ends at the latest with its session, with an interrupt or, a command, with the process that runs it.
type Job struct {
	ID          JobID     `json:"id"`
	Command     string    `json:"command"`
	Description string    `json:"description,omitzero"`
	Directory   string    `json:"directory"`
	OutputPath  string    `json:"outputPath"` // the managed file with its output
	Status      JobStatus `json:"status"`
	Exit        *int      `json:"exit,omitzero"`  // 128 plus the signal number if a signal ended it
	Error       string    `json:"error,omitzero"` // why it failed to start
	Time        JobTime   `json:"time"`
	Task        *TaskJob  `json:"task,omitzero"` // nil for a command
}

// JobTime holds when a job started and ended.
type JobTime struct {
	Started int64 `json:"started"`
	Ended   int64 `json:"ended,omitzero"`
}

// JobStatus is the status of a job.
type JobStatus string

// The job statuses. All but JobRunning are final.
const (
	JobRunning     JobStatus = "running"
	JobEndedItself JobStatus = "ended"
	JobTimedOut    JobStatus = "timeout"
	JobCancelled   JobStatus = "cancelled"   // the model or the user ended it
	JobInterrupted JobStatus = "interrupted" // it ended with the process that ran it
	JobFailed      JobStatus = "failed"      // it could not be started
)

// Limits of the jobs in a session's row; the log has all of them.
const (
	jobsKept      = 32
	jobCommandLen = 500 // bytes
)

// FindJob returns the job with the id, nil if the session's row does not have it.
func (s *Session) FindJob(id JobID) *Job {
	if i := slices.IndexFunc(s.Jobs, func(j Job) bool { return j.ID == id }); i >= 0 {
		return &s.Jobs[i]
	}
	return nil
}

// RunningJobs reports whether a job is recorded as started and not as ended.
func (s *Session) RunningJobs() bool {
	return slices.ContainsFunc(s.Jobs, func(j Job) bool { return j.Status == JobRunning })
}

func (s *Session) startJob(e *JobStarted) {
	j := e.Job
	j.Command, j.Status, j.Time = ClipText(j.Command, jobCommandLen), JobRunning, JobTime{Started: e.Timestamp}
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
