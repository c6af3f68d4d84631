package plugin

import (
	"context"
	"crypto/sha256"
	_ "embed"
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

//go:embed host.mjs
var script []byte

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

// writeScript returns the script as a file in the directory, which is written if it is missing.
func writeScript(dir string) (string, error) {
	sum := sha256.Sum256(script)
	file := filepath.Join(dir, "plugin-host-"+hex.EncodeToString(sum[:8])+".mjs")
	if old, err := os.ReadFile(file); err == nil && string(old) == string(script) {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return file, statefile.Replace(file, script, 0o600)
}
