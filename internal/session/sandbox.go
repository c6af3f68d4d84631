package session

// SandboxMode says how the kernel confines the commands of a session. "" leaves it to the configuration and, if that
// is silent, to the permission rules: commands that run without an ask are confined as with SandboxWrites where the
// kernel can do it.
type SandboxMode string

// The modes, each stricter than the one before.
const (
	SandboxOff    SandboxMode = "off"
	SandboxWrites SandboxMode = "writes" // writes only below listed directories; reads and network stay open
	SandboxStrict SandboxMode = "strict" // no network unless configured, and fewer readable files
)

// sandboxRanks orders the modes.
var sandboxRanks = map[SandboxMode]int{"": 0, SandboxOff: 1, SandboxWrites: 2, SandboxStrict: 3}

// IsConfined reports whether commands run in a sandbox.
func (m SandboxMode) IsConfined() bool { return m != "" && m != SandboxOff }

// IsAtLeast reports whether the mode is as strict as the other one, or stricter. An unknown mode covers none.
func (m SandboxMode) IsAtLeast(other SandboxMode) bool {
	own, known := sandboxRanks[m]
	rank, valid := sandboxRanks[other]
	return known && valid && own >= rank
}

// ChooseStricter returns the stricter one of two modes. An unknown mode, which a later version may have stored, is
// strict.
func (m SandboxMode) ChooseStricter(other SandboxMode) SandboxMode {
	for _, one := range []SandboxMode{m, other} {
		if _, known := sandboxRanks[one]; !known {
			return SandboxStrict
		}
	}
	if m.IsAtLeast(other) {
		return m
	}
	return other
}

// Check returns a CodeInvalid error for an unknown mode.
func (m SandboxMode) Check(field string) error {
	if _, known := sandboxRanks[m]; !known {
		return Errorf(CodeInvalid, `the sandbox must be "off", "writes" or "strict", got %q`, string(m)).At(field)
	}
	return nil
}
