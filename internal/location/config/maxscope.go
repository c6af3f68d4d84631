package config

import "github.com/cairn-dev/cairn/internal/location/config/document"

// maxScope returns the last scope whose documents may set a key. The struct tag scope declares it; without a tag it is
// that of the key above.
func maxScope(tag string, above document.Scope) document.Scope {
	switch tag {
	case "project":
		return document.ScopeProject
	case "trusted":
		return document.ScopeTrusted
	case "user":
		return document.ScopeUser
	default:
		return above
	}
}
