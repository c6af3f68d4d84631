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
}

func (v BuildInfo) String() string {
	s := v.Version
	if len(v.Revision) >= 12 && !strings.Contains(s, v.Revision[:12]) {
		s += " (" + v.Revision[:12] + ")"
	}
	return s
}

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
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
