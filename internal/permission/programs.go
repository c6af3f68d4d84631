package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/shell"
)

// Programs that run others. A pattern that allows one would allow any command, so only its exact text or the rule *
// does.
var (
	// runners are given what they run: wrappers, shells and builtins that change what the shell runs, interpreters, and
	// programs with commands of their own for that.
	runners = wordSet(`
		env xargs sudo sudoedit doas su runuser pkexec run0 command builtin exec eval source . trap
		alias unalias hash enable set shopt unset read mapfile readarray getopts fc history compgen
		complete bind nice ionice nohup timeout setsid stdbuf script watch parallel ssh ssh-agent scp
		sftp rsync chroot nsenter unshare flock setpriv setarch linux32 linux64 taskset chrt numactl
		choom uclampset coresched pipesz x86_64 i386 i486 i586 i686 uname26 sg newgrp capsh jobs
		prlimit strace ltrace gdb lldb valgrind perf time entr expect unbuffer screen tmux at batch
		crontab systemd-run flatpak-spawn dbus-run-session xvfb-run fakeroot proot busybox toybox
		start-stop-daemon sh bash dash ash zsh ksh mksh fish csh tcsh rbash pwsh powershell nu elvish
		cloc hg gh xonsh cmd cmd.exe awk gawk mawk nawk sed gsed ed ex vi vim vimdiff nvim emacs nano less more
		man view perl python pypy node nodejs deno tsx ts-node ruby irb php lua luajit tclsh wish
		osascript R Rscript ghci runghc guile racket julia ipython m4 bc dc gnuplot octave sqlite
		sqlite3 psql mysql mariadb mongosh redis-cli erl elixir iex scala groovy jshell java dotnet
		mono yq pdflatex xelatex lualatex latex nc ncat netcat socat telnet openssl run-parts
		logrotate`)
	// builders run what files of the repository or of packages say: build tools, package managers, compilers,
	// archivers.
	builders = wordSet(`
		make gmake bmake cmake ninja meson just task rake ant mvn mvnw gradle gradlew bazel buck pants
		nx turbo lerna tox nox invoke fab scons waf mix rebar3 lein sbt stack cabal dune xcodebuild
		swift zig nimble pre-commit husky direnv rails npx pnpx bunx uvx pipx bun yarn pnpm corepack
		pip uv poetry pipenv pdm hatch conda mamba bundle bundler gem composer brew apt apt-get dpkg
		dnf yum rpm pacman snap flatpak nix nix-shell nix-build rustup docker-compose vagrant ansible
		ansible-playbook terraform tofu pulumi packer helm gcc g++ cc c++ clang clang++ ld tar gtar
		bsdtar zip 7z cpio curl wget aria2c`)
)

// subcommands are those of a program that run nothing else; all others are as those of runners.
var subcommands = map[string]map[string]bool{
	"git": wordSet(
		`status diff log show ls-files ls-tree blame branch tag add rm mv commit reset restore checkout switch
		stash merge cherry-pick revert rev-parse rev-list describe shortlog reflog remote fetch pull push cat-file grep
		worktree init clean rebase show-ref name-rev merge-base diff-tree diff-files diff-index for-each-ref symbolic-ref
		check-ignore count-objects version help var`,
	),
	"go":      wordSet(`build test vet fmt list mod doc version env`),
	"cargo":   wordSet(`build check test bench clippy fmt doc tree metadata search version`),
	"npm":     wordSet(`ls list view info outdated why explain search ping root prefix bin`),
	"docker":  wordSet(`ps images logs inspect version info stats top port history search`),
	"podman":  wordSet(`ps images logs inspect version info stats top port history search`),
	"kubectl": wordSet(`get describe logs version api-resources cluster-info explain top`),
}

// runningOptions are options, by program, that make it run another program or write a file that may be run later. A
// word is one of them if it begins with it, because values may be joined, or is its abbreviation.
var runningOptions = map[string][]string{
	"find": {"-exec", "-ok", "-delete", "-fprint", "-fls", "-files0"},
	"fd":   {"-x", "-X", "--exec"}, "fdfind": {"-x", "-X", "--exec"},
	"rg": {
		"--pre",
		"--hostname-bin",
	}, "ag": {"--pager"}, "ack": {"--pager", "--output", "--ackrc"}, "bat": {"--pager"},
	"batcat": {
		"--pager",
	}, "sort": {"--compress-program", "-o", "--output", "-T", "--temporary-directory"}, "split": {"--filter"},
	"test": {"-v", "-R"}, "[": {"-v", "-R"}, "printf": {"-v"}, "wait": {"-p"}, "tree": {"-o", "-R"},
	"file": {"-C"}, "xxd": {"-r"}, "tcpdump": {"-z", "-w"}, "sdiff": {"--diff-program", "-o", "--output"},
	"install": {"-s", "--strip-program"}, "kubectl": {"--kubeconfig"},
	"npm": {
		"--script-shell",
		"--viewer",
		"--browser",
		"--editor",
		"--node-options",
		"--shell",
		"--git",
		"--userconfig",
	},
	"svn": {"--diff-cmd", "--diff3-cmd", "--editor-cmd", "--config"}, "nm": {"--plugin"}, "ar": {"--plugin"},
	"pandoc": {"--filter", "--lua-filter", "-F", "-L", "--pdf-engine"},
	"git": {
		"--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "-O", "--ext-diff", "--textconv",
		"--filters", "--strategy", // which runs git-NAME, also of a path
		"--output", "--work-tree", "--git-dir", "--config", "ext::", "fd::", "--template", "--paginate", "--html-path",
	},
	// --repo names a repository, whose hooks run; -s runs git-NAME, also of a path; -x and -i run the list of steps.
	"git push": {"--repo"}, "git pull": {"-s"}, "git rebase": {"-s", "-x", "-i", "--interactive", "--edit-todo"},
	"go": {
		"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-ldflags", "--ldflags", "-gccgoflags",
		"--gccgoflags", "-compiler", "--compiler", "-overlay", "--overlay", "-modfile", "--modfile", "-w", "-C",
	},
	"cargo": {"--config", "-Z", "+"}, "jq": {"-L", "--library-path", "-f", "--from-file"},
}

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// programName returns the name of the command's program without the directory of the system's programs, "" if it is not
// known or lies elsewhere.
func programName(c shell.Command) string {
	w := c.Words[0]
	dir, name := path.Split(w.Text)
	switch dir {
	case "", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/":
	default:
		return ""
	}
	if !w.Literal {
		return ""
	}
	return name
}

// isRunner reports whether the name is that of a runner; python3.12 is python.
func isRunner(name string) bool {
	return runners[name] || runners[strings.TrimRight(name, "0123456789.-")]
}

// isBuilder reports whether the name is that of a builder.
func isBuilder(name string) bool {
	return builders[name] || builders[strings.TrimRight(name, "0123456789.-")]
}

// SplitGitOptions returns the command without the leading options of git that change only where it runs and how it
// shows its output, and the directories of -C. It returns a command with other leading options as it is.
func SplitGitOptions(c shell.Command) (plain shell.Command, dirs []shell.Word) {
	if programName(c) != "git" {
		return c, nil
	}
	for i := 1; i < len(c.Words); i++ {
		switch w := c.Words[i]; {
		case !w.Literal:
			return c, nil
		case w.Text == "--no-pager" || w.Text == "-P" || w.Text == "--no-optional-locks":
		case w.Text == "-C" && i+1 < len(c.Words) && c.Words[i+1].Literal:
			i++
			dirs = append(dirs, c.Words[i])
		case strings.HasPrefix(w.Text, "-"):
			return c, nil
		default:
			plain = c
			plain.Words = slices.Concat(c.Words[:1], c.Words[i:])
			return plain, dirs
		}
	}
	return c, nil
}

// exactReason says why only a rule with the exact text, or *, may allow the command; "" if a pattern may.
func exactReason(c shell.Command) string {
	name := programName(c)
	switch {
	case name == "" && !c.Words[0].Literal:
		return "runs a program whose name is not known"
	case name == "":
		return "runs a program of a path, which may be a file of the repository"
	case isRunner(name), isBuilder(name):
		return "runs " + name + ", which runs other commands or code of the repository"
	}
	c, _ = SplitGitOptions(c)
	options := runningOptions[name]
	if known, ok := subcommands[name]; ok {
		if len(c.Words) < 2 || !c.Words[1].Literal || !known[c.Words[1].Text] {
			return "runs " + name + " with a subcommand or option that may run other programs"
		}
		options = slices.Concat(options, runningOptions[name+" "+c.Words[1].Text])
	}
	if slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
		return mayBeOption(w, options) || name != "go" && isBundledOption(w.Text, options) // whose options are words
	}) {
		return "runs " + name + " with an option that may run other programs"
	}
	if name == "jq" && slices.ContainsFunc(c.Words, readsModules) {
		return "runs jq with a program that reads other files"
	}
	if name == "git" && namesRepository(c) {
		return "runs git with a repository named by its path, whose hooks run"
	}
	return ""
}

// readsModules reports whether the word may be a program of jq that reads files by itself.
func readsModules(w shell.Word) bool {
	return strings.Contains(w.Text, "import") || strings.Contains(w.Text, "include")
}

// namesRepository reports whether git pushes to a path instead of a remote, fetches from one, or may.
func namesRepository(c shell.Command) bool {
	if !slices.Contains([]string{"push", "fetch", "pull"}, c.Words[1].Text) {
		return false
	}
	return slices.ContainsFunc(c.Words[2:], func(w shell.Word) bool {
		return !w.Literal || strings.HasPrefix(w.Text, ".") || strings.HasPrefix(w.Text, "/")
	})
}

// mayBeOption reports whether the word is, or may turn out to be, one of the options.
func mayBeOption(w shell.Word, options []string) bool {
	before, _, unknown := strings.Cut(w.Text, shell.Hole)
	name, _, _ := strings.Cut(w.Text, "=")
	short := len(name) > 2 && strings.HasPrefix(name, "--")
	return slices.ContainsFunc(options, func(o string) bool {
		return strings.HasPrefix(w.Text, o) || short && strings.HasPrefix(o, name) ||
			unknown && strings.HasPrefix(o, before)
	})
}

// isBundledOption reports whether a word of one-letter options, such as -nO, may contain one of the options.
func isBundledOption(word string, options []string) bool {
	if len(word) < 3 || word[0] != '-' || word[1] == '-' {
		return false
	}
	return slices.ContainsFunc(options, func(o string) bool {
		return len(o) == 2 && o[0] == '-' && strings.IndexByte(word[1:], o[1]) >= 0
	})
}

// isInert reports whether the command runs nothing that a rule could be about: cd to a known directory, true and false,
// set -euo pipefail, command -v.
func isInert(c shell.Command) bool {
	switch c.Words[0].Source {
	case "true", "false", ":":
		return true
	case "command": // looks a program up
		return len(c.Words) == 3 && (c.Words[1].Text == "-v" || c.Words[1].Text == "-V") && c.Words[2].Literal
	case "set": // options that stop at errors or show what runs
		return !slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
			return !w.Literal ||
				w.Text != "pipefail" &&
					(w.Text == "-" || strings.Trim(w.Text, "-euxo") != "" || w.Text[:1] != "-")
		})
	case "cd":
		return len(c.Words) == 1 || len(c.Words) == 2 && (c.Words[1].Literal || c.Words[1].Tilde) &&
			!strings.HasPrefix(c.Words[1].Text, "-") && !strings.Contains(c.Words[1].Text, shell.Hole)
	}
	return false
}

// RunsOthers reports whether the command may run other commands or code of the repository.
func RunsOthers(c shell.Command) bool { return exactReason(c) != "" }
