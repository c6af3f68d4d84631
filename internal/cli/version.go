package cli

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// versionInfo is what this binary was built from.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
}

func (v versionInfo) String() string {
	s := v.Version
	if len(v.Revision) >= 12 && !strings.Contains(s, v.Revision[:12]) {
		s += " (" + v.Revision[:12] + ")"
	}
	return s
}

func version() versionInfo {
	v := versionInfo{Version: "devel"}
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

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs, Example: "  cairn version --json",
		RunE: a.does(func(context.Context, []string) error {
			if asJSON {
				return a.printJSON(version())
			}
			a.out.printf("cairn %s\n", version())
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
