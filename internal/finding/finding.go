// Package finding is the form in which checks of an installation report what they saw: doctor, fsck and the probe of a
// provider. The package with the thing that is checked makes the findings; commands print them.
package finding

// Finding is one result of a check.
type Finding struct {
	Level  Level  `json:"level"`
	What   string `json:"what"`            // what was looked at
	Detail string `json:"detail,omitzero"` // what was found
	Fix    string `json:"fix,omitzero"`    // what to do about it
}

// Level says how bad a Finding is.
type Level string

// The levels. A command whose findings hold an Error exits with 1.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)
