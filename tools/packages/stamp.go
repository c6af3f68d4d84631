package main

import (
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
	tag, _ := git("describe", "--tags", "--match=v[0-9]*", "--abbrev=0") // "" without tags
	distance := ""
	if tag != "" {
		distance, _ = git("rev-list", "--count", tag+"..HEAD")
	}
	changed, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return s, err
	}
	s.version, err = deriveVersion(tag, distance == "0", s.time, changed != "")
	return s, err
}

// deriveVersion returns the version of a commit: that of its tag, or for a commit after it a development version of
// the next patch that sorts by time. A checkout with changes says so.
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
		next = fmt.Sprintf("%s.%s.%d", m[1], m[2], patch)
	}
	next += "-dev." + at.Format("20060102150405")
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

// systemVersion returns the version in the form of a package system, in which versions before a release sort before it.
func (s stamp) systemVersion(format string) string {
	number, before, isBefore := strings.Cut(s.version, "-")
	switch {
	case !isBefore:
		return number
	case format == "apk": // allows a few words with a number each
		word, digits := "pre", strings.Join(regexp.MustCompile(`\d+`).FindAllString(before, 1), "")
		switch {
		case strings.HasPrefix(before, "alpha"):
			word = "alpha"
		case strings.HasPrefix(before, "beta"):
			word = "beta"
		case strings.HasPrefix(before, "rc"):
			word = "rc"
		}
		return number + "_" + word + digits
	default:
		return number + "~" + before
	}
}
