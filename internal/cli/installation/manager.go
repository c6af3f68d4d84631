package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// manager is the service manager of a user: systemd or launchd. It writes one file and runs a few commands.
type manager struct {
	name    string
	file    string // of the service
	format  func(settings) string
	probe   []string   // succeeds if the manager runs for this user
	start   [][]string // after the file is written
	stop    []string   // before the file is removed
	unloads bool       // show fails without a service; one must be gone before another starts, some time after stop
	reload  []string   // after the file is removed; may be nil
	show    []string   // prints the state
	restart string     // what a person types
	log     string     // what a person types to see the log
	run     func(ctx context.Context, argv ...string) (string, error)
}

const unitName = "cairn.service"

// newManager returns the manager of a system, in Go's name.
func newManager(system string, getenv func(string) string) (*manager, error) {
	home := getenv("HOME")
	if home == "" {
		return nil, errors.New("HOME is not set, so that the folder of services is unknown")
	}
	systemctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
	switch system {
	case "linux":
		return &manager{
			name:   "systemd",
			file:   filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "systemd", "user", unitName),
			format: formatUnit,
			probe:  systemctl("show-environment"),
			start:  [][]string{systemctl("daemon-reload"), systemctl("enable", unitName), systemctl("restart", unitName)},
			stop:   systemctl("disable", "--now", unitName),
			reload: systemctl("daemon-reload"),
			show:   systemctl("show", unitName, "--property=ActiveState,SubState,MainPID,UnitFileState"),
			log:    "journalctl --user -u cairn", restart: "systemctl --user restart cairn",
			run: runProgram,
		}, nil
	case "darwin":
		domain := "gui/" + strconv.Itoa(os.Getuid())
		agent := domain + "/" + agentLabel
		file := filepath.Join(home, "Library", "LaunchAgents", agentLabel+".plist")
		return &manager{
			name: "launchd", file: file, format: formatAgent,
			probe:   []string{"launchctl", "print", domain},
			start:   [][]string{{"launchctl", "bootstrap", domain, file}},
			stop:    []string{"launchctl", "bootout", agent},
			unloads: true,
			show:    []string{"launchctl", "print", agent},
			log:     "tail -f ~/" + agentLog, restart: "launchctl kickstart -k " + agent,
			run: runProgram,
		}, nil
	default:
		return nil, fmt.Errorf("cairn knows no service manager of %s", system)
	}
}

// install writes the file and starts the service. If that fails, an earlier service is as before, and runs.
func (m *manager) install(ctx context.Context, s settings) error {
	if _, err := m.run(ctx, m.probe...); err != nil {
		return fmt.Errorf("%s does not run for this user: %w", m.name, err)
	}
	before, err := m.readOwn()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return err
	}
	if err := m.startService(ctx, []byte(m.format(s))); err != nil {
		return errors.Join(err, m.restore(context.WithoutCancel(ctx), before))
	}
	return nil
}

// startService writes the file and starts the service, in place of one that runs.
func (m *manager) startService(ctx context.Context, text []byte) error {
	if m.unloads {
		if err := m.stopService(ctx); err != nil {
			return err
		}
	}
	if err := statefile.Replace(m.file, text, 0o600); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	for _, argv := range m.start {
		if _, err := m.run(ctx, argv...); err != nil {
			return fmt.Errorf("start the service: %w", err)
		}
	}
	return nil
}

// stopTimeout is the time that a service has to end, in which launchd kills it (ExitTimeOut of its file), and more.
const stopTimeout = time.Minute

// stopService stops the service, and returns when the manager has forgotten it, if it does.
func (m *manager) stopService(ctx context.Context) error {
	isLoaded := func() bool { _, err := m.run(ctx, m.show...); return err == nil }
	if m.unloads && !isLoaded() {
		return nil
	}
	if _, err := m.run(ctx, m.stop...); err != nil {
		return fmt.Errorf("stop the service: %w", err)
	}
	for end := time.Now().Add(stopTimeout); m.unloads && isLoaded(); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("stop the service: %s still has it after %v", m.name, stopTimeout)
		}
	}
	return nil
}

// restore brings an earlier service back; nil is none.
func (m *manager) restore(ctx context.Context, before []byte) error {
	if before != nil {
		if err := m.startService(ctx, before); err != nil {
			return fmt.Errorf("the service that was installed before does not run any more: %w", err)
		}
		return nil
	}
	_ = m.stopService(ctx) // what was begun; the error that led here is reported
	if err := os.Remove(m.file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove stops the service and removes its file.
func (m *manager) remove(ctx context.Context) error {
	own, err := m.readOwn()
	if err != nil {
		return err
	}
	if own == nil {
		return fmt.Errorf("no service is installed: %s: %w", m.file, fs.ErrNotExist)
	}
	if err := m.stopService(ctx); err != nil {
		return err
	}
	if err := os.Remove(m.file); err != nil {
		return err
	}
	if m.reload != nil {
		_, err = m.run(ctx, m.reload...)
	}
	return err
}

// maxUnit limits the file of a service.
const maxUnit = 1 << 20

// readOwn returns the file that an earlier installation wrote, nil without one. A file of somebody else is an error.
func (m *manager) readOwn() ([]byte, error) {
	b, err := statefile.ReadRegular(m.file, maxUnit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !strings.Contains(string(b), ownMark):
		return nil, fmt.Errorf("%s was not written by cairn; change it by hand, or remove it first", m.file)
	}
	return b, nil
}

// serviceState is what a manager says of the service.
type serviceState struct {
	Manager   string `json:"manager"`
	Installed bool   `json:"installed"`
	File      string `json:"file,omitzero"` // written by cairn service install; "" for the unit of a package
	Enabled   bool   `json:"enabled"`       // it starts when the user logs in
	Running   bool   `json:"running"`
	State     string `json:"state,omitzero"` // in the words of the manager
	PID       int    `json:"pid,omitzero"`
}

// readState asks the manager for the state.
func (m *manager) readState(ctx context.Context) (serviceState, error) {
	s := serviceState{Manager: m.name}
	if _, err := os.Stat(m.file); err == nil {
		s.File, s.Installed = m.file, true
	}
	out, err := m.run(ctx, m.show...)
	if err != nil && m.name == "systemd" {
		return s, fmt.Errorf("%s does not run for this user: %w", m.name, err)
	}
	if err != nil {
		return s, nil // launchd knows no such service
	}
	if m.name == "launchd" {
		s.Installed, s.Enabled = true, true
	}
	// systemctl prints NAME=VALUE, launchctl "name = value" among other lines.
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "ActiveState", "state":
			if s.State == "" {
				s.State = value
			}
			s.Running = s.Running || value == "active" || value == "running"
		case "UnitFileState":
			s.Enabled = value == "enabled"
			s.Installed = s.Installed || s.Enabled // the unit of a package
		case "MainPID", "pid":
			s.PID, _ = strconv.Atoi(value) // 0 if it does not run
		}
	}
	s.Installed = s.Installed || s.Running
	return s, nil
}
