package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// npmPackage is the package that people install; npmPackage-OS-CPU are those with the programs.
const npmPackage = "@cairn-dev/cairn"

// npmLauncher starts the program of the package for the system at hand.
const npmLauncher = "packaging/npm/cairn.js"

// npmManifest is package.json, as far as it is used. No package has scripts: installing runs nothing.
type npmManifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Licence     string            `json:"license"`
	Homepage    string            `json:"homepage"`
	Repository  map[string]string `json:"repository"`
	Systems     []string          `json:"os,omitempty"`
	Processors  []string          `json:"cpu,omitempty"`
	Commands    map[string]string `json:"bin,omitempty"`
	Files       []string          `json:"files"`
	Engines     map[string]string `json:"engines,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// npmNames returns the system and processor in the names of Node.
func (t target) npmNames() (system, processor string) {
	system, processor = t.system, t.arch
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system, processor
}

func (r *release) newManifest(name, text string) npmManifest {
	return npmManifest{
		Name: name, Version: r.version, Description: text, Licence: "MIT", Homepage: homepage,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
	}
}

// writeNPMProgram writes the npm package with the program of a target.
func (r *release) writeNPMProgram(t target, c content, program []byte) error {
	system, processor := t.npmNames()
	m := r.newManifest(fmt.Sprintf("%s-%s-%s", npmPackage, system, processor),
		fmt.Sprintf("The program of %s for %s on %s", npmPackage, system, processor))
	m.Systems, m.Processors, m.Files = []string{system}, []string{processor}, []string{"bin", "THIRD-PARTY-LICENSES"}
	return r.writeNPM(fmt.Sprintf("npm_cairn-%s-%s_%s.tgz", system, processor, r.version), m, []file{
		{"bin/" + t.programName(), 0o755, program},
		{"LICENSE", 0o644, c.licence},
		{"THIRD-PARTY-LICENSES", 0o644, c.notices},
	})
}

// writeNPMLauncher writes the npm package that depends on those of the targets.
func (r *release) writeNPMLauncher() error {
	if !r.wants("npm") {
		return nil
	}
	m := r.newManifest(npmPackage, "Durable coding-agent sessions")
	m.Commands, m.Files = map[string]string{"cairn": "bin/cairn.js"}, []string{"bin"}
	m.Engines, m.Optional = map[string]string{"node": ">=18"}, map[string]string{}
	for _, t := range r.targets {
		system, processor := t.npmNames()
		m.Optional[fmt.Sprintf("%s-%s-%s", npmPackage, system, processor)] = r.version
	}
	var files []file
	for name, source := range map[string]string{
		"bin/cairn.js": npmLauncher, "README.md": "README.md", "LICENSE": "LICENSE",
	} {
		b, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		files = append(files, file{name, 0o644, b})
		if name == "bin/cairn.js" {
			files[len(files)-1].mode = 0o755
		}
	}
	return r.writeNPM(fmt.Sprintf("npm_cairn_%s.tgz", r.version), m, files)
}

// writeNPM writes a package in the form of npm: all below package/.
func (r *release) writeNPM(name string, m npmManifest, files []file) error {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, file{"package.json", 0o644, append(manifest, '\n')})
	for i := range files {
		files[i].path = "package/" + files[i].path
	}
	b, err := packTar(files, r.time)
	if err != nil {
		return err
	}
	return r.writeFile(name, b)
}
