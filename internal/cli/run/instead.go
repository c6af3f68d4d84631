package run

// interfaceCommands are the slash commands of the full-screen interface that a run does not have, with the command that
// does the same on the command line.
var interfaceCommands = map[string]string{
	"agents": "agent list", "clear": "run, which begins a session", "compact": "session compact",
	"config": "config explain", "context": "context", "cost": "stats", "diff": "diff", "doctor": "doctor", "effort": "run --effort LEVEL",
	"export": "export", "fork": "session fork", "help": "help", "inbox": "inbox list", "jobs": "jobs list",
	"login": "auth login PROVIDER", "logout": "auth logout PROVIDER", "memory": "context explain AGENTS.md",
	"model": "run --model PROVIDER/MODEL", "models": "models", "new": "run, which begins a session",
	"permissions": "permission approvals", "redo": "redo", "rename": "session rename", "resume": "run --continue",
	"sessions": "session list", "stats": "stats", "status": "session show last", "theme": "config set terminal.theme NAME",
	"themes": "config set terminal.theme NAME", "trust": "trust", "undo": "undo", "usage": "stats",
}

// FindInstead returns the command that does on the command line what a slash command does in the interface, without the
// name of the program; "" for other names.
func FindInstead(slash string) string { return interfaceCommands[slash] }
