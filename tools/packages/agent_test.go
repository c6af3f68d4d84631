package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The registry's description names the archives of a release and the program in each.
func TestAgent(t *testing.T) {
	t.Chdir("../..")
	r := release{stamp: stamp{version: "1.2.3"}, out: t.TempDir(), formats: []string{"acp"}}
	if err := r.writeAgent(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.out, "cairn_1.2.3_acp-registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID, Name, Version, Description, Repository, License, Icon string
		Authors                                                   []string
		Distribution                                              struct {
			Binary map[string]struct {
				Archive, Cmd string
				Args         []string
			}
			NPX struct {
				Package string
				Args    []string
			}
		}
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "cairn" || got.Version != "1.2.3" || got.Description == "" || got.Distribution.NPX.Package != npmPackage+"@1.2.3" ||
		!slices.Equal(got.Distribution.NPX.Args, []string{"acp"}) {
		t.Errorf("%+v", got)
	}
	if strings.Contains(string(b), agentVersion) || !strings.HasPrefix(got.Repository, homepage) {
		t.Errorf("%s", b)
	}
	// Each target under the registry's name for it.
	processors := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	targets := strings.Split(allTargets, ",")
	for _, name := range targets {
		system, arch, _ := strings.Cut(name, "/")
		this, ending := target{system, arch}, "tar.gz"
		if system == "windows" {
			ending = "zip"
		}
		archive := r.fileName(this, ending)
		one := got.Distribution.Binary[system+"-"+processors[arch]]
		if want := homepage + "/releases/download/v1.2.3/" + archive; one.Archive != want {
			t.Errorf("%s: %s, want %s", name, one.Archive, want)
		}
		if want := "./" + strings.TrimSuffix(archive, "."+ending) + "/" + this.programName(); one.Cmd != want || len(one.Args) != 1 || one.Args[0] != "acp" {
			t.Errorf("%s: %s %v, want %s", name, one.Cmd, one.Args, want)
		}
	}
	if len(got.Distribution.Binary) != len(targets) {
		t.Errorf("%d systems, want %d", len(got.Distribution.Binary), len(targets))
	}
	if _, err := os.Stat(filepath.Join("packaging/acp-registry", got.Icon)); err != nil {
		t.Error(err)
	}
}
