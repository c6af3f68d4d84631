package wire

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// bodyPath matches the paths with which vendors name a place in a request body: messages.2.content.1,
// input[2].content[0] and #/messages/0/content/1. Words after the last index describe the problem.
var bodyPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(messages|input|contents)((?:\.\d+|\[\d+\]|/\d+)(?:\.\w+|\[\d+\]|/\w+)*)`)
})

var pathStep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\w+`)
})

// maxPaths bounds the paths of one message that are checked.
const maxPaths = 16

// FindRejectedMedia returns the media of req that the message of a refusal names by its path in the request body; nil
// if the message names no path, or a place with no media or several.
func FindRejectedMedia(body []byte, message string, req *llm.Request) *llm.Media {
	paths := bodyPath().FindAllStringSubmatch(message, maxPaths)
	if len(paths) == 0 {
		return nil
	}
	root, ok := ReadObject(body)
	if !ok {
		return nil
	}
	for _, p := range paths {
		if at, ok := followPath(root[p[1]], pathStep().FindAllString(p[2], -1)); ok {
			if m := findSoleMedia(at, req); m != nil {
				return m
			}
		}
	}
	return nil
}

// followPath returns the last list element on a path below v. Between members that exist a path may contain the type of
// a part. ok is false if the path does not match this body: a gateway forwards paths of the body that it built.
func followPath(v jsontext.Value, steps []string) (at jsontext.Value, ok bool) {
	isElement := false // v is an element of a list
	for i, s := range steps {
		n, err := strconv.Atoi(s)
		switch o, isObject := ReadObject(v); {
		case err == nil:
			if v, ok = elementAt(v, n, i+1 < len(steps) && steps[i+1] == "member"); !ok {
				return nil, false
			}
			at, isElement = v, true
		case s == "member" && isElement, isObject && isSameName(DecodeString(o["type"]), s):
			isElement = false
		case isObject && len(findMember(o, s)) > 0:
			v, isElement = findMember(o, s), false
		default:
			return at, !isElement
		}
	}
	return at, len(at) > 0
}

// elementAt returns an element of a list. Amazon counts from one where it calls elements members, and the models behind
// it do not count cache breakpoints.
func elementAt(v jsontext.Value, n int, member bool) (jsontext.Value, bool) {
	list, _ := ReadList(v)
	if member {
		n--
	}
	for _, e := range list {
		if !member && bytes.HasPrefix(e, []byte(`{"cachePoint":`)) {
			continue
		}
		if n == 0 {
			return e, true
		}
		n--
	}
	return nil, false
}

// findMember returns the member of that name in any spelling: Google's paths and bodies spell names differently.
func findMember(o Object, name string) jsontext.Value {
	for k, v := range o {
		if isSameName(k, name) {
			return v
		}
	}
	return nil
}

func isSameName(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// findSoleMedia returns the only media of the request that occurs in a part of its body, however often the request
// contains it.
func findSoleMedia(part jsontext.Value, req *llm.Request) (found *llm.Media) {
	for _, m := range req.CollectMedia() {
		if len(m.Data) == 0 || !bytes.Contains(part, []byte(base64.StdEncoding.EncodeToString(m.Data))) {
			continue
		}
		if found != nil && !bytes.Equal(found.Data, m.Data) {
			return nil
		}
		found = &m
	}
	return found
}
