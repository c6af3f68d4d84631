package wire

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// errorBody has the codes, texts and delays of a failed response, from any depth of its body.
type errorBody struct {
	codes     []string // codes and types, lower case
	texts     []string // all strings, in the form of normalizeText
	status    int      // a numeric code that is an HTTP status
	message   string
	moderated bool          // a member names the input that a moderation flagged
	isPage    bool          // the body is a web page
	retry     time.Duration // the delay in a member
	resetsAt  int64         // in seconds since 1970; 0 unknown
	perDay    bool          // a daily quota of Google is exhausted; the delay that Google names then is useless
	wait      time.Duration // the delay that the provider asks for, from a header, a member or a text
}

// The bounds of reading an error body.
const (
	maxBody    = 16384 // characters
	maxNesting = 8
	maxTexts   = 200
)

// parseErrorBody reads an error body: objects and lists in any envelope, and JSON inside of strings.
func parseErrorBody(body []byte) errorBody {
	var w errorBody
	if w.isPage = isHTML(body); w.isPage {
		return w
	}
	v := jsontext.Value(bytes.TrimSpace(body))
	if outer, ok := ReadObject(v); ok {
		if choices, ok := ReadList(outer["choices"]); ok && len(choices) > 0 {
			choice, _ := ReadObject(choices[0]) // the error may be inside the choice; the rest is the answer
			v = MarshalOr(Object{"error": firstPresent(outer["error"], choice["error"])}, v)
		}
	}
	if v.Kind() != '{' && v.Kind() != '[' || !v.IsValid(Foreign) {
		w.texts = []string{normalizeText(string(body[:min(len(body), maxBody)]))}
		return w
	}
	w.collect("", v, maxNesting)
	w.message = findMessage(v, maxNesting)
	return w
}

func isHTML(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

func firstPresent(vs ...jsontext.Value) jsontext.Value {
	for _, v := range vs {
		if IsPresent(v) {
			return v
		}
	}
	return jsontext.Value("null")
}

// codeKeys are the members that hold codes; echoKeys those in which a server repeats the request or the answer.
var (
	codeKeys = []string{
		"code", "type", "__type", "status", "reason", "error_type", "error_code", "status_code", "errcode",
	}
	echoKeys = []string{
		"input", "request", "messages", "prompt", "failed_generation", "choices", "request_id", "requestId", "trace",
		"trace_id",
	}
)

// collect collects the codes, texts and delays of v, which is the member key of its parent.
func (w *errorBody) collect(key string, v jsontext.Value, depth int) {
	if depth == 0 || len(w.texts) == maxTexts || slices.Contains(echoKeys, key) {
		return
	}
	switch v.Kind() {
	case '{':
		members, _ := ReadObject(v)
		w.moderated = w.moderated || len(members["flagged_input"]) > 0
		for _, name := range sortedKeys(members) {
			w.collect(name, members[name], depth-1)
		}
	case '[':
		list, _ := ReadList(v)
		for _, e := range list {
			w.collect(key, e, depth-1)
		}
	case '"':
		w.collectText(key, DecodeString(v), depth)
	case '0':
		w.collectNumber(key, string(v))
	}
}

func sortedKeys(o Object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (w *errorBody) collectText(key, text string, depth int) {
	if inner := jsontext.Value(strings.TrimSpace(text)); (inner.Kind() == '{' || inner.Kind() == '[') &&
		inner.IsValid(Foreign) {
		w.collect(key, inner, depth-1)
		return
	}
	if slices.Contains(codeKeys, key) {
		code := text
		if space, name, qualified := strings.Cut(code, "#"); qualified && strings.HasPrefix(space, "com.amazon") {
			code = name
		}
		w.codes = append(w.codes, strings.ToLower(code))
	}
	switch key {
	case "retryDelay":
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			w.retry = min(d, maxRetryAfter)
		}
	case "quotaId":
		w.perDay = w.perDay || strings.Contains(text, "PerDay")
	}
	w.texts = append(w.texts, normalizeText(text[:min(len(text), maxBody)]))
}

func (w *errorBody) collectNumber(key, number string) {
	n, err := strconv.Atoi(number)
	switch {
	case slices.Contains(codeKeys, key):
		w.codes = append(w.codes, number)
		if err == nil && w.status == 0 && n >= 400 && n < 600 {
			w.status = n
		}
	case key == "retry_after", key == "retry_after_seconds", key == "resets_in_seconds":
		w.retry, _ = parseDelay(number, time.Second)
	case key == "resets_at" && err == nil:
		w.resetsAt = int64(n)
	case key == "retry_after_ms":
		w.retry, _ = parseDelay(number, time.Millisecond)
	case err == nil:
		w.texts = append(w.texts, normalizeText(key)+" "+number) // such as n_ctx
	}
}

// webAddress matches addresses, whose paths name things that the error is not about.
var webAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://\S+`) })

// normalizeText returns a text for comparison: lower case, without web addresses, and with identifiers in any spelling
// as words, so that insufficient_quota, INSUFFICIENT-QUOTA and InsufficientQuota are the same. It begins with a space.
func normalizeText(s string) string {
	s = webAddress().ReplaceAllString(s, "")
	var out strings.Builder
	out.WriteByte(' ')
	before := rune(0)
	for _, r := range s {
		switch {
		case r == '_', r == '-':
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			out.WriteByte(' ')
		}
		before = r
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// messageKeys are the members with a text for people, or with the object that has it, the best first.
var messageKeys = []string{
	"error", "message", "Message", "errors", "detail", "error_description", "msg", "status_msg", "base_resp",
	"error_message",
}

// findMessage returns the text for people: the first one of the object, and the cause that an envelope holds beside it.
func findMessage(v jsontext.Value, depth int) string {
	if depth == 0 {
		return ""
	}
	// A text may be JSON again: servers wrap the answers of servers behind them.
	switch v.Kind() {
	case '"':
		text := DecodeString(v)
		if inner := findMessage(jsontext.Value(strings.TrimSpace(text)), depth-1); inner != "" && text[0] != '"' {
			return inner
		}
		return text
	case '[':
		list, _ := ReadList(v)
		for _, e := range list {
			if text := findMessage(e, depth-1); text != "" {
				return text
			}
		}
	// An object: the first key that has a text, in the order of their importance.
	case '{':
		members, _ := ReadObject(v)
		for _, key := range messageKeys {
			if text := findMessage(members[key], depth-1); text != "" {
				return text + describeCause(members, text, depth)
			}
		}
	}
	return ""
}

// describeCause returns what an envelope adds to its text: the raw error of the provider behind a gateway, with the
// provider's name, or the place of the problem in the request.
func describeCause(members Object, text string, depth int) (more string) {
	behind, _ := ReadObject(members["metadata"])
	if cause := findMessage(behind["raw"], depth-1); cause != "" && !strings.Contains(text, cause) {
		more = ": " + cause
		if name := DecodeString(behind["provider_name"]); name != "" {
			more += " (" + name + ")"
		}
	}
	if place, ok := ReadList(members["loc"]); ok {
		var steps []string
		for _, step := range place {
			steps = append(steps, strings.Trim(string(step), `"`))
		}
		more += " (at " + strings.Join(steps, ".") + ")"
	}
	return more
}

// IsRefusal reports whether a document or frame without an answer is a refusal with the status of a success: it says
// so, or it has a text for people where the protocol has none.
func IsRefusal(data []byte) bool {
	o, _ := ReadObject(data)
	base, _ := ReadObject(o["base_resp"])
	if string(o["success"]) == "false" || IsPresent(base["status_code"]) && string(base["status_code"]) != "0" {
		return true
	}
	return IsNonEmptyString(o["message"]) || IsNonEmptyString(o["msg"]) || IsPresent(o["detail"])
}
