package wire

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Bounds of what an error may carry (spec/v2 §20.3).
const (
	maxMessage = 500   // characters
	maxBody    = 16384 // characters
)

// Failure is a response that is no answer: an HTTP error, or an error object inside a stream (Status 200).
type Failure struct {
	Status  int
	Header  http.Header
	Body    []byte
	Secrets []string  // values that were sent and must not come back in a message
	Now     time.Time // to read a Retry-After date by; zero means the response's own Date
}

// Classify sorts a failure by what can be done about it. Structured codes count before the status, and the status
// before phrases, so that an overflow that mentions "safety" is still an overflow (spec/v2 §20.3, §27 X18).
func Classify(f Failure) *llm.Error {
	w := parseWire(f.Body)
	if name, _, _ := strings.Cut(f.Header.Get("X-Amzn-Errortype"), ":"); name != "" {
		w.codes = append(w.codes, strings.ToLower(name))
	}
	if f.Status == http.StatusOK && w.status >= 400 && w.status < 600 {
		f.Status = w.status
	}
	e := &llm.Error{
		Class:      w.class(f.Status),
		Message:    wording(w, f),
		Status:     f.Status,
		RetryAfter: retryAfter(f.Header, f.Now),
		RequestID:  RequestID(f.Header),
		Body:       Shown(f.Body, f.Secrets, maxBody),
	}
	if e.RetryAfter == 0 && e.IsRetryable() {
		e.RetryAfter = w.retry
	}
	if e.Status == http.StatusOK {
		e.Status = 0
	}
	return e
}

// wireError is an error body with the vendors' differences taken out.
type wireError struct {
	codes     []string // code and type fields, lower case
	status    int      // a numeric code
	message   string
	text      string // everything, lower case, for the phrases
	moderated bool
	retry     time.Duration // when to try again, as Google says it in the body
	perDay    bool          // a quota of the day is used up: waiting for minutes is of no use
}

// parseWire understands {"error":{…}}, {"error":"…"}, a list with one of these, and the object without the envelope.
func parseWire(body []byte) wireError {
	w := wireError{text: strings.ToLower(string(body[:min(len(body), maxBody)]))}
	v := jsontext.Value(bytes.TrimSpace(body))
	if list, ok := List(v); ok && len(list) > 0 {
		v = list[0]
	}
	var outer Object
	if json.Unmarshal(v, &outer, Foreign) != nil {
		return w
	}
	if choices, ok := List(outer["choices"]); ok && len(choices) > 0 && !Present(outer["error"]) {
		_ = json.Unmarshal(choices[0], &outer, Foreign) // an error inside the choice; else there is none to find
	}
	if list, ok := List(outer["errors"]); ok && len(list) > 0 && !Present(outer["error"]) {
		outer["error"] = list[0]
	}
	w.take(outer)
	if inner := outer["error"]; inner.Kind() == '"' {
		w.message = Plain(inner)
	} else if inner.Kind() == '{' {
		w.message = ""
		w.nested(inner, 3)
	}
	return w
}

// nested reads an error object and the causes inside it, outermost first.
func (w *wireError) nested(v jsontext.Value, depth int) {
	var fields Object
	if depth == 0 || json.Unmarshal(v, &fields, Foreign) != nil {
		return
	}
	w.take(fields)
	for _, key := range []string{"innererror", "error", "metadata"} {
		if fields[key].Kind() == '{' {
			w.nested(fields[key], depth-1)
		}
	}
	if _, ok := fields["flagged_input"]; ok {
		w.moderated = true
	}
	w.details(fields["details"])
}

// details reads what Google's errors carry beside their words.
func (w *wireError) details(v jsontext.Value) {
	list, _ := List(v)
	for _, entry := range list {
		var detail struct {
			Reason     string `json:"reason"`
			Delay      string `json:"retryDelay"`
			Violations []struct {
				Quota string `json:"quotaId"`
			} `json:"violations"`
		}
		if json.Unmarshal(entry, &detail, Foreign) != nil {
			continue
		}
		if detail.Reason != "" {
			w.codes = append(w.codes, strings.ToLower(detail.Reason))
		}
		if d, err := time.ParseDuration(detail.Delay); err == nil && d > 0 {
			w.retry = min(d, maxRetryAfter)
		}
		for _, violation := range detail.Violations {
			w.perDay = w.perDay || strings.Contains(violation.Quota, "PerDay")
		}
	}
}

func (w *wireError) take(fields Object) {
	for _, key := range []string{"code", "type", "__type", "status", "error_type", "error_code"} {
		switch v := fields[key]; v.Kind() {
		case '"':
			code := Plain(v)
			if space, name, qualified := strings.Cut(code, "#"); qualified && strings.HasPrefix(space, "com.amazon") {
				code = name
			}
			w.codes = append(w.codes, strings.ToLower(code))
		case '0':
			if n, err := strconv.Atoi(string(v)); err == nil && w.status == 0 {
				w.status = n
			}
		}
	}
	for _, key := range []string{"message", "Message", "detail", "error_description", "msg"} {
		if text := Plain(fields[key]); text != "" && w.message == "" {
			w.message = text
		}
	}
}

func (w *wireError) class(status int) llm.Class {
	if w.moderated {
		return llm.ContentFilter
	}
	if mentions(w.text, blindPhrases) {
		return llm.InvalidRequest
	}
	if w.forbidden(status) {
		return llm.Forbidden
	}
	for _, code := range w.codes {
		if class, ok := codeClass[code]; ok {
			if class == llm.RateLimit && status == http.StatusRequestEntityTooLarge {
				return llm.Overflow // one request larger than the whole allowance
			}
			return class
		}
	}
	return w.classByStatus(status)
}

// forbidden reports whether what is refused would be with any key: by who may do what, by the time, or by a page of
// something in between.
func (w *wireError) forbidden(status int) bool {
	has := func(code string) bool { return slices.Contains(w.codes, code) }
	switch {
	case mentions(w.text, clockPhrases), slices.ContainsFunc(forbiddenCodes, has):
		return status >= 400 && status < 500
	case has(accessDenied):
		return !mentions(w.text, credentialPhrases)
	}
	return status == http.StatusForbidden && isHTML([]byte(w.text))
}

func (w *wireError) classByStatus(status int) llm.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest && mentions(w.text, keyPhrases):
		return llm.Auth
	case status == http.StatusPaymentRequired:
		return llm.Quota
	case status == http.StatusTooManyRequests && w.retry > 0 && !w.perDay:
		return llm.RateLimit // though it speaks of a quota
	case status == http.StatusTooManyRequests && mentions(w.text, quotaPhrases), mentions(w.text, creditPhrases):
		return llm.Quota
	case status == http.StatusTooManyRequests:
		return llm.RateLimit
	case mentions(w.text, overflowPhrases), w.text == "" && (status == 400 || status == 413):
		return llm.Overflow
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return llm.Overloaded
	case mentions(w.text, filterPhrases):
		return llm.ContentFilter
	case slices.Contains([]int{400, 404, 405, 409, 413, 415, 422}, status), status >= 300 && status < 400:
		return llm.InvalidRequest
	case status >= 400:
		return llm.Unknown
	}
	return w.classInStream()
}

// classInStream sorts an error object without a status of its own. Unless it blames the request, it is the
// provider's trouble and may pass.
func (w *wireError) classInStream() llm.Class {
	switch {
	case mentions(w.text, quotaPhrases):
		return llm.Quota
	case mentions(w.text, ratePhrases):
		return llm.RateLimit
	case mentions(w.text, filterPhrases):
		return llm.ContentFilter
	}
	for _, code := range w.codes {
		for _, blame := range []string{"invalid", "bad_request", "not_found", "notfound", "validation"} {
			if strings.Contains(code, blame) {
				return llm.InvalidRequest
			}
		}
	}
	return llm.Overloaded
}

// wording returns what people read: the provider's own words, or the status and its body if that is short, or the status.
func wording(w wireError, f Failure) string {
	text := w.message
	if text == "" && isHTML(f.Body) && f.Status >= 400 && f.Status < 500 {
		text = webPage(f)
	}
	if text != "" && mentions(strings.ToLower(text), clockPhrases) {
		text += "; the clock of this computer is wrong: set it"
	}
	if text == "" && len(f.Body) <= maxMessage && !isHTML(f.Body) {
		text = strings.TrimSpace(string(f.Body))
		if name := http.StatusText(f.Status); name != "" && text != "" && !strings.EqualFold(name, text) {
			text = name + ": " + text // as OpenCode says it
		}
	}
	if text == "" {
		text = "the provider answered with " + statusLine(f.Status)
	}
	return Shown([]byte(text), f.Secrets, maxMessage)
}

func statusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// title is what a web page calls itself.
var title = regexp.MustCompile(`(?is)<title[^>]*>(.{1,400}?)</title`)

// webPage says that something else than the provider's API answered, and what it says of itself.
func webPage(f Failure) string {
	text := "a web page answered with " + statusLine(f.Status) + " instead of the provider"
	if m := title.FindSubmatch(f.Body); m != nil {
		text += fmt.Sprintf(": %q", Clip(strings.Join(strings.Fields(html.UnescapeString(string(m[1]))), " "), 120))
	}
	return text + "; see what is in between (a firewall, HTTPS_PROXY) and the base URL (options.baseURL)"
}

func isHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// Clip returns at most n characters of valid UTF-8.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
