package shell

import (
	"slices"
	"strings"
)

// runsOthers are programs that run commands which stand in their arguments, in ways that are not read here. They need
// to be allowed themselves, and what they run may be anything.
var runsOthers = words(`unshare nsenter chroot strace ltrace gdb lldb perf valgrind watch entr parallel script flock taskset chrt
	numactl setpriv runuser su systemd-run at batch tmux screen expect rlwrap unbuffer proxychains proxychains4 firejail bwrap
	setarch linux32 linux64 i386 x86_64 dbus-run-session dbus-launch xvfb-run fakeroot faketime torsocks torify sg newgrp start-stop-daemon
	run-parts pkexec runcon watchexec hyperfine direnv dotenv sshpass coproc rc ksh mksh zsh fish csh tcsh pwsh powershell cmd nu
	xonsh elvish coreutils ld.so ld-linux-x86-64.so.2 pipexec daemonize daemon ts moreutils bash5 doas-edit sudoedit prlimit softlimit chpst
	envdir setuidgid s6-setuidgid gosu su-exec tini dumb-init catchsegv cpulimit trickle reptyr nsjail`)

// executing are options of otherwise plain programs whose value is run, by program.
var executing = map[string][]string{
	"tar":               {"--to-command", "--checkpoint-action", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"},
	"bsdtar":            {"--use-compress-program"},
	"rsync":             {"-e", "--rsh", "--rsync-path"},
	"scp":               {"-o", "-S", "-F"},
	"sftp":              {"-o", "-S", "-F", "-D"},
	"zip":               {"-T", "-TT", "--unzip-command"},
	"rg":                {"--pre", "--hostname-bin"},
	"fd":                {"-x", "-X", "--exec", "--exec-batch"},
	"fdfind":            {"-x", "-X", "--exec", "--exec-batch"},
	"sort":              {"--compress-program", "-o", "--output", "-T"},
	"split":             {"--filter"},
	"man":               {"-P", "--pager", "-H", "--html"},
	"less":              {"-o", "-O", "+", "-k", "--lesskey-src", "--lesskey-content"},
	"go":                {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"},
	"ls":                {},
	"date":              {"-s", "--set"},
	"tree":              {"-o"},
	"uniq":              {},
	"xxd":               {"-r"},
	"file":              {"-C"},
	"openssl":           {"-engine", "-provider"},
	"pip":               {"--python"},
	"jq":                {},
	"yq":                {"-i", "--inplace"},
	"dmesg":             {"-C", "-c"},
	"git grep":          {"-O", "--open-files-in-pager"},
	"git fetch":         {"--upload-pack"},
	"git pull":          {"--upload-pack"},
	"git clone":         {"--upload-pack", "-u", "-c", "--config", "--template"},
	"git ls-remote":     {"--upload-pack", "--exec"},
	"git push":          {"--receive-pack", "--exec"},
	"git archive":       {"--exec", "-o", "--output"},
	"git diff":          {"--ext-diff", "--output", "--textconv"},
	"git log":           {"--ext-diff", "--output", "--textconv"},
	"git show":          {"--ext-diff", "--output", "--textconv"},
	"git blame":         {"--textconv"},
	"git difftool":      {"-x", "--extcmd", "-t", "--tool"},
	"git rebase":        {"-x", "--exec", "-i", "--interactive"},
	"git bisect":        {"run"},
	"git submodule":     {"foreach"},
	"git filter-branch": {"-"},
	"git init":          {"--template"},
}

// executes reports that the program is given an option that runs something or writes where nobody looks.
func executes(program string, args []string) bool {
	options, ok := executing[program]
	if !ok {
		return false
	}
	return slices.ContainsFunc(args, func(a string) bool {
		if !known(a) {
			a, _, _ = strings.Cut(a, Hole)
		}
		return slices.ContainsFunc(options, func(o string) bool { return isOption(a, o) })
	})
}

// isOption reports that the word gives the option, also abbreviated, together with others, or with its value.
func isOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case word == option || name == option:
		return true
	case strings.HasPrefix(option, "--"):
		return len(name) > 3 && strings.HasPrefix(option, name)
	case len(option) == 2 && option[0] == '-':
		return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, option[1:])
	case option == "+" || option == "-":
		return strings.HasPrefix(word, option)
	default:
		return false
	}
}

// inline are interpreters and the options behind which code stands.
var inline = map[string][]string{
	"python": {"-c"}, "python2": {"-c"}, "python3": {"-c"}, "pypy": {"-c"}, "pypy3": {"-c"},
	"perl": {"-e", "-E"}, "ruby": {"-e"}, "php": {"-r"}, "lua": {"-e"}, "luajit": {"-e"}, "node": {"-e", "-p", "--eval", "--print"},
	"nodejs": {"-e", "-p", "--eval", "--print"}, "deno": {"eval"}, "bun": {"-e", "--eval"}, "osascript": {"-e"}, "rscript": {"-e"},
	"r": {"-e"}, "tclsh": {}, "guile": {"-c"}, "racket": {"-e"}, "ghc": {"-e"}, "julia": {"-e"}, "elixir": {"-e"}, "erl": {"-eval"},
	"vim": {"-c", "+"}, "vi": {"-c", "+"}, "nvim": {"-c", "+"}, "ex": {"-c"}, "ed": {}, "emacs": {"--eval"}, "sqlite3": {}, "psql": {"-c"}, "ssh": {},
}

// interpreter reads programs whose arguments or input are code in another language: they are themselves, and rules that
// forbid anything may mean what they do.
func (r *reader) interpreter(c call) bool {
	options, ok := inline[strings.TrimRight(c.name(), "0123456789.")]
	if !ok {
		options, ok = inline[c.name()]
	}
	if !ok {
		return false
	}
	args := c.words[1:]
	opaque := len(args) == 0 || c.name() == "ssh" || slices.ContainsFunc(args, func(a string) bool {
		return a == "-" || !known(a) || slices.ContainsFunc(options, func(o string) bool { return isOption(a, o) })
	})
	if opaque {
		r.itself(c, Hole)
		return true
	}
	r.itself(c)
	return true
}
