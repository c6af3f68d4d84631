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
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// The limits of an error's texts.
const (
	maxMessage = 500   // characters
	maxBody    = 16384 // characters
)

// Failure is a response that is not an answer: an HTTP error, or an error object in a stream (with status 200).
type Failure struct {
	Status  int
	Header  http.Header
	Body    []byte
	Secrets []string  // values that were sent and must not occur in a message
	Now     time.Time // the reference for a Retry-After date if the response has no Date
}

// ClassifyFailure converts a failure to an error whose class is what can be done about it. Structured codes take
// precedence over the status, and the status over text patterns, so that an overflow whose message mentions "safety" is
// still an overflow.
func ClassifyFailure(f Failure) *llm.Error {
	w := parseErrorBody(f.Body)
	if name, _, _ := strings.Cut(f.Header.Get("X-Amzn-Errortype"), ":"); name != "" {
		w.codes = append(w.codes, strings.ToLower(name))
	}
	if f.Status == http.StatusOK && w.status >= 400 && w.status < 600 {
		f.Status = w.status
	}
	e := &llm.Error{
		Class:      w.classifyBody(f.Status),
		Message:    formatMessage(w, f),
		Status:     f.Status,
		RetryAfter: parseRetryAfter(f.Header, f.Now),
		RequestID:  FindRequestID(f.Header),
		Body:       RedactText(f.Body, f.Secrets, maxBody),
	}
	switch f.Header.Get("X-Should-Retry") { // of OpenAI and Anthropic
	case "true":
		if e.Class == llm.InvalidRequest || e.Class == llm.Unknown {
			e.Class = llm.Overloaded
		}
	case "false":
		e.Permanent = true
	}
	if e.RetryAfter == 0 && e.IsRetryable() {
		if e.RetryAfter = w.retry; w.retry == 0 {
			e.RetryAfter = findDelay(w.message)
		}
	}
	if e.Status == http.StatusOK {
		e.Status = 0
	}
	return e
}

// errorBody is a parsed error body, normalised across vendors.
type errorBody struct {
	codes     []string // code and type fields, lower case
	status    int      // a numeric code
	message   string
	text      string // the whole body in lower case, for the text patterns
	moderated bool
	retry     time.Duration // the delay in Google's error details
	perDay    bool          // a daily quota is exhausted, so that a retry after minutes is useless
}

// parseErrorBody parses {"error":{…}}, {"error":"…"}, a list with one of these, and an error object without the
// envelope.
func parseErrorBody(body []byte) errorBody {
	w := errorBody{text: strings.ToLower(string(body[:min(len(body), maxBody)]))}
	v := jsontext.Value(bytes.TrimSpace(body))
	if list, ok := ReadList(v); ok && len(list) > 0 {
		v = list[0]
	}
	var outer Object
	if json.Unmarshal(v, &outer, Foreign) != nil {
		return w
	}
	if choices, ok := ReadList(outer["choices"]); ok && len(choices) > 0 && !IsPresent(outer["error"]) {
		_ = json.Unmarshal(choices[0], &outer, Foreign) // the error may be inside the choice
	}
	if list, ok := ReadList(outer["errors"]); ok && len(list) > 0 && !IsPresent(outer["error"]) {
		outer["error"] = list[0]
	}
	w.readFields(outer)
	if inner := outer["error"]; inner.Kind() == '"' {
		w.message = DecodeString(inner)
	} else if inner.Kind() == '{' {
		w.message = ""
		w.readNested(inner, 3)
	}
	return w
}

// readNested reads an error object and the causes inside it, outermost first.
func (w *errorBody) readNested(v jsontext.Value, depth int) {
	var fields Object
	if depth == 0 || json.Unmarshal(v, &fields, Foreign) != nil {
		return
	}
	w.readFields(fields)
	for _, key := range []string{"innererror", "error", "metadata"} {
		if fields[key].Kind() == '{' {
			w.readNested(fields[key], depth-1)
		}
	}
	if _, ok := fields["flagged_input"]; ok {
		w.moderated = true
	}
	w.readDetails(fields["details"])
}

// readDetails reads the details that Google adds to its errors.
func (w *errorBody) readDetails(v jsontext.Value) {
	list, _ := ReadList(v)
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

func (w *errorBody) readFields(fields Object) {
	for _, key := range []string{"code", "type", "__type", "status", "error_type", "error_code"} {
		switch v := fields[key]; v.Kind() {
		case '"':
			code := DecodeString(v)
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
		if text := DecodeString(fields[key]); text != "" && w.message == "" {
			w.message = text
		}
	}
}

func (w *errorBody) classifyBody(status int) llm.Class {
	if w.moderated {
		return llm.ContentFilter
	}
	if matchesAny(w.text, imageRefusalPatterns) {
		return llm.InvalidRequest
	}
	if w.isForbidden(status) {
		return llm.Forbidden
	}
	for _, code := range w.codes {
		if class, ok := codeClass[code]; ok {
			if class == llm.RateLimit && status == http.StatusRequestEntityTooLarge {
				return llm.Overflow // one request exceeds the whole allowance
			}
			return class
		}
	}
	return w.classifyStatus(status)
}

// transientStatuses are statuses below 500 that do not blame the request: a timeout, a lock that another request holds,
// a request that came too early, no capacity (Groq), and one that was cancelled within the provider.
var transientStatuses = []int{
	http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, 498, 499,
}

// isForbidden reports whether the request would be refused with any key: by permissions, by a wrong clock, or by the
// web page of a proxy.
func (w *errorBody) isForbidden(status int) bool {
	has := func(code string) bool { return slices.Contains(w.codes, code) }
	switch {
	case matchesAny(w.text, clockPatterns), slices.ContainsFunc(forbiddenCodes, has):
		return status >= 400 && status < 500
	case has(accessDenied):
		return !matchesAny(w.text, credentialPatterns)
	}
	return status == http.StatusForbidden && isHTML([]byte(w.text))
}

func (w *errorBody) classifyStatus(status int) llm.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && matchesAny(w.text, keyPatterns):
		return llm.Auth
	case status == http.StatusPaymentRequired:
		return llm.Quota
	case status == http.StatusTooManyRequests && w.retry > 0 && !w.perDay:
		return llm.RateLimit // even if the message mentions a quota
	case status == http.StatusTooManyRequests && matchesAny(w.text, quotaPatterns),
		matchesAny(w.text, creditPatterns):
		return llm.Quota
	case status == http.StatusTooManyRequests:
		return llm.RateLimit
	case matchesAny(w.text, overflowPatterns), status == http.StatusRequestEntityTooLarge:
		return llm.Overflow
	case slices.Contains(transientStatuses, status), status >= 500:
		return llm.Overloaded
	case matchesAny(w.text, filterPatterns):
		return llm.ContentFilter
	case slices.Contains([]int{400, 404, 405, 413, 415, 422}, status), status >= 300 && status < 400:
		return llm.InvalidRequest
	case status >= 400:
		return llm.Unknown
	}
	return w.classifyStreamError()
}

// classifyStreamError classifies an error object without a status. Unless it blames the request, it is a transient
// failure of the provider.
func (w *errorBody) classifyStreamError() llm.Class {
	switch {
	case matchesAny(w.text, quotaPatterns):
		return llm.Quota
	case matchesAny(w.text, ratePatterns):
		return llm.RateLimit
	case matchesAny(w.text, filterPatterns):
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

// formatMessage returns the text for people: the provider's message, else the status with a short body, else the
// status.
func formatMessage(w errorBody, f Failure) string {
	text := w.message
	if text == "" && isHTML(f.Body) && f.Status >= 400 && f.Status < 500 {
		text = describeWebPage(f)
	}
	if text != "" && matchesAny(strings.ToLower(text), clockPatterns) {
		text += "; the clock of this computer is wrong: correct it"
	}
	if text == "" && len(f.Body) <= maxMessage && !isHTML(f.Body) {
		text = strings.TrimSpace(string(f.Body))
		if name := http.StatusText(f.Status); name != "" && text != "" && !strings.EqualFold(name, text) {
			text = name + ": " + text // the same text as in OpenCode
		}
	}
	if text == "" {
		text = "the provider answered with " + formatStatus(f.Status)
	}
	return RedactText([]byte(text), f.Secrets, maxMessage)
}

func formatStatus(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// titleTag finds the title of a web page.
var titleTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<title[^>]*>(.{1,400}?)</title`)
})

// describeWebPage returns the message for a web page that answered in place of the provider's API, with its title.
func describeWebPage(f Failure) string {
	text := "a web page answered with " + formatStatus(f.Status) + " instead of the provider"
	if m := titleTag().FindSubmatch(f.Body); m != nil {
		text += fmt.Sprintf(": %q", Clip(strings.Join(strings.Fields(html.UnescapeString(string(m[1]))), " "), 120))
	}
	return text + "; check for a firewall or proxy in between (HTTPS_PROXY) and the base URL (options.baseURL)"
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
