package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// attachCommand says who shows a server on a terminal: cairn has no terminal interface of its own, and OpenCode's works
// with its server. The flags are taken, so that the answer is not about them.
func (a *app) attachCommand() *cobra.Command {
	var f runFlags
	var asJSON bool // nothing is said but the refusal
	cmd := &cobra.Command{
		Use: "attach URL", Short: "Say how a server is shown on a terminal", Args: cobra.ExactArgs(1), Hidden: true,
		Long: "Cairn has no terminal interface of its own. OpenCode's shows a cairn as it shows its own server: opencode attach URL.\n" +
			"For one prompt there is cairn run --attach URL.",
		Example: "  opencode attach http://localhost:4096\n  cairn run --attach http://localhost:4096 -c \"And now?\"",
		RunE: a.does(func(_ context.Context, args []string) error {
			if _, err := (&attachFlags{url: args[0]}).peer(a); err != nil {
				return err
			}
			return a.noInterface(fmt.Sprintf("OpenCode's shows this server: npx opencode-ai@1.18 attach URL. For one prompt: %s run --attach URL", a.program()))
		}),
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.attach.password, "password", "p", "", "")
	fs.StringVarP(&f.attach.user, "username", "u", "", "")
	fs.StringVar(&f.dir, "dir", "", "")
	fs.StringVarP(&f.session, "session", "s", "", "")
	fs.BoolVarP(&f.last, "continue", "c", false, "")
	fs.BoolVar(&f.fork, "fork", false, "")
	ofMini(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// ofMini are flags of OpenCode's smaller interface.
func ofMini(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Bool("mini", false, "")
	fs.Bool("no-replay", false, "")
	fs.Int("replay-limit", 0, "")
	hide(fs, "mini", "no-replay", "replay-limit")
}

// interfaceFlags are those of OpenCode's command without a name, which opens its interface.
func interfaceFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringP("model", "m", "", "")
	fs.BoolP("continue", "c", false, "")
	fs.StringP("session", "s", "", "")
	fs.StringSlice("cors", nil, "")
	fs.Int("port", 0, "")
	hide(fs, "model", "continue", "session", "cors", "port")
	for _, name := range []string{"prompt", "agent", "hostname", "mdns-domain"} {
		fs.String(name, "", "")
		hide(fs, name)
	}
	for _, name := range []string{"fork", "auto", "mdns"} {
		fs.Bool(name, false, "")
		hide(fs, name)
	}
	ofMini(cmd)
}

// noInterface is the refusal of what needs a terminal interface.
func (a *app) noInterface(hint string) error {
	return &exit{exitUsage, errors.New("cairn has no terminal interface of its own"), hint}
}

// program is what it was called as.
func (a *app) program() string {
	if a.asOpenCode() {
		return openCode
	}
	return "cairn"
}
