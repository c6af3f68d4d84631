package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stamp is what a binary and its packages say about their origin.
type stamp struct {
	version  string // semantic, without a leading v
	revision string // the commit; "" without git
	time     time.Time
}

var (
	versionTag = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.]+)?$`)
	version    = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)
)

// readStamp returns the stamp of the checkout in the working directory. The environment wins over git:
// CAIRN_VERSION, and SOURCE_DATE_EPOCH in seconds.
func readStamp() (stamp, error) {
	var s stamp
	// The commit and its time.
	if out, err := git("log", "-1", "--format=%H %ct"); err == nil {
		hash, seconds, _ := strings.Cut(out, " ")
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			return s, fmt.Errorf("the time of the commit: %w", err)
		}
		s.revision, s.time = hash, time.Unix(n, 0).UTC()
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		n, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return s, fmt.Errorf("SOURCE_DATE_EPOCH must be seconds, got %q", epoch)
		}
		s.time = time.Unix(n, 0).UTC()
	}
	if s.time.IsZero() {
		return s, errors.New("there is no git repository here; set SOURCE_DATE_EPOCH and CAIRN_VERSION")
	}
	// The version.
	if s.version = os.Getenv("CAIRN_VERSION"); s.version != "" {
		if !version.MatchString(s.version) {
			return s, fmt.Errorf("CAIRN_VERSION must be like 1.2.3 or 1.2.3-rc.1, got %q", s.version)
		}
		return s, nil
	}
	if s.revision == "" {
		return s, errors.New("there is no git repository here; set CAIRN_VERSION")
	}
	// The highest of the tags up to here, in which a release is higher than what came before it.
	tags, err := git("-c", "versionsort.suffix=-", "tag", "--merged=HEAD", "--sort=-version:refname", "--list", "v[0-9]*")
	if err != nil {
		return s, err
	}
	tag, _, _ := strings.Cut(tags, "\n") // "" without tags
	tagged := ""
	if tag != "" {
		tagged, _ = git("rev-parse", tag+"^{commit}")
	}
	// Changes of files, and Go files that git does not know, which would be compiled, too.
	changed, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return s, err
	}
	added, err := git("ls-files", "--others", "--exclude-standard", "*.go")
	if err != nil {
		return s, err
	}
	s.version, err = deriveVersion(tag, tagged == s.revision, s.time, changed+added != "")
	return s, err
}

// deriveVersion returns the version of a commit: that of its tag, or for a commit after it a development version that
// sorts by time, behind the tag and before the version that comes next. A checkout with changes says so.
func deriveVersion(tag string, isTagged bool, at time.Time, isChanged bool) (string, error) {
	if isTagged && !isChanged {
		if !versionTag.MatchString(tag) {
			return "", fmt.Errorf("the tag %s is no version like v1.2.3 or v1.2.3-rc.1", tag)
		}
		return strings.TrimPrefix(tag, "v"), nil
	}
	next := "0.0.0"
	if m := versionTag.FindStringSubmatch(tag); m != nil {
		patch, err := strconv.Atoi(m[3])
		if err != nil {
			return "", err
		}
		if m[4] == "" { // the tag is a release, not one before it
			patch++
		}
		next = fmt.Sprintf("%s.%s.%d%s", m[1], m[2], patch, m[4])
	}
	if strings.Contains(next, "-") {
		next += "."
	} else {
		next += "-"
	}
	next += "dev." + at.Format("20060102150405")
	if isChanged {
		next += ".changed"
	}
	return next, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// apkVersion are the word and number of a version before a release, and the time of a commit after it.
var apkVersion = regexp.MustCompile(`^(?:(alpha|beta|rc)\.?(\d*))?\.?(?:dev\.(\d+))?`)

// systemVersion returns the version in the form of a package system, in which versions before a release sort before it.
func (s stamp) systemVersion(format string) string {
	number, before, isBefore := strings.Cut(s.version, "-")
	switch {
	case !isBefore:
		return number
	case format == "apk": // allows a few words with a number each
		m := apkVersion.FindStringSubmatch(before)
		if m == nil {
			return number + "_pre"
		}
		word := cmp.Or(m[1], "pre")
		if m[1] != "" && m[3] != "" {
			return number + "_" + word + m[2] + "_p" + m[3]
		}
		return number + "_" + word + m[2] + m[3]
	default:
		return number + "~" + before
	}
}
