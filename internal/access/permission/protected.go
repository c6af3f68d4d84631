package permission

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/session"
)

// Edit is the action whose resources are files to change.
const Edit = "edit"

// Protected is the name of the rule for files that start programs or change permissions later, without asking: git's
// hooks and settings, the configuration of cairn, of other agents, of editors and of services that build the project,
// start-up files of shells and desktops.
const Protected = "protected"

const protectedSource = "built-in: what is written here may run or be obeyed later; a rule that spells its name decides"

const jenkinsfile = "jenkinsfile"

// Protected names: directories and files anywhere, names of several parts anywhere, and names outside of the Location,
// at the end or in the middle of a path.
var (
	guardedDirs = []string{
		".git", ".hg", ".cairn", ".opencode", ".agents", ".claude", ".vscode", ".husky", ".circleci", ".cursor", ".idea",
		".devcontainer", ".zed", ".gemini", ".codex",
	}
	guardedFiles = []string{
		"cairn.json", "cairn.jsonc", "opencode.json", "opencode.jsonc", ".envrc", ".mcp.json", ".gitlab-ci.yml",
		".nvim.lua", ".exrc", ".nvimrc", ".vimrc", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
		".lefthook.yml", ".yarnrc.yml", "mise.toml", ".mise.toml", "mise.local.toml", ".devcontainer.json", ".travis.yml",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", jenkinsfile,
	}
	guardedBelow   = []string{".github/workflows", ".gitea/workflows", ".forgejo/workflows", ".config/mise"}
	guardedOutside = []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
		".zprofile", ".zlogin",
		".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
		".pam_environment",
		".gitconfig", ".ssh", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d",
		".config/cairn",
		".config/opencode", ".local/share/cairn", ".local/share/opencode", ".local/state/cairn", "/etc", "/proc",
	}
)

// ProtectedPaths returns the paths of the protected names directly below the top of a project and, unless home is "",
// below the user's home. It omits .git, of which programs may change all but a few files.
func ProtectedPaths(top, home string) (paths []string) {
	for _, name := range slices.Concat(guardedDirs[1:], guardedFiles, guardedBelow) {
		if name == jenkinsfile { // names are compared in lower case
			name = "Jenkinsfile"
		}
		paths = append(paths, filepath.Join(top, filepath.FromSlash(name)))
	}
	for _, name := range guardedOutside {
		if home != "" && !strings.HasPrefix(name, "/") {
			paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	return paths
}

// ProtectedName returns the protected name in a path, or "". It ignores case, as some file systems do; a * in a
// name stands for unknown text.
func ProtectedName(path string) string {
	path = normalizePath(path)
	// Names that are protected wherever they are: directories, then files, then paths of several names.
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, p := range parts {
		if name := findProtectedName(p, guardedDirs); name != "" {
			return name
		}
	}
	if name := findProtectedName(parts[len(parts)-1], guardedFiles); name != "" {
		return name
	}
	for _, name := range guardedBelow {
		if strings.Contains("/"+path+"/", "/"+name+"/") {
			return name
		}
	}
	// Names outside of a project, which only an absolute path or one below the home directory can reach.
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~") {
		return ""
	}
	for _, name := range guardedOutside {
		if strings.HasPrefix(name, "/") && strings.HasPrefix(path+"/", name+"/") ||
			!strings.HasPrefix(name, "/") && strings.Contains(path+"/", "/"+name+"/") {
			return name
		}
	}
	return ""
}

// findProtectedName returns the first of names that equals a part of a path or, for a part with a *, matches it; "" if
// none does.
func findProtectedName(part string, names []string) string {
	if part == "git~1" { // the short name on Windows
		part = ".git"
	}
	if strings.Trim(part, "*") == "" {
		return ""
	}
	i := slices.IndexFunc(
		names, func(name string) bool { return part == name || strings.Contains(part, "*") && Match(part, name) },
	)
	if i < 0 {
		return ""
	}
	return names[i]
}

// normalizePath returns the path in lower case, without invisible characters and without dots and blanks at the end of
// names, which some file systems ignore.
func normalizePath(path string) string {
	path = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(path, `\`, "/")))
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if trimmed := strings.TrimRight(p, ". "); trimmed != "" {
			parts[i] = trimmed
		}
	}
	return strings.Join(parts, "/")
}

// guardDecision returns the ask for a change of a protected file, nil if the target is not protected.
func guardDecision(action string, t target) *Decision {
	if action != Edit {
		return nil
	}
	name := ProtectedName(t.text)
	if name == "" {
		return nil
	}
	r := session.Rule{Action: Edit, Resource: name, Effect: session.Ask}
	return &Decision{Effect: session.Ask, Rule: &r, Layer: Protected, Source: protectedSource, Resource: t.text}
}

// newDirectoryTarget returns the target for everything below a directory.
func newDirectoryTarget(dir string) target {
	return target{text: path.Join(dir, shell.Placeholder), directory: dir}
}

// decideProtectedDirectory allows changing a protected directory without an ask if the rules allow changing everything
// below it.
func decideProtectedDirectory(layers []Layer, approvals []session.Rule, action string, guard Decision) Decision {
	below := decideTarget(layers, approvals, action, newDirectoryTarget(guard.Resource))
	if below.Effect != session.Allow || !namesProtected(below.Rule, &guard) {
		return guard
	}
	below.Resource = guard.Resource
	return below
}

// AllowsEdit reports whether rules and approvals allow changing a protected file without an ask: for a name that ends
// with a slash, the directory and everything that may be below it.
func AllowsEdit(layers []Layer, approvals []session.Rule, name string) bool {
	dir, isTree := strings.CutSuffix(name, "/")
	if Evaluate(layers, approvals, Edit, dir).Effect != session.Allow {
		return false
	}
	below := decideTarget(layers, approvals, Edit, newDirectoryTarget(dir))
	return !isTree || below.Effect == session.Allow || below.Layer == Protected || below.Rule == nil ||
		matchesAll(below.Rule.Resource)
}

// namesProtected reports whether the pattern of a rule contains the protected name.
func namesProtected(r *session.Rule, guard *Decision) bool {
	return r != nil && strings.Contains(normalizePath(r.Resource), guard.Rule.Resource)
}
