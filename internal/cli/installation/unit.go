package installation

import (
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strings"
)

// settings are what a service is started with.
type settings struct {
	program     string
	home        string
	environment []string // NAME=VALUE
	keys        string   // a file with more lines of that form, which need not exist; "" is that of the configuration
}

// recordedVariables are the variables of the installing process that a service gets: where files are, and where the
// programs of commands are. None of them is a secret.
var recordedVariables = []string{
	"CAIRN_HOME", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
}

func newSettings(program string, getenv func(string) string) (settings, error) {
	s := settings{program: program, home: getenv("HOME")}
	for _, name := range recordedVariables {
		if value := getenv(name); value != "" {
			s.environment = append(s.environment, name+"="+value)
		}
	}
	if home := getenv("CAIRN_HOME"); home != "" {
		s.keys = filepath.Join(home, "config", "environment")
	}
	for _, text := range append(slices.Clone(s.environment), program) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return s, fmt.Errorf("%q has a control character, which a service cannot be given", text)
		}
	}
	return s, nil
}

// ownMark begins the files that cairn service install writes; cairn replaces and removes no others.
const ownMark = "Written by cairn service install"

// formatUnit returns the systemd unit of a user.
func formatUnit(s settings) string {
	// "%" begins a specifier everywhere; the rest of what is escaped ends or splits a quoted word.
	percent := strings.NewReplacer("%", "%%")
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(text) + `"`
	}
	program := s.program
	if strings.ContainsAny(program, ` \"'$%;`) {
		program = strings.ReplaceAll(quote(program), "$", "$$")
	}
	keys := "%E/cairn/environment"
	if s.keys != "" {
		keys = percent.Replace(s.keys)
	}
	var environment strings.Builder
	for _, variable := range s.environment {
		fmt.Fprintf(&environment, "Environment=%s\n", quote(variable))
	}
	return fmt.Sprintf(unitText, program, environment.String(), keys)
}

const unitText = `# ` + ownMark + `; cairn service remove removes it.
[Unit]
Description=cairn, durable coding-agent sessions
Documentation=man:cairn(1)

[Service]
Type=exec
ExecStart=%s serve
%s# API keys and settings, lines of NAME=VALUE; the file need not exist.
EnvironmentFile=-%s
# SIGTERM goes to cairn, which ends its commands in order; what is left after the timeout is killed.
KillMode=mixed
TimeoutStopSec=45
Restart=on-failure
RestartSec=2

[Install]
WantedBy=default.target
`

// agentLabel names the service to launchd.
const agentLabel = "dev.cairn.serve"

// agentLog is the file of a launchd agent's standard error, below the home directory.
const agentLog = "Library/Logs/cairn.log"

// formatAgent returns the property list of a launchd agent. It has no file for keys: those are in the keychain.
func formatAgent(s settings) string {
	var environment strings.Builder
	for _, variable := range s.environment {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&environment, "    <key>%s</key>\n    <string>%s</string>\n", name, html.EscapeString(value))
	}
	return fmt.Sprintf(agentText, agentLabel, html.EscapeString(s.program), environment.String(),
		html.EscapeString(filepath.Join(s.home, agentLog)))
}

const agentText = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + ownMark + `; cairn service remove removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>%s</string>
  <key>ProgramArguments</key>
  <array>
    <string>%s</string>
    <string>serve</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
%s  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>45</integer>
  <key>StandardErrorPath</key>
  <string>%s</string>
</dict>
</plist>
`
