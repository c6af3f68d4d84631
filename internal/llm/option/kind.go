package option

import "github.com/go-json-experiment/json/jsontext"

// KindName is what a value is, in the words of messages to people who wrote it.
func KindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return "true or false"
	}
}
