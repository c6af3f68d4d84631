package exec_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// A command asks before it runs for everything it reaches, by resolved paths: directories outside, files that it reads,
// files that the shell writes; then for its commands.
func TestBashReaches(t *testing.T) {
	b := tooltest.New(t)
	secret := b.WriteFile(b.OutsidePath("other/secret.txt"), "secret\n")
	other := filepath.Dir(secret)
	b.WriteFile("a.txt", "a\n")
	b.WriteFile("sub/b.txt", "b\n")
	b.Symlink(other, "link")
	b.Symlink(other, "sub/inner")
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	outside := "external_directory " + other + "/*"
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"cat a.txt", []string{"read a.txt", "bash cat a.txt"}},
		{"cd sub && cat b.txt", []string{"read sub/b.txt", "bash cat b.txt"}},
		{"cd sub", []string{}},
		{"ls > out.txt", []string{"edit out.txt", "bash ls > out.txt"}},
		{"ls 2> /dev/null", []string{"bash ls 2> /dev/null"}},
		{"ls | tee sub/t.txt", []string{"bash ls,tee sub/t.txt"}},
		{"> made.txt", []string{"bash > made.txt"}}, // which is not plain
		{"cat OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat OTHER/secret.txt"}},
		{"cat link/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat link/secret.txt"}},
		{"cat ../other/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat ../other/secret.txt"}},
		{"cd sub && cat inner/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat inner/secret.txt"}},
		{"cd link && pwd", []string{outside, "bash pwd"}},
		{"cd sub && cat ../a.txt", []string{"read a.txt", "bash cat ../a.txt"}},
		{"cd sub && ls ..", []string{"bash ls .."}},
		{"cd sub && echo x > ../out.txt", []string{"edit out.txt", "bash echo x > ../out.txt"}},
		{"mkdir d && cd d && cp ../a.txt x", []string{"read a.txt", "bash mkdir d,cp ../a.txt x"}},
		{"cd none; cat ../other/secret.txt", []string{outside, "read OTHER/secret.txt", "bash cat ../other/secret.txt"}},
		{"cd OTHER | cat a.txt", []string{outside, "read a.txt", "bash cat a.txt"}},
		{"git -C sub log b.txt", []string{"read sub/b.txt", "bash git -C sub log b.txt"}},
		{"git -C link --no-pager log", []string{outside, "bash git -C link --no-pager log"}},
		{"ls OTHER/s*", []string{outside, "bash ls OTHER/s*"}},
		{"grep s OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash grep s OTHER/secret.txt"}},
		{"wc < OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash wc < OTHER/secret.txt"}},
		{"dd if=OTHER/secret.txt", []string{outside, "read OTHER/secret.txt", "bash dd if=OTHER/secret.txt"}},
		{"mystery --a=OTHER/secret.txt", []string{
			outside, "read OTHER/secret.txt", "bash mystery --a=OTHER/secret.txt",
		}},
		{"echo a > link/new.txt", []string{outside, "edit OTHER/new.txt", "bash echo a > link/new.txt"}},
		{"cp a.txt OTHER", []string{outside, "read a.txt", "bash cp a.txt OTHER"}},
		{"bash -c 'cat link/secret.txt'", []string{"bash bash -c 'cat link/secret.txt'"}},
		{"cat $HOME/x OTHER/secret.txt", []string{"bash cat $HOME/x OTHER/secret.txt"}},
		{"echo /nowhere/at/all OTHER/secret.txt", []string{"bash echo /nowhere/at/all OTHER/secret.txt"}},
		{"test -f OTHER/secret.txt", []string{"bash test -f OTHER/secret.txt"}},
		{"echo a; /bin/echo b", []string{"bash echo a,/bin/echo b"}},
	} {
		command := strings.ReplaceAll(c.command, "OTHER", other)
		for i := range c.want {
			c.want[i] = strings.ReplaceAll(c.want[i], "OTHER", other)
		}
		b.Call("bash", tooltest.Input{"command": command})
		if diff := cmp.Diff(c.want, b.TakeRequests()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

//go:embed testdata/everyday.txt
var everydayText string

// What people and models type all day asks for no files in a session that allows commands, and is confined.
func TestEverydayLines(t *testing.T) {
	b := tooltest.New(t, withSandbox)
	for name := range strings.FieldsSeq("a.txt src/a.go README.md package.json src/main.py docs/a.yaml") {
		b.WriteFile(name, "")
	}
	builtIn := permission.Layer{Source: permission.BuiltIn, Rules: []session.Rule{
		{Action: "*", Resource: "*", Effect: session.Allow},
		{Action: "edit", Resource: "*", Effect: session.Ask},
		{Action: "external_directory", Resource: "*", Effect: session.Ask},
	}}
	lines := strings.Split(strings.TrimSpace(everydayText), "\n")
	for _, line := range lines {
		for _, r := range exec.Requests(b.Config.Exec, line) {
			subject := permission.Subject{Action: r.Action, Resources: r.Resources, Command: r.Command}
			if d := permission.EvaluateAll([]permission.Layer{builtIn}, nil, subject); d.Effect != session.Allow {
				t.Errorf("%s asks for %s %v", line, r.Action, r.Resources)
			}
		}
	}
	if len(lines) < 200 {
		t.Errorf("%d lines: this proves little", len(lines))
	}
}

// Work inside the project asks for nothing but the command, whatever ran before it in the line.
func TestWorkInTheProject(t *testing.T) {
	b := tooltest.New(t, withSandbox)
	b.WriteFile("src/util.py", "")
	b.WriteFile("a.txt", "")
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	for command := range strings.Lines(`
make build && ./bin/app > out.txt
mv src/util.py src/tools.py; echo x >> src/tools.py
cp a.txt b.txt && diff a.txt b.txt > d.txt
mv a.txt b.txt; mkdir d; echo deep > d/e.txt
npm install && echo done > .stamp
tsc && node dist/index.js > out.txt
git mv a b && echo more >> b
find . -name x | xargs sed -i s/a/b/ && git diff > d.patch
git checkout -b x && echo hi >> NEW.md
pip install -r r.txt && python3 app.py > log.txt
cd src && ls ..
cd src && echo x > ../out.txt
cd src && git init -q && echo y > x.py
git add .github/workflows/ci.yml
gcc -I/usr/include -o a a.c
for f in *; do echo "$f"; done > list
`) {
		command = strings.TrimSpace(command)
		for _, r := range exec.Requests(b.Config.Exec, command) {
			if r.Action == "external_directory" {
				t.Errorf("%s asks for %s %v", command, r.Action, r.Resources)
			}
			builtIn := permission.Layer{Source: permission.BuiltIn, Rules: []session.Rule{
				{Action: "*", Resource: "*", Effect: session.Allow}, {Action: "edit", Resource: "*", Effect: session.Ask},
			}}
			d := permission.EvaluateAll([]permission.Layer{builtIn}, nil,
				permission.Subject{Action: r.Action, Resources: r.Resources, Command: r.Command})
			if d.Effect != session.Allow {
				t.Errorf("%s: %s %v is %s", command, r.Action, r.Resources, d.Effect)
			}
		}
	}
}

// Rules for files hold for what the literal words of a plain line name.
func TestFileRulesApplyToWords(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile(".env", "SECRET=1\n")
	b.WriteFile("a.txt", "a\n")
	b.WriteFile("sub/.env", "SECRET=2\n")
	b.Symlink(b.Path(".env"), "link")
	b.Rules = []session.Rule{
		{Action: "*", Resource: "*", Effect: session.Allow},
		{Action: "read", Resource: "*.env", Effect: session.Deny},
		{Action: "edit", Resource: "locked/*", Effect: session.Deny},
	}
	for command, denied := range map[string]bool{
		"cat .env": true, "cat ./.env": true, "cat 'DIR/.env'": true, "cat sub/../.env": true, "cat link": true,
		"head -5 < .env": true, "cp .env x": true, "dd if=.env": true, "grep x .env": true, "mystery .env": true,
		"cd sub && cat .env": true, "git -C sub diff --no-index /dev/null .env": true, "mystery --file=.env": true,
		"cat a.txt": false, "ls -la .env": false, "stat .env": false, "test -f .env": false, "echo .env": false,
		"rm -f nothing.env": false, "grep -r a a.txt": false, "touch b.env": false,
		"echo x > locked/y": true, "cat locked/y": false,
	} {
		command = strings.ReplaceAll(command, "DIR", b.Dir)
		if s := b.Call("bash", tooltest.Input{"command": command}); (s.Denial != nil) != denied {
			t.Errorf("%s: denied %v: %s", command, s.Denial != nil, tooltest.TextOf(s))
		}
	}
}

// Changing a protected file asks, even if editing and all commands are allowed.
func TestProtectedFiles(t *testing.T) {
	b := tooltest.New(t)
	home := b.OutsidePath("home")
	t.Setenv("HOME", home)
	b.WriteFile(b.OutsidePath("home/.bashrc"), "")
	b.WriteFile(b.OutsidePath("home/.config/go/telemetry/mode"), "off") // else go may write there after it has ended
	b.WriteFile(".git/hooks/README", "")
	b.WriteFile(".git/config", "")
	b.WriteFile("opencode.json", "{}")
	b.WriteFile("a.txt", "a\n")
	b.WriteFile("evil", "#!/bin/sh\n")
	b.Symlink(b.Path(".git/hooks"), "harmless")
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	refused := func(what string, name string, input tooltest.Input) {
		t.Helper()
		if s := b.Call(name, input); s.Denial == nil || s.Denial.Action != "edit" {
			t.Errorf("%s was done: %s", what, tooltest.TextOf(s))
		}
	}
	for _, path := range []string{
		".git/hooks/pre-commit", ".git/config", "harmless/pre-push", ".cairn/agents/a.md", ".opencode/plugin/p.js",
		"cairn.json", "cairn.jsonc",
		"opencode.json", "sub/opencode.jsonc", ".GIT/hooks/x", "sub/../.git/x", ".git\u200c/hooks/x", ".Cairn/x",
		"OpenCode.JSON",
		home + "/.bashrc", home + "/.config/cairn/x", home + "/.ssh/authorized_keys", home + "/.gitconfig",
	} {
		refused("write "+path, "write", tooltest.Input{"filePath": path, "content": "x"})
		refused(
			"patch "+path, "apply_patch",
			tooltest.Input{
				"patchText": "*** Begin Patch\n*** Add File: " + path + "2\n+x\n*** Add File: " + path + "\n+x\n*** End Patch",
			},
		)
	}
	refused("edit", "edit", tooltest.Input{"filePath": "opencode.json", "oldString": "{}", "newString": "{ }"})
	for command := range strings.Lines(`
echo x > .git/hooks/pre-commit
echo x >> .git/config
cat < evil > harmless/pre-commit
echo x | tee .git/hooks/a
echo x | tee -a a.txt opencode.json
cp evil .git/hooks/pre-commit
cp evil harmless/pre-commit
cp evil .git/hooks
cp -t .git/hooks evil
cp --target-directory=.git/hooks evil
mv evil .git/hooks/pre-commit
mv .git x
ln -s ../../evil .git/hooks/pre-commit
install -m 755 evil .git/hooks/pre-commit
sed -i s/a/b/ .git/config
dd if=evil of=.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
touch .cairn/x
mkdir -p .opencode/plugin
rm -rf .git
rm cairn.json
git config core.pager less
git config core.hooksPath x
git config --global core.pager less
git config set core.pager less
git config --unset core.pager
git -c a.b=c config alias.x y
git remote add x y
git remote rm x
git -C sub remote set-url x y
git push -fu origin main
git push --set-up origin main
git fetch --set-upstream origin main
git branch -u origin/main
git branch -m a b
git checkout --track origin/x
git submodule add ../x x
git submodule update --init
git worktree remove ../x
git lfs install
pre-commit install
npx husky init
cd .git && echo x > config
cd .git/hooks; cp ../../evil pre-commit
cp evil .git/hooks/p*
cp evil HOME/.zshrc
git rm opencode.json
git restore .git/config
`) {
		command = strings.ReplaceAll(strings.TrimSpace(command), "HOME", home)
		if command != "" {
			refused(command, "bash", tooltest.Input{"command": command})
		}
	}
	for command := range strings.Lines(`
cat .git/config
ls .git/hooks
git status
git config --get user.name
git config user.name
git remote -v
git push origin main
git branch new main
git branch -vv --contains HEAD
git checkout -b fix/new
git commit -m config a.txt
grep x opencode.json
echo x > AGENTS.md
cp evil evil2
git add opencode.json
git diff opencode.json
jq . opencode.json
`) {
		if s := b.Call("bash", tooltest.Input{"command": strings.TrimSpace(command)}); s.Denial != nil {
			t.Errorf("%s is denied: %+v", command, s.Denial)
		}
	}
	b.TakeRequests()
	b.Call("write", tooltest.Input{"filePath": ".git/hooks/a*", "content": "x"})
	if r := b.Requests()[len(b.Requests())-1]; !cmp.Equal(r.Save, []string{`.git/hooks/a\*`}) {
		t.Errorf("always would save %q", r.Save)
	}
	b.Rules = append(b.Rules, session.Rule{Action: "edit", Resource: ".git/hooks/*", Effect: session.Allow})
	if s := b.Call("write", tooltest.Input{"filePath": ".git/hooks/pre-commit", "content": "x"}); s.Denial != nil ||
		s.Error != nil {
		t.Error(tooltest.TextOf(s))
	}
}

// A path outside asks, and is writable for the command once that is allowed: a file that a redirection opens or that a
// program names which does not only read.
func TestPermittedPathsAreWritable(t *testing.T) {
	b := tooltest.New(t)
	for command, want := range map[string][]string{
		"cp a.txt OUT/deep/":                     {"deep"},
		"cp a.txt OUT/new.txt":                   {"new.txt"},
		"echo x > OUT/new.txt":                   {"new.txt"},
		"cd OUT && mkdir d":                      {"", "d"},
		"cd OUT && make":                         {""},
		"cd OUT && ls && cat deep/f":             nil,
		"cat OUT/deep/f":                         nil,
		"diff a.txt OUT/deep/f > d.txt":          nil,
		"git -C OUT log":                         nil,
		"git -C OUT log --output=x":              {"", "x"},
		"cat a.txt < OUT/deep/f":                 nil,
		"python3 OUT/deep/f; touch OUT/deep/f":   {"deep/f"},
		"f=OUT/new.txt; echo x > $f":             nil,
		"cd OUT && git log --oneline > ../w.txt": {"../w.txt"},
	} {
		out := b.OutsidePath("o")
		b.WriteFile(filepath.Join(out, "deep/f"), "")
		for i := range want {
			want[i] = filepath.Join(out, want[i])
		}
		command = strings.ReplaceAll(command, "OUT", out)
		if diff := cmp.Diff(want, exec.FindPermittedPaths(b.Config.Exec, command)); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

// A command writes to a path outside that was permitted by name, and not to one that a rule for everything allows.
func TestPermittedPathsAreWritten(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withSandbox)
	b.Rules = tooltest.AllowAll[:1]
	for _, permitted := range []bool{false, true} {
		out := b.OutsidePath("o")
		b.WriteFile(filepath.Join(out, "f"), "")
		b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true, Outside: permitted}
		s := b.Call("bash", tooltest.Input{"command": "echo x > " + out + "/f"})
		if wrote := b.ReadFile(out+"/f") != ""; wrote != permitted {
			t.Errorf("permitted %v: wrote %v: %s", permitted, wrote, tooltest.TextOf(s))
		}
	}
}

// In a directory that is no project, such as the home directory, what a line changes by name asks like a path outside.
func TestNoProject(t *testing.T) {
	b := tooltest.New(t, func(c *tooltest.Config) { withSandbox(c); c.Exec.NoProject = true })
	b.WriteFile("a.txt", "")
	for command, want := range map[string]string{
		"echo x > notes.txt": "external_directory,edit,bash", "cp a.txt b.txt": "external_directory,read,bash",
		"cat a.txt": "read,bash", "ls": "bash", "npm install x": "bash",
		"sh a.txt": "external_directory,read,bash", "f=a; echo x > $f": "bash",
	} {
		var got []string
		for _, r := range exec.Requests(b.Config.Exec, command) {
			got = append(got, r.Action)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s asks for %v, want %s", command, got, want)
		}
	}
}

// A command of which the sandbox refused something is put to a person the next time, who lets it run outside, once.
func TestRefusedCommandsAskNext(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withSandbox)
	b.Rules = tooltest.AllowAll[:1]
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true, Attended: true}
	asked := func(command string) (person bool) {
		b.TakeRequests()
		b.Call("bash", tooltest.Input{"command": command})
		for _, r := range b.Requests() {
			person = person || r.Person
		}
		return person
	}
	command := "f=" + b.OutsidePath("new") + "; echo x > $f"
	if asked(command) || !asked(command) || asked("echo permitted") {
		t.Error("the ask comes at the wrong call")
	}
	b.Confinement.Attended = false
	if asked(command) {
		t.Error("it asks where people do not answer")
	}
}

// Commands that the configuration names run outside of the sandbox: plain lines all of whose commands match.
func TestCommandsOutside(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, func(c *tooltest.Config) {
		withSandbox(c)
		c.Exec.Outside = []string{"echo out *", "git push *", "mine *"}
	})
	b.WriteFile("sub/f", "")
	b.WriteFile("bin/mine", "#!/bin/sh\n")
	if err := os.Chmod(b.Path("bin/mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", b.Path("bin")+":"+os.Getenv("PATH"))
	b.Rules = tooltest.AllowAll[:1]
	for _, c := range []struct {
		command string
		as      tool.Confinement
		want    string
	}{
		{"echo out x", tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}, `"off"`},
		{"echo out x && echo out", tool.Confinement{Mode: session.SandboxWrites}, `"off"`},
		{"echo out x > made", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"cd sub && echo out x", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"echo out x; ls", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"echo out $X", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"echo out x", tool.Confinement{Mode: session.SandboxStrict}, `"strict"`},
		{"git push origin none", tool.Confinement{Mode: session.SandboxWrites}, `"off"`},
		{"git push --receive-pack=x origin", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"git push --rec x origin", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"git push 'file://localhost/" + b.Dir + "/sub' main", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"git push FILE:///none main", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"git push sub main", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"mine x", tool.Confinement{Mode: session.SandboxWrites}, `"writes"`},
		{"echo out x", tool.Confinement{Mode: session.SandboxWrites, ReadOnly: true}, `"writes"`},
	} {
		b.Confinement = c.as
		s := b.Call("bash", tooltest.Input{"command": c.command})
		if got := tooltest.Member(t, s.Output.Structured, "sandbox"); got != c.want {
			t.Errorf("%s %+v ran in %s", c.command, c.as, got)
		}
	}
}

// On a system without a sandbox, a saved approval covers no program that is a file of the project.
func TestProgramsOfTheProject(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("bin/ls", "#!/bin/sh\n")
	if err := os.Chmod(b.Path("bin/ls"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", b.Path("bin")+":"+os.Getenv("PATH"))
	for command, want := range map[string]bool{"ls -l": true, "cat x && ls": true, "cat x": false} {
		requests := exec.Requests(b.Config.Exec, command)
		if got := requests[len(requests)-1].Command; !got.Unconfined || (got.NotPlain != "") != want {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
