package wire

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// path is how vendors name a place in a request's body: messages.2.content.1, input[2].content[0], and
// #/messages/0/content/1. Words behind the last index say what is wrong there.
var path = regexp.MustCompile(`\b(messages|input|contents)((?:\.\d+|\[\d+\]|/\d+)(?:\.\w+|\[\d+\]|/\w+)*)`)

var step = regexp.MustCompile(`\w+`)

// maxPaths bounds how many places are looked at.
const maxPaths = 16

// Named returns the media of a request that words of its refusal name by the place in the body where it was sent; nil if
// they name no place, or one with no media or with several.
func Named(body []byte, words string, req *llm.Request) *llm.Media {
	paths := path.FindAllStringSubmatch(words, maxPaths)
	if len(paths) == 0 {
		return nil
	}
	whole, ok := ReadObject(body)
	if !ok {
		return nil
	}
	for _, p := range paths {
		if at, ok := walk(whole[p[1]], step.FindAllString(p[2], -1)); ok {
			if m := only(at, req); m != nil {
				return m
			}
		}
	}
	return nil
}

// walk returns the last element of a list that a path leads through. Between the members that are there, a path may say
// the type of a part. What does not lead into this body is false: a gateway passes on the paths of a body of its own.
func walk(v jsontext.Value, steps []string) (at jsontext.Value, ok bool) {
	element := false // v is one of a list
	for i, s := range steps {
		n, err := strconv.Atoi(s)
		switch o, object := ReadObject(v); {
		case err == nil:
			if v, ok = elementAt(v, n, i+1 < len(steps) && steps[i+1] == "member"); !ok {
				return nil, false
			}
			at, element = v, true
		case s == "member" && element, object && same(Plain(o["type"]), s):
			element = false
		case object && len(member(o, s)) > 0:
			v, element = member(o, s), false
		default:
			return at, !element
		}
	}
	return at, len(at) > 0
}

// elementAt is an element of a list, which Amazon counts from one where it calls them members. The marks of cached prefixes
// are not counted by the models behind it.
func elementAt(v jsontext.Value, n int, member bool) (jsontext.Value, bool) {
	list, _ := List(v)
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

// member is a member by its name, in whichever spelling: Google's paths have other ones than its bodies may have.
func member(o Object, name string) jsontext.Value {
	for k, v := range o {
		if same(k, name) {
			return v
		}
	}
	return nil
}

func same(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// only is the one media of the request that stands in a part of its body, however often the request has it.
func only(part jsontext.Value, req *llm.Request) (found *llm.Media) {
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
