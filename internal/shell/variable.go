package shell

import "strings"

// commandVariables hold what programs run as a command, or what the shell expands and runs.
var commandVariables = words(`BASH_ENV ENV PS0 PS1 PS2 PS4 PROMPT_COMMAND EDITOR VISUAL FCEDIT PAGER MANPAGER
	SYSTEMD_PAGER DELTA_PAGER BAT_PAGER
	BROWSER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_SSH
	GIT_SSH_COMMAND
	GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH CVSEDITOR SVN_SSH SVN_EDITOR HGEDITOR HG CC CXX
	CPP LD AR AS RANLIB FC
	RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER CMAKE_C_COMPILER_LAUNCHER
	CMAKE_CXX_COMPILER_LAUNCHER MAKE SHELL`)

// optionVariables hold options of a program, which are added to those that it is given.
var optionVariables = map[string]string{
	"MAKEFLAGS": "make", "GNUMAKEFLAGS": "make", "GOFLAGS": "go", "TAR_OPTIONS": "tar", "LESS": "less",
	"NODE_OPTIONS": "node", "RUBYOPT": "ruby",
	"PERL5OPT": "perl", "PERL5DB": "perl",
}

// steering are variables that may make a program run anything, by settings or by functions.
func steering(name string) bool {
	switch {
	case strings.HasPrefix(name, "BASH_FUNC_"), strings.HasPrefix(name, "GIT_CONFIG"), strings.Contains(
		strings.ToLower(name), "npm_config_",
	):
		return true
	}
	return name == "GIT_DIR" || name == "GIT_EXEC_PATH" || name == "GIT_COMMON_DIR" || name == "GIT_TEMPLATE_DIR" ||
		name == "SHELLOPTS" || name == "BASHOPTS"
}

// assigned adds what a variable given as NAME=value makes others run.
func (r *reader) assigned(a string) {
	name, value, _ := strings.Cut(a, "=")
	name = strings.TrimSuffix(name, "+")
	program, holdsOptions := optionVariables[name]
	switch {
	case name == "CDPATH" || name == "OLDPWD" || name == "DIRSTACK": // cd goes there
		r.out.Directories = append(r.out.Directories, Hole)
		r.lost = true
	case steering(name):
		r.unknown()
	case holdsOptions:
		if !known(value) || executes(program, dashed(strings.Fields(value))) {
			r.unknown()
		}
	case !commandVariables[name]:
	case !known(value):
		r.unknown()
	default:
		r.script(strings.TrimLeft(value, "|-"), r.depth+1, r.readings)
	}
}

// dashed gives the first word the dash that make and perl do without there.
func dashed(options []string) []string {
	if len(options) > 0 && !strings.HasPrefix(options[0], "-") {
		options[0] = "-" + options[0]
	}
	return options
}
