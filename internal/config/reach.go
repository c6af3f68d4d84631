package config

import "github.com/cairn-dev/cairn/internal/config/document"

// reach limits the files that may set a key, by their distance from the user. Each value includes those before it.
type reach int

const (
	reachUser    reach = iota // the user's own files
	reachTrusted              // a trusted project's files
	reachProject              // any project's files
)

// reachOf returns the reach that the struct tag scope declares; without a tag it is that of the key above.
func reachOf(tag string, above reach) reach {
	switch tag {
	case "project":
		return reachProject
	case "trusted":
		return reachTrusted
	case "user":
		return reachUser
	default:
		return above
	}
}

// requiredReach returns the reach that a key needs so that a document of the scope may set it.
func requiredReach(s document.Scope) reach {
	switch s {
	case document.ScopeProject:
		return reachProject
	case document.ScopeTrusted:
		return reachTrusted
	default:
		return reachUser
	}
}
