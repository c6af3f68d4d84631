package root

import (
	"fmt"
	"os"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli/run"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// renamedCommands are the commands of similar programs that have another name here.
var renamedCommands = map[string]string{
	"login": "auth login", "logout": "auth logout", "providers": "auth list", "chat": "attach", "ask": "run",
	"exec": "run", "resume": "tui --continue", "init": "run --command init", "sessions": "session list", "ls": "session list",
	"usage": "stats", "cost": "stats", "costs": "stats", "list": "session list", "find": "search TEXT", "grep": "search TEXT",
	"show": "session show", "rename": "session rename", "delete": "session delete", "compact": "session compact",
	"archive": "session archive", "fork": "session fork", "move": "session move", "settings": "config", "provider": "doctor provider, or models",
	"theme": "config set terminal.theme NAME", "update": "upgrade",
}

// unsupportedCommands are the commands of similar programs that cairn does not have, with what to use instead. "%s" is
// the name under which cairn was called.
var unsupportedCommands = map[string]string{
	"debug":     "see %[1]s doctor, %[1]s config explain and %[1]s events",
	"github":    "in a job, use: %s run --ask=deny --format json \"…\"",
	"keys":      "API keys are in %s auth list; ? in the full-screen interface shows its keys",
	"memory":    "instructions are in AGENTS.md; the files that are read: %s context explain AGENTS.md",
	"plugin":    "plugins are not run; agents, commands and skills are files: %s agent create",
	"pr":        "check the branch out with git, then: %s",
	"stop":      "Esc in %[1]s tui stops a session, %[1]s jobs cancel a job, and kill PID the process of %[1]s serve",
	"uninstall": "%[1]s upgrade --check says what installed the program and can remove it; %[1]s storage lists the data",
	"unshare":   "to revoke the share of a session: %s share revoke",
	"web":       "there is no web page; programs use the HTTP API: %s serve",
}

// describeUnsupported returns the error for a command of similar programs that cairn does not have, nil for other
// words.
func (g program) describeUnsupported(name, root string) error {
	word := map[string]string{"plugins": "plugin"}[name]
	if word == "" {
		word = name
	}
	instead, ok := unsupportedCommands[word]
	if !ok {
		return nil
	}
	if strings.Contains(instead, "%") {
		instead = fmt.Sprintf(instead, root)
	}
	return fmt.Errorf("%s %s is not implemented; %s", root, name, instead)
}

// foreignFlags are the flags of similar programs, with those that do the same here.
var foreignFlags = map[string]string{
	"yolo": "--ask=allow", "y": "--ask=allow", "yes": "--ask=allow", "force": "--ask=allow",
	"full-auto": "--ask=allow", "auto": "--ask=allow", "allow-all": "--ask=allow",
	"skip-permissions": "--ask=allow", "dangerously-skip-permission": "--ask=allow",
	"dangerously-skip-permissions": "--ask=allow", "dangerously-bypass-approvals-and-sandbox": "--ask=allow",
	"permission-mode": "--ask", "ask-for-approval": "--ask", "allowed-tools": "--ask", "allowedTools": "--ask",
	"resume": "--session ID or --continue", "r": "--session ID or --continue", "last": "--continue",
	"output-format": "--format json", "json": "--format json", "max-turns": "--budget-turns N",
	"max-budget-usd": "--budget-usd DOLLARS", "cd": "--dir DIRECTORY", "C": "--dir DIRECTORY", "cwd": "--dir DIRECTORY",
	"image": "--file FILE", "system-prompt": "--agent AGENT",
	"append-system-prompt": "--agent AGENT",
}

// printFlags are those with which similar programs answer a prompt without an interface.
var printFlags = []string{"p", "print", "q", "quiet", "non-interactive"}

// describePath returns the error for a word that is written as a path, or as a command of the interface; nil for other
// words.
func (g program) describePath(word, root string) error {
	shown := terminal.FirstLine(word, 200)
	if name, ok := strings.CutPrefix(word, "/"); ok && run.FindInstead(name) != "" {
		return fmt.Errorf("%q is a command of the full-screen interface; here: %s %s", shown, root, run.FindInstead(name))
	}
	path, err := g.inv.ResolvePath(word)
	if word == "" || !strings.ContainsAny(word, "/\\") && word[0] != '.' && word[0] != '~' || err != nil {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%q is not a directory", shown)
	}
	return fmt.Errorf("no such directory: %q", shown)
}

// quoteLine returns the words of a command line as one argument.
func quoteLine(words []string) string {
	return fmt.Sprintf("%q", terminal.FirstLine(strings.Join(words, " "), 200))
}
