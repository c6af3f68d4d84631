package tool

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Input decodes the input of a call, which Settle has checked against the schema.
func Input[T any](call Call) (T, error) {
	var in T
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return in, Failf("The input of %s is not usable: %v.", call.Name, err)
	}
	return in, nil
}

// EncodeObject encodes a structured result.
func EncodeObject(v any) jsontext.Value {
	out, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return out
}

// TextOutput returns a result of a text and a structured value.
func TextOutput(title, text string, structured any) Output {
	return Output{Title: title, Content: session.TextContent(text), Structured: EncodeObject(structured)}
}

// ownTag matches a tag that only cairn writes into what a model reads.
var ownTag = regexp.MustCompile(
	`</?\s*(?i:system-(?:reminder|update)|shell_metadata|untrusted-content|skill_content)\b`,
)

// MarkImitations returns text of a file or a command as it is or, if it has tags that only cairn writes, as
// MarkUntrusted wraps it.
func MarkImitations(call Call, source, text string) string {
	if !ownTag.MatchString(text) {
		return text
	}
	return MarkUntrusted(call, source, text)
}

// MarkUntrusted wraps text from outside in tags that name its source. The text cannot end them: the id of the tags is a
// hash of the call's id and of the text itself, so that the same call gives the same result.
func MarkUntrusted(call Call, source, text string) string {
	sum := sha256.Sum256([]byte(call.CallID + "\x00" + source + "\x00" + text))
	id := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
	source = strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E", "\n", " ", "\r", " ").Replace(source)
	return `<untrusted-content id="` + id + `" source="` + source + "\">\n" + text +
		"\n</untrusted-content id=\"" + id + "\">"
}
