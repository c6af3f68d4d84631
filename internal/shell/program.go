package shell

import (
	"slices"
	"strings"
)

// runsOthers are programs that run commands which stand in their arguments, in ways that are not read here. They need
// to be allowed themselves, and what they run may be anything.
var runsOthers = words(`unshare nsenter chroot strace ltrace gdb lldb perf valgrind watch entr parallel script
	flock taskset chrt
	numactl setpriv runuser su systemd-run at batch tmux screen expect rlwrap unbuffer proxychains proxychains4
	firejail bwrap
	setarch linux32 linux64 i386 x86_64 dbus-run-session dbus-launch xvfb-run fakeroot faketime torsocks torify sg
	newgrp start-stop-daemon
	run-parts pkexec runcon watchexec hyperfine direnv dotenv sshpass coproc rc ksh mksh zsh fish csh tcsh pwsh
	powershell cmd nu
	bind fc ssh-agent xonsh elvish coreutils ld.so ld-linux-x86-64.so.2 pipexec daemonize daemon ts moreutils bash5
	doas-edit sudoedit prlimit softlimit chpst
	crontab envdir setuidgid s6-setuidgid gosu su-exec tini dumb-init catchsegv cpulimit trickle reptyr nsjail run0
	dzdo please sudo-rs
	dtach abduco lxc lxd lxc-attach lxc-execute schroot fakechroot proot flatpak-spawn flatpak snap toolbox distrobox
	machinectl vagrant wsl
	ansible ansible-console salt salt-call pssh pdsh clush sem eatmydata rr heaptrack apptainer singularity socat ldd
	mail mailx logrotate`)

// executing are options of otherwise plain programs whose value is run, by program.
var executing = map[string][]string{
	"make":       {"--eval", "-E", "-f-", "--file=-", "--makefile=-", "SHELL=", ".SHELLFLAGS=", "MAKEFLAGS="},
	"gcc":        {"-wrapper", "-fplugin", "-specs"},
	"cc":         {"-wrapper", "-fplugin", "-specs", "-load"},
	"g++":        {"-wrapper", "-fplugin", "-specs"},
	"clang":      {"-fplugin", "-fpass-plugin", "-load"},
	"cargo":      {"--config"},
	"npm":        {"--script-shell"},
	"pnpm":       {"--script-shell"},
	"npm config": {"script-shell", "shell", "editor", "git"},
	"go env":     {"-w"},
	"wget":       {"--use-askpass", "-e", "--execute"},
	"node":       {"--import", "--loader", "--experimental-loader"},
	"perl":       {"-M", "-m"},
	"nc":         {"-e", "-c"},
	"netcat":     {"-e", "-c"},
	"ncat":       {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"},
	"sdiff":      {"--diff-program", "-o", "--output"},
	"diff3":      {"--diff-program"},
	"hg":         {"--config", "--config-file"},
	"svn":        {"--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config-option", "--config-dir"},
	"pandoc":     {"--filter", "-F", "--lua-filter", "-L", "--pdf-engine"},
	"tex":        {"-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18"},
	"latex":      {"-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18"},
	"pdflatex":   {"-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18"},
	"xelatex":    {"-shell-escape", "--shell-escape"},
	"lualatex":   {"-shell-escape", "--shell-escape"},
	"apt":        {"-o", "--option", "-c", "--config-file"},
	"apt-get":    {"-o", "--option", "-c", "--config-file"},
	"dpkg":       {"--pre-invoke", "--post-invoke", "--status-logger"},
	"rpm":        {"--eval", "-E", "--define", "-D", "--pipe"},
	"nm":         {"--plugin"},
	"ar":         {"--plugin"},
	"ld":         {"-plugin", "--plugin"},
	"strip":      {"--plugin"},
	"objdump":    {"--plugin"},
	"tcpdump":    {"-z"},
	"cpio":       {"--rsh-command"},
	"ag":         {"--pager"},
	"bat":        {"--pager"},
	"batcat":     {"--pager"},
	"tar": {
		"--to-command", "--checkpoint-action", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script",
		"--rsh-command", "--rmt-command",
	},
	"bsdtar":   {"--use-compress-program"},
	"rsync":    {"-e", "--rsh", "--rsync-path"},
	"scp":      {"-o", "-S", "-F"},
	"sftp":     {"-o", "-S", "-F", "-D"},
	"zip":      {"-T", "-TT", "--unzip-command"},
	"rg":       {"--pre", "--hostname-bin"},
	"fd":       {"-x", "-X", "--exec", "--exec-batch"},
	"fdfind":   {"-x", "-X", "--exec", "--exec-batch"},
	"sort":     {"--compress-program", "-o", "--output", "-T"},
	"split":    {"--filter"},
	"man":      {"-P", "--pager", "-H", "--html"},
	"less":     {"-o", "-O", "+", "-k", "--lesskey-src", "--lesskey-content"},
	"go":       {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"},
	"ls":       {},
	"date":     {"-s", "--set"},
	"tree":     {"-o"},
	"uniq":     {},
	"xxd":      {"-r"},
	"file":     {"-C"},
	"openssl":  {"-engine", "-provider"},
	"pip":      {"--python"},
	"jq":       {},
	"yq":       {"-i", "--inplace"},
	"dmesg":    {"-C", "-c"},
	"git grep": {"-O", "--open-files-in-pager"},
	// of all its commands
	"git":              {"--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--output", "--textconv"},
	"git clone":        {"-u", "-c", "--config", "--template"},
	"git archive":      {"-o"},
	"git format-patch": {"-o"},
	"git difftool":     {"-x", "--extcmd", "-t", "--tool"},
	"git rebase":       {"-x", "--exec", "-i", "--interactive"},
	"git bisect":       {"run"},
	"git submodule":    {"foreach"},
	"git init":         {"--template"},
	"git cat-file":     {"--textconv", "--filters"},
}

// subcommands of git that run what a setting or their arguments say, or serve others.
var runners = words(`mergetool difftool filter-branch shell instaweb web--browse daemon send-email remote-ext
	remote-fd upload-pack
	receive-pack hook gui citool for-each-repo fast-import cvsserver`)

// runsCommand are pairs of words behind which a command of this machine stands, behind some options.
var runsCommand = pairsOf(`npm exec,npm x,pnpm exec,yarn exec,bun x,uv run,poetry run,pipenv run,pipx run,
	bundle exec,conda run,mamba run,
	mise exec,mise x,asdf exec,rustup run,hatch run,pdm run,rye run,nix run,nix shell,nix develop,docker run,
	docker exec,podman run,
	podman exec,kubectl exec,kubectl run`)

// executes reports that the program is given an option that runs something or writes where nobody looks.
func executes(program string, args []string) bool {
	if len(args) > 0 && args[0] != program && executes(program+" "+args[0], args[1:]) {
		return true
	}
	options, ok := executing[program]
	if !ok {
		return false
	}
	if program == "tar" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = append([]string{"-" + args[0]}, args[1:]...) // tar cf is tar -cf
	}
	return slices.ContainsFunc(args, func(a string) bool {
		if program == "go" && strings.Contains(a, "-extld") ||
			program == "make" && streams(strings.TrimPrefix(a, "-f")) && known(a) {
			return true
		}
		begin, _, open := strings.Cut(a, Hole)
		return slices.ContainsFunc(options, func(o string) bool { return isOption(begin, o) || open && mayBecome(begin, o) })
	})
}

// mayBecome reports that a word that begins so, and of which no more is known, may give the option.
func mayBecome(begin, option string) bool {
	switch {
	case strings.HasPrefix(begin, "--"):
		return strings.HasPrefix(option, begin)
	case strings.HasPrefix(begin, "-"):
		return begin == "-" || strings.HasPrefix(option, begin)
	default:
		return false
	}
}

// isOption reports that the word gives the option, also abbreviated, together with others, or with its value.
func isOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case word == option || name == option || strings.HasSuffix(option, "=") && strings.HasPrefix(word, option):
		return true
	case strings.HasPrefix(option, "--"):
		return len(name) > 3 && strings.HasPrefix(option, name)
	case len(option) == 2 && option[0] == '-':
		return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, option[1:])
	case option == "+":
		return strings.HasPrefix(word, option)
	default:
		return false
	}
}

// inline are interpreters and the options behind which code stands.
var inline = map[string][]string{
	"python": {"-c"}, "python2": {"-c"}, "python3": {"-c"}, "pypy": {"-c"}, "pypy3": {"-c"}, "ipython": {"-c"},
	"ipython3": {"-c"},
	"perl":     {"-e", "-E", "-M", "-m"}, "ruby": {"-e"},
	"php": {"-d", "--define", "-r", "-R", "-B", "-E", "-a", "-F", "--run", "--process", "--interactive"}, "lua": {"-e"},
	"luajit": {"-e"}, "node": {"-e", "-p", "--eval", "--print", "--import", "--loader", "--experimental-loader"},
	"nodejs": {"-e", "-p", "--eval", "--print", "--import", "--loader", "--experimental-loader"}, "deno": {"eval"},
	"bun": {"-e", "--eval"}, "osascript": {"-e"}, "rscript": {"-e"},
	"r": {"-e"}, "tclsh": {}, "guile": {"-c", "-e"}, "racket": {"-e", "--eval"}, "ghc": {"-e"}, "ghci": {"-e"},
	"julia":  {"-e", "-E", "--eval", "--print"},
	"elixir": {"-e", "--eval", "--rpc-eval"}, "iex": {"-e", "--eval"}, "erl": {"-eval", "-run", "-s"}, "raku": {"-e"},
	"groovy": {"-e"}, "scala": {"-e"},
	"tsx": {"-e", "-p", "--eval", "--print"}, "ts-node": {"-e", "-p", "--eval", "--print"}, "coffee": {"-e", "--eval"},
	"qjs":     {"-e", "--eval"},
	"crystal": {"eval"}, "ocaml": {"-e"}, "swipl": {"-g", "-t"}, "jshell": {}, "rails": {"runner", "r", "console", "c"},
	"wish": {},
}

// opaque are programs that run commands which stand in their arguments or in their input, among others.
var opaque = words(`vi vim nvim gvim rvim rview view vimdiff ex ed red emacs emacsclient sqlite3 psql mysql mariadb
	ftp sftp lftp ssh
	dc m4 gnuplot octave maxima sage sbcl clisp ecl scheme`)

// interpreter reads programs whose arguments or input are code in another language: they are themselves, and rules that
// forbid anything may mean what they do.
func (r *reader) interpreter(c call) bool {
	if opaque[c.name()] {
		r.itself(c, Hole)
		return true
	}
	options, ok := inline[strings.TrimRight(c.name(), "0123456789.")]
	if !ok {
		options, ok = inline[c.name()]
	}
	if !ok {
		return false
	}
	args := c.words[1:]
	if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool {
		return a == "-" || streams(a) || runsArguments[strings.TrimPrefix(a, "-m")] ||
			slices.ContainsFunc(options, func(o string) bool { return isOption(a, o) })
	}) {
		r.itself(c, Hole)
		return true
	}
	r.itself(c)
	return true
}

// runsArguments are modules of Python that run code which stands in their arguments or their input.
var runsArguments = words("timeit code asyncio idlelib ptpython IPython")

// runner reads a program such as npx or uv run, behind whose name a command stands: it is itself, which is what allows
// it, and rules that forbid or ask know it by that command too.
func (r *reader) runner(c call) bool {
	rest := c.words[1:]
	switch {
	case c.name() == "npx" || c.name() == "bunx" || c.name() == "pnpx" || c.name() == "uvx":
	case len(c.words) > 1 && runsCommand[c.name()+" "+c.words[1]]:
		rest = c.words[2:]
	default:
		return false
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], Hole) || foreign[c.name()] {
		r.itself(c, Hole)
		return true
	}
	r.itself(c, r.within(rest)...)
	return true
}

// foreign name what they run in first: an image, a container.
var foreign = words("docker podman kubectl nix conda mamba rustup")

// within returns the texts of all that the words would run, as a command.
func (r *reader) within(words []string) (texts []string) {
	inner := &reader{variants: r.variants, depth: r.depth + 1}
	if inner.depth > maxDepth {
		return []string{Hole}
	}
	inner.command("", func() { inner.call(call{words: words}) })
	for _, c := range inner.out.Commands {
		for _, p := range c.Parts {
			texts = append(append(texts, p.Text), p.Readings...)
		}
	}
	return texts
}
