package opencode

import "github.com/cairn-dev/cairn/internal/session"

// Error is the reason why a step failed.
type Error struct {
	Name string    `json:"name" enum:"ProviderAuthError,UnknownError,MessageOutputLengthError,MessageAbortedError,StructuredOutputError,ContextOverflowError,ContentFilterError,APIError"`
	Data ErrorData `json:"data"`
}

// ErrorData has the details of an Error.
type ErrorData struct {
	ProviderID   string `json:"providerID,omitzero"`
	Message      string `json:"message"`
	StatusCode   int    `json:"statusCode,omitzero"`
	IsRetryable  *bool  `json:"isRetryable,omitzero"`
	ResponseBody string `json:"responseBody,omitzero"`
	Retries      *int   `json:"retries,omitzero"`
}

// errorOf returns nil for a step that did not fail.
func errorOf(m *session.Assistant) *Error {
	if m.Error == nil || isDeclined(m) {
		return nil
	}
	return ErrorOf(m.Error, m.Model.ProviderID)
}

// ErrorOf converts a failure. provider is the provider that caused it, or "".
func ErrorOf(f *session.Failure, provider string) *Error {
	e := &Error{Name: "UnknownError", Data: ErrorData{Message: f.Message}}
	if f.Provider != nil {
		e.Data.Message = f.Provider.Message
	}
	switch f.Reason {
	case session.ReasonAborted, session.ReasonInterrupted:
		e.Name, e.Data.Message = "MessageAbortedError", "Aborted"
	case session.ReasonAuth, session.ReasonAPI, session.ReasonQuota:
		if f.Provider == nil && f.Reason == session.ReasonAuth {
			e.Name, e.Data.ProviderID = "ProviderAuthError", provider
			break
		}
		e.Name, e.Data.IsRetryable = "APIError", new(bool)
		if s := f.Provider; s != nil {
			*e.Data.IsRetryable, e.Data.StatusCode, e.Data.ResponseBody = s.IsTransient, s.Status, s.Body
		}
	case session.ReasonOverflow:
		e.Name = "ContextOverflowError"
		if f.Provider != nil {
			e.Data.ResponseBody = f.Provider.Body
		}
	case session.ReasonFormat:
		e.Name, e.Data.Retries = "StructuredOutputError", retriesOf(f)
	case session.ReasonContentFilter:
		e.Name = "ContentFilterError"
	}
	return e
}
