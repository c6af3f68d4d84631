package session

import "slices"

// TaskJob is the work of a subagent as a job: the next process continues it, and its end brings a prompt with the
// report to the session of the job.
type TaskJob struct {
	SessionID ID        `json:"sessionID"`         // of the work
	PromptID  MessageID `json:"promptID"`          // that the work answers
	Asks      AskPolicy `json:"asks,omitzero"`     // of the prompt with the report
	Recovery  Recovery  `json:"recovery,omitzero"` // of the prompt with the report

	Restricted bool `json:"restricted,omitzero"` // the work, and so the prompt with the report
}

// RunsInBackground reports whether a job in the background of the session works in the child session.
func (s *Session) RunsInBackground(child ID) bool {
	return slices.ContainsFunc(s.Jobs, func(j Job) bool {
		return j.Task != nil && j.Task.SessionID == child && j.Status == JobRunning
	})
}
