package wire

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// maxMessage is the limit of an error's text in characters.
const maxMessage = 500

// Failure is a response that is not an answer: an HTTP error, or an error object in a stream (with status 200).
type Failure struct {
	Status  int
	Header  http.Header
	Body    []byte
	Secrets []string  // values that were sent and must not occur in a message
	Now     time.Time // the reference for a Retry-After date if the response has no Date
}

// ClassifyFailure converts a failure to an error whose class is what can be done about it. The table in refusals.go
// says what the body means; the status decides where the body says nothing.
//
// The delay comes before the class, because a quota that ends soon is a rate limit. Texts of the result contain no
// secret of f.
func ClassifyFailure(f Failure) *llm.Error {
	// Read the body, and what headers add to it.
	w := parseErrorBody(f.Body)
	if name, _, _ := strings.Cut(f.Header.Get("X-Amzn-Errortype"), ":"); name != "" {
		w.codes = append(w.codes, strings.ToLower(name))
	}
	if f.Status == http.StatusOK && w.status > 0 {
		f.Status = w.status
	}
	// Find the delay.
	if reset := time.Unix(w.resetsAt, 0).Sub(f.Now); w.retry == 0 && reset > 0 && !f.Now.IsZero() {
		w.retry = min(reset, maxRetryAfter)
	}
	w.wait = cmp.Or(parseRetryAfter(f.Header, f.Now), w.retry, findDelay(w.texts))
	// Find the class, and the sizes that an overflow names.
	e := &llm.Error{
		Message:   formatMessage(w, f),
		Status:    f.Status,
		RequestID: FindRequestID(f.Header),
		Body:      RedactText(f.Body, f.Secrets, maxBody),
	}
	e.Class, e.ByStatus = w.classifyBody(f.Status)
	if e.Class == llm.Overflow {
		sizes := findSizes(w.texts)
		if e.Window = sizes.contextWindow(); e.Window > 0 {
			e.Requested = sizes.request
		}
	}
	// Let the provider decide about a retry.
	switch f.Header.Get("X-Should-Retry") { // of OpenAI and Anthropic
	case "true":
		if e.Class == llm.InvalidRequest || e.Class == llm.Unknown {
			e.Class = llm.Overloaded
		}
	case "false":
		e.Permanent = true
	}
	if e.IsRetryable() || e.Class == llm.Quota || f.Header.Get("Retry-After") != "" {
		e.RetryAfter = w.wait
	}
	if e.Status == http.StatusOK {
		e.Status = 0
	}
	return e
}

// transientStatuses are statuses below 500 that do not blame the request: a timeout, a lock that another request holds,
// a request that came too early, no capacity (Groq), and one that was cancelled within the provider.
var transientStatuses = []int{
	http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly, 498, 499,
}

// classifyBody returns the class of a failure, and whether the status alone decided it. It compares the most exact
// statements first: members and texts with one meaning, codes, words, sizes, codes that repeat the status, the status.
func (w *errorBody) classifyBody(status int) (class llm.Class, byStatus bool) {
	// Statements with one meaning.
	if w.moderated {
		return llm.ContentFilter, false
	}
	if status >= 400 && status < 500 && hasAny(w.texts, clockWords) {
		return llm.Forbidden, false
	}
	if exceedsMinute(w.texts) {
		return llm.Overflow, false
	}
	// Codes, words and sizes.
	has := func(codes string) bool {
		known := strings.Fields(codes)
		return slices.ContainsFunc(w.codes, func(c string) bool { return slices.Contains(known, c) })
	}
	for _, r := range refusals {
		if has(r.codes) {
			return w.refineClass(r), false
		}
	}
	for _, r := range refusals {
		if r.appliesTo(status, w.texts) && hasAny(w.texts, r.words) {
			return w.refineClass(r), false
		}
	}
	if findSizes(w.texts).isExceeded() {
		return llm.Overflow, false
	}
	// Codes that repeat the status, and the status.
	if has(accessDenied) && !hasAny(w.texts, credentialWords) {
		return llm.Forbidden, false
	}
	for _, r := range refusals {
		if has(r.repeat) && status != http.StatusRequestEntityTooLarge {
			return r.class, false
		}
	}
	class = w.classifyStatus(status)
	return class, class == llm.InvalidRequest || class == llm.Unknown || class == llm.Overloaded
}

// appliesTo reports whether the row's words count in a failure with the status. The words of a weak quota, such as
// "daily", count only with the status 429 or beside a word for a limit.
func (r *refusal) appliesTo(status int, texts []string) bool {
	if r.weak && status != http.StatusTooManyRequests && !hasAny(texts, []string{"limit", "quota", "限"}) {
		return false
	}
	return !r.below500 || status < 500
}

// shortDelay is the longest delay for which a quota is a rate limit: work can wait for it.
const shortDelay = 10 * time.Minute

// refineClass returns the row's class. A quota that ends soon, or is one of a minute, is a rate limit.
func (w *errorBody) refineClass(r refusal) llm.Class {
	if r.weak && !w.perDay && (w.wait > 0 && w.wait < shortDelay || hasAny(w.texts, minuteWords)) {
		return llm.RateLimit
	}
	return r.class
}

// classifyStatus returns the class that follows from the status.
func (w *errorBody) classifyStatus(status int) llm.Class {
	switch {
	case status == http.StatusForbidden && w.isPage:
		return llm.Forbidden // a proxy refuses the request with any key
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.Auth
	case status == http.StatusPaymentRequired:
		return llm.Quota
	case status == http.StatusTooManyRequests:
		return llm.RateLimit
	case status == http.StatusRequestEntityTooLarge:
		return llm.Overflow
	case slices.Contains(transientStatuses, status), status >= 500:
		return llm.Overloaded
	case slices.Contains([]int{400, 404, 405, 415, 422}, status), status >= 300 && status < 400:
		return llm.InvalidRequest
	case status >= 400:
		return llm.Unknown
	}
	return w.classifyStreamError()
}

// classifyStreamError classifies an error object without a status. Unless its code blames the request, it is a
// transient failure of the provider.
func (w *errorBody) classifyStreamError() llm.Class {
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
	if text != "" && hasAny([]string{normalizeText(text)}, clockWords) {
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
