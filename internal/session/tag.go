package session

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of tags.
const (
	MaxTags = 20 // of a session
	maxTag  = 50 // characters of a tag
)

// ParseTag returns the tag without the spaces around it. A tag that is empty or too long, or has a space, a comma, a
// control or a format character, is a CodeInvalid error at the field. Tags are compared exactly.
func ParseTag(field, text string) (string, error) {
	tag := strings.TrimSpace(text)
	n := utf8.RuneCountInString(tag)
	switch {
	case tag == "":
		return "", Errorf(CodeInvalid, "the tag is empty").At(field)
	case !utf8.ValidString(tag):
		return "", Errorf(CodeInvalid, "the tag is not valid UTF-8").At(field)
	case n > maxTag:
		return "", Errorf(CodeInvalid, "the tag has %d characters, the limit is %d", n, maxTag).At(field)
	}
	for _, r := range tag {
		if r == ',' || unicode.IsSpace(r) || unicode.In(r, unicode.Z, unicode.C) {
			return "", Errorf(
				CodeInvalid,
				"the tag %q has the character %q: tags have no spaces, commas, control or format characters", tag, r,
			).At(field)
		}
	}
	return tag, nil
}

// ParseTags returns the tags, sorted and each once, at most MaxTags. Its errors are those of ParseTag.
func ParseTags(field string, list []string) ([]string, error) {
	tags := make([]string, 0, len(list))
	for _, text := range list {
		tag, err := ParseTag(field, text)
		if err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	return sortTags(field, tags)
}

// sortTags sorts the tags and removes doubles. More than MaxTags are an error at the field.
func sortTags(field string, tags []string) ([]string, error) {
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > MaxTags {
		return nil, Errorf(CodeInvalid, "%d tags are too many, the limit is %d", len(tags), MaxTags).At(field)
	}
	return tags, nil
}

// SplitTags returns the tags of a list that is separated by commas, as ParseTags does; "" is none.
func SplitTags(field, list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	return ParseTags(field, strings.Split(list, ","))
}

// TagChange changes the tags of a session: Replace, unless it is nil, then Remove, then Add. A change that removes and
// adds leaves tags alone that another user sets meanwhile; one that replaces does not.
type TagChange struct {
	Replace     *[]string
	Add, Remove []string
}

// Apply returns the tags after the change, sorted and each once. Errors name the field of the request that is wrong. What the
// session has from a later version with other limits stays until it is removed.
func (c TagChange) Apply(old []string) ([]string, error) {
	if c.Replace == nil && len(c.Add) == 0 && len(c.Remove) == 0 {
		return old, nil
	}
	tags := slices.Clone(old)
	if c.Replace != nil {
		replaced, err := ParseTags("tags", *c.Replace)
		if err != nil {
			return nil, err
		}
		tags = replaced
	}
	removed, err := ParseTags("removeTags", c.Remove)
	if err != nil {
		return nil, err
	}
	added, err := ParseTags("addTags", c.Add)
	if err != nil {
		return nil, err
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(removed, tag) })
	if len(added) == 0 {
		return tags, nil
	}
	return sortTags("addTags", append(tags, added...))
}
