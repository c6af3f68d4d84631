package option

import "github.com/go-json-experiment/json/jsontext"

// DescribeKind names the type of a JSON value in messages to people.
func DescribeKind(k jsontext.Kind) string {
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
