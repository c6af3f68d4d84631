package script

import (
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxTurns = 10_000
	maxTimes = 1_000_000
)

// Validate returns the first problem in s, with its turn and step, counted from 1.
func (s Script) Validate() error {
	if len(s.Turns) == 0 {
		return errors.New(`a script needs at least one turn: {"turns": [{"steps": [{"text": "Hello."}]}]}`)
	}
	if len(s.Turns) > maxTurns {
		return fmt.Errorf("%d turns; at most %d are allowed", len(s.Turns), maxTurns)
	}
	for i, turn := range s.Turns {
		if err := turn.validate(); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return nil
}

func (t Turn) validate() error {
	if _, err := regexp.Compile(t.Match); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	switch {
	case len(t.Steps) == 0:
		return errors.New(`steps: at least one is needed; for an empty answer write {"fault": {"kind": "empty"}}`)
	case t.Times < 0 || t.Times > maxTimes:
		return fmt.Errorf("times: between 0 and %d", maxTimes)
	case t.Every < 0:
		return errors.New("every: the duration must not be negative")
	case !knownFinish(t.Finish):
		return fmt.Errorf(
			"finish: %q is not one of stop, length, tool-calls, content-filter, error, unknown, paused",
			clip(string(t.Finish), 40),
		)
	}
	for i, step := range t.Steps {
		if err := step.validate(i, len(t.Steps)); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func knownFinish(r llm.FinishReason) bool {
	switch r {
	case "", llm.FinishStop, llm.FinishLength, llm.FinishToolCalls, llm.FinishContentFilter, llm.FinishError,
		llm.FinishUnknown, llm.FinishPaused:
		return true
	default:
		return false
	}
}

func (s Step) validate(i, n int) error {
	if s.kinds() != 1 {
		return errors.New("exactly one of text, reasoning, call, delay, gate, fault is needed")
	}
	if s.Delay < 0 || s.Times < 0 || s.Times > maxTimes {
		return fmt.Errorf("delay must not be negative, times must be between 0 and %d", maxTimes)
	}
	for _, chunk := range append(s.Text[:len(s.Text):len(s.Text)], s.Reasoning...) {
		if chunk == "" || !utf8.ValidString(chunk) {
			return errors.New("a chunk must be valid UTF-8 and not empty")
		}
	}
	if s.Call != nil {
		if err := s.Call.validate(); err != nil {
			return fmt.Errorf("call: %w", err)
		}
		if s.Call.Cut && i != n-1 {
			return errors.New("a call with cut must be the last step")
		}
	}
	if s.Fault != nil {
		if err := s.Fault.validate(i == 0, i == n-1); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}

func (s Step) kinds() int {
	n := 0
	for _, set := range []bool{
		s.Text != nil, s.Reasoning != nil, s.Call != nil, s.Delay != 0, s.Gate != "", s.Fault != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (c *Call) validate() error {
	switch {
	case c.Name == "":
		return errors.New("name is missing")
	case c.Split < 0:
		return errors.New("split must not be negative")
	case len(c.Arguments) > 0 && c.Raw != "":
		return errors.New("arguments and raw are mutually exclusive")
	case c.Raw != "" && !utf8.ValidString(c.Raw):
		return errors.New("raw must be valid UTF-8")
	case c.Cut && len(c.Arguments)+len(c.Raw) == 0:
		return errors.New("cut needs arguments or raw")
	case len(c.Arguments) > 0 && (c.Arguments.Kind() != '{' || !c.Arguments.IsValid()):
		return errors.New("arguments must be a JSON object; write other text in raw")
	case c.Hosted != nil && !c.Hosted.Result.IsValid():
		return errors.New("hosted: result must be a JSON value")
	}
	_, err := fillArguments(c.Arguments, func(r Result) (string, error) { return "", r.validate() })
	return err
}

func (r Result) validate() error {
	re, err := regexp.Compile(r.Regexp)
	if err != nil {
		return fmt.Errorf("$result: regexp: %w", err)
	}
	if r.Call != "" && r.Index != nil {
		return errors.New("$result: call and index are mutually exclusive")
	}
	if r.Group != nil && (r.Regexp == "" || *r.Group < 0 || *r.Group > re.NumSubexp()) {
		return fmt.Errorf("$result: the expression has no group %d", *r.Group)
	}
	return nil
}

func (f *Fault) validate(first, last bool) error {
	if !last {
		return errors.New("a fault ends the turn and must be the last step")
	}
	switch f.Kind {
	case FaultConnectHang, FaultHeaderHang, FaultEmpty:
		if !first {
			return fmt.Errorf("%s must be the only step of its turn", f.Kind)
		}
	case FaultSilence, FaultReset, FaultEnd, FaultMalformed:
	case FaultStatus:
		if f.Status == 0 && f.Class == "" {
			return errors.New("status needs a status or a class")
		}
		if f.Class != "" && !knownClass(f.Class) {
			return fmt.Errorf("class %q is unknown", clip(string(f.Class), 40))
		}
	default:
		return fmt.Errorf(
			"kind %q is not one of connect-hang, header-hang, silence, reset, end, status, malformed, empty",
			clip(string(f.Kind), 40),
		)
	}
	return nil
}

func knownClass(c llm.Class) bool {
	switch c {
	case llm.Auth, llm.Forbidden, llm.Quota, llm.RateLimit, llm.Overloaded, llm.Transport, llm.Timeout, llm.Incomplete,
		llm.Malformed,
		llm.Empty, llm.Overflow, llm.ContentFilter, llm.InvalidRequest, llm.Aborted, llm.Unknown:
		return true
	default:
		return false
	}
}

// checkObject returns the reason why text is not the JSON object of a tool's input; "" if it is.
func checkObject(text string) string {
	v := jsontext.Value(text)
	switch {
	case !v.IsValid():
		return "the arguments are not valid JSON"
	case v.Kind() != '{':
		return "the arguments are not a JSON object"
	default:
		return ""
	}
}
