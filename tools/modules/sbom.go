package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The parts of CycloneDX that are used.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type     string   `json:"type"`
		Name     string   `json:"name"`
		Version  string   `json:"version,omitempty"`
		PURL     string   `json:"purl"`
		Hashes   []hash   `json:"hashes,omitempty"`
		Licences []choice `json:"licenses,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	choice struct {
		Licence licence `json:"license"`
	}
	licence struct {
		ID string `json:"id"`
	}
)

// printBinaryBill prints the bill of the modules that the go command recorded in a binary, and of the standard library.
// The version is that of the binary, which the go command does not know.
func printBinaryBill(binary, version string, known []module) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("sbom: %w", err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("sbom: %w", err)
	}
	// Each linked module is one of those for which the licences were checked.
	dirs := map[string]string{}
	for _, m := range known {
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
	modules := []module{{Path: info.Main.Path, Main: true}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		dir, ok := dirs[d.Path+"@"+d.Version]
		if !ok {
			return fmt.Errorf("sbom: %s has the module %s %s, which this checkout does not have", binary, d.Path, d.Version)
		}
		modules = append(modules, module{Path: d.Path, Version: d.Version, Dir: dir})
	}
	// What is not a module: the standard library, and the binary itself.
	sum := sha256.Sum256(content)
	out := bill{Components: []component{{
		Type: "library", Name: "stdlib", Version: info.GoVersion,
		PURL:     "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"),
		Licences: []choice{{licence{"BSD-3-Clause"}}},
	}}}
	out.Metadata.Component.Version = version
	out.Metadata.Component.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	return printBill(modules, out)
}

// printBill adds the modules to a bill and prints it.
func printBill(modules []module, out bill) error {
	out.Format, out.Spec, out.Version = "CycloneDX", "1.6", 1
	for _, m := range modules {
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path}
		if m.Main {
			c.Type, c.Version, c.Hashes = "application", out.Metadata.Component.Version, out.Metadata.Component.Hashes
			out.Metadata.Component = c
			continue
		}
		c.PURL += "@" + m.Version
		ids, err := findLicences(m.Dir)
		if err != nil {
			return fmt.Errorf("sbom: %s: %w", m.Path, err)
		}
		for _, id := range ids {
			c.Licences = append(c.Licences, choice{licence{id}})
		}
		out.Components = append(out.Components, c)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := os.Stdout.Write(b.Bytes())
	return err
}
