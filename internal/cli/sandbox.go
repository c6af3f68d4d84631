package cli

import (
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/session"
)

// AddSandboxFlag adds the flag --sandbox[=MODE]; without a mode it is strict.
func AddSandboxFlag(cmd *cobra.Command, m *session.SandboxMode, usage string) {
	cmd.Flags().Var((*sandboxFlag)(m), "sandbox", usage+": `MODE` off, writes, or strict, which is the default")
	cmd.Flags().Lookup("sandbox").NoOptDefVal = string(session.SandboxStrict)
}

// sandboxFlag is the value of --sandbox.
type sandboxFlag session.SandboxMode

// String implements pflag.Value.
func (f *sandboxFlag) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *sandboxFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (f *sandboxFlag) Set(s string) error {
	*f = sandboxFlag(s)
	return session.SandboxMode(s).Check("")
}
