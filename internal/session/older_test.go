package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reencode decodes a line "KIND.VERSION PAYLOAD", "session PAYLOAD" or the payload of a message, and returns its form of
// today.
func reencode(line string) (string, error) {
	name, payload, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "{"):
		m, err := DecodeMessage([]byte(line))
		if err != nil {
			return "", err
		}
		raw, err := EncodeMessage(m)
		return string(raw), err
	case name == "session":
		var s Session
		if err := json.Unmarshal([]byte(payload), &s); err != nil {
			return "", err
		}
		raw, err := json.Marshal(s, json.Deterministic(true))
		return "session " + string(raw), err
	}
	dot := strings.LastIndexByte(name, '.')
	version, err := strconv.Atoi(name[dot+1:])
	if err != nil {
		return "", err
	}
	d, err := DecodeData(Kind(name[:dot]), version, jsontext.Value(payload))
	if err != nil {
		return "", err
	}
	if _, isUnknown := d.(*Unknown); isUnknown {
		return "", fmt.Errorf("%s is unknown", name)
	}
	raw, err := EncodeData(d)
	return fmt.Sprintf("%s.%d %s", d.Kind(), d.Version(), raw), err
}

// TestOlderForms decodes what earlier versions stored. A line that begins with "=> " is the form of today of the line
// above it, if it differs; what was stored is never changed in these files.
func TestOlderForms(t *testing.T) {
	files, _ := filepath.Glob("testdata/older/*.txt")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "=> ") {
				continue
			}
			out.WriteString(line + "\n")
			if strings.HasPrefix(line, "#") {
				continue
			}
			now, err := reencode(line)
			if err != nil {
				t.Errorf("%s: %.80s: %v", file, line, err)
			} else if now != line {
				out.WriteString("=> " + now + "\n")
			}
		}
		golden(t, strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), out.String())
	}
}

// TestDataSteps checks that every kind has a step to each version after the first, and a stored payload of every version
// before the current one.
func TestDataSteps(t *testing.T) {
	var stored strings.Builder
	files, _ := filepath.Glob("testdata/older/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stored.WriteString("\n" + string(text))
	}
	for _, k := range ListKinds() {
		newest := newData(k).Version()
		if newest < 1 {
			t.Errorf("%s has the version %d", k, newest)
		}
		if steps := len(dataSteps[k]); steps != newest-1 {
			t.Errorf("%s has version %d and %d steps", k, newest, steps)
		}
		for version := 1; version < newest; version++ {
			if !strings.Contains(stored.String(), fmt.Sprintf("\n%s.%d {", k, version)) {
				t.Errorf("testdata/older has no %s of version %d", k, version)
			}
		}
	}
	for k := range dataSteps {
		if newData(k) == nil {
			t.Errorf("steps of %s, which is no kind", k)
		}
	}
}
