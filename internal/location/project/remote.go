package project

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the ids of OpenCode
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// computeID returns what OpenCode calls the project of a checkout with the root commit, so that its clients find the
// sessions: a hash of the remote "origin", else what OpenCode has stored in the repository, else the root commit, else
// "global". It entitles to nothing, because every copy has it.
func computeID(now *diskState, root string) session.ProjectID {
	if now.Remote != "" {
		sum := sha1.Sum([]byte("git-remote:" + now.Remote)) //nolint:gosec // as above
		return session.ProjectID(hex.EncodeToString(sum[:]))
	}
	return cmp.Or(now.Stored, session.ProjectID(root), Global)
}

var (
	isID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)
	// scpAddress is an address such as git@host:path.
	scpAddress = regexp.MustCompile(`^(?:[^@/:]+@)?([^/:]+):(.+)$`)
)

// normalizeRemote returns host and path of an address of git, without user, port and suffix, so that the same
// repository over SSH and HTTPS is one; "" for a local path.
func normalizeRemote(address string) string {
	address = strings.TrimSpace(address)
	host, path := "", ""
	if u, err := url.Parse(address); err == nil && u.Scheme != "" && strings.Contains(address, "://") {
		if u.Scheme == "file" {
			return ""
		}
		host, path = u.Hostname(), u.Path
	} else if m := scpAddress.FindStringSubmatch(address); m != nil && m[2][0] != ':' { // not helper::…
		host, path = m[1], m[2]
	}
	path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(strings.TrimLeft(path, "/"), "/"), ".git"), "/")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + path
}
