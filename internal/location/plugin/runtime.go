package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

//go:embed host
var hostFiles embed.FS

// networkVariables say how JavaScript runtimes and package managers reach the network: proxies, and certificates that they
// trust.
var networkVariables = []string{
	"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// withNetwork returns the environment with networkVariables and the settings of npm.
func withNetwork(e process.Environment) process.Environment {
	e.Pass = slices.Concat(e.Pass, networkVariables)
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(strings.ToLower(name), "npm_config_") {
			e.Pass = append(e.Pass, name)
		}
	}
	return e
}

// findRuntime returns the command line that runs a script: Bun, or Node that reads TypeScript.
func findRuntime(ctx context.Context) ([]string, error) {
	if path, err := exec.LookPath("bun"); err == nil {
		return []string{path, "--no-install"}, nil // packages are installed with cairn plugin add only
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("plugins need Bun, or Node 22.15 or newer, and neither is on PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	version := strings.TrimSpace(string(out))
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, _ := strconv.Atoi(major)
	n, _ := strconv.Atoi(minor)
	if err != nil || m < 22 || m == 22 && n < 15 { // the first one with module.registerHooks
		return nil, fmt.Errorf("plugins need Bun, or Node 22.15 or newer; node on PATH is %s", version)
	}
	args := []string{path, "--no-warnings", "--max-old-space-size=1536"}
	if m == 22 && n < 18 {
		args = append(args, "--experimental-strip-types")
	}
	return args, nil
}

// writeScripts writes the modules of the plugin host below the directory, unless they are there, and returns the main one.
func writeScripts(dir string) (string, error) {
	sum := sha256.New()
	texts := map[string][]byte{}
	entries, err := hostFiles.ReadDir("host")
	for _, e := range entries {
		text, readErr := hostFiles.ReadFile("host/" + e.Name())
		err = errors.Join(err, readErr)
		texts[e.Name()] = text
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(text), text) // a hash takes everything
	}
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "host-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for name, text := range texts {
		file := filepath.Join(dir, name)
		if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
			continue
		}
		if err := statefile.Replace(file, text, 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "main.mjs"), nil
}
