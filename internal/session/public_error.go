package session

import "github.com/go-json-experiment/json"

// PublicError is the reason why a turn failed, in the form that both of OpenCode's APIs have.
type PublicError struct {
	Name string          `json:"name" enum:"ProviderAuthError,UnknownError,MessageOutputLengthError,MessageAbortedError,StructuredOutputError,ContextOverflowError,ContentFilterError,APIError"`
	Data PublicErrorData `json:"data"`
}

// PublicErrorData has the details of a PublicError.
type PublicErrorData struct {
	ProviderID   string `json:"providerID,omitzero"`
	Message      string `json:"message"`
	StatusCode   int    `json:"statusCode,omitzero"`
	IsRetryable  *bool  `json:"isRetryable,omitzero"`
	ResponseBody string `json:"responseBody,omitzero"`
	Retries      *int   `json:"retries,omitzero"`
}

// PublicForm converts a failure. provider is the provider that caused it, or "".
func (f *Failure) PublicForm(provider string) *PublicError {
	e := &PublicError{Name: "UnknownError", Data: PublicErrorData{Message: f.Message}}
	if f.Provider != nil {
		e.Data.Message = f.Provider.Message
	}
	switch f.Reason {
	case ReasonAborted, ReasonInterrupted:
		e.Name, e.Data.Message = "MessageAbortedError", "Aborted"
	case ReasonAuth, ReasonAPI, ReasonQuota:
		if f.Provider == nil && f.Reason == ReasonAuth {
			e.Name, e.Data.ProviderID = "ProviderAuthError", provider
			break
		}
		e.Name, e.Data.IsRetryable = "APIError", new(bool)
		if s := f.Provider; s != nil {
			*e.Data.IsRetryable, e.Data.StatusCode, e.Data.ResponseBody = s.IsTransient, s.Status, s.Body
		}
	case ReasonOverflow:
		e.Name = "ContextOverflowError"
		if f.Provider != nil {
			e.Data.ResponseBody = f.Provider.Body
		}
	case ReasonFormat:
		e.Name, e.Data.Retries = "StructuredOutputError", f.countRetries()
	case ReasonContentFilter:
		e.Name = "ContentFilterError"
	}
	return e
}

// countRetries returns the number of attempts at structured output before the failure; nil for other failures.
func (f *Failure) countRetries() *int {
	var more struct {
		Retries int `json:"retries"`
	}
	_ = json.Unmarshal(f.Extra, &more) // one that does not say is one without
	return &more.Retries
}
