package cli

import (
	"runtime/debug"
	"strings"
)

// BuildInfo describes the build of this binary.
type BuildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
	Source   Source `json:"-"`
}

// Source says what a binary was built from.
type Source int

const (
	SourceCheckout Source = iota // go build in a clone
	SourceModule                 // go install of a module version
	SourceRelease                // make packages
)

func (v BuildInfo) String() string {
	s := v.Version
	if len(v.Revision) >= 12 && !strings.Contains(s, v.Revision[:12]) {
		s += " (" + v.Revision[:12] + ")"
	}
	return s
}

// The linker sets these in released binaries (-X). Both are empty in binaries that the go command alone builds, which
// describes those by their module version.
var (
	linkedVersion  string // without a leading v
	linkedRevision string // the commit
)

// ReadBuildInfo returns what the linker and the go command recorded in this binary.
func ReadBuildInfo() BuildInfo {
	v := BuildInfo{Version: "devel"}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = b.GoVersion
	if b.Main.Version != "" && b.Main.Version != "(devel)" {
		v.Version = strings.TrimPrefix(b.Main.Version, "v")
	}
	if b.Main.Sum != "" { // it was downloaded
		v.Source = SourceModule
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	// What the linker set wins: it comes from the build that made the packages.
	if linkedVersion != "" {
		v.Version, v.Revision, v.Modified = linkedVersion, linkedRevision, false
		v.Source = SourceRelease
	}
	return v
}
