package file

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// fingerprints is the part of a structured result that says which state of its files the session saw: the fingerprint
// as text by real path, "" for a removed file. A later process restores its Tracker from it.
type fingerprints map[string]string

// String returns the digest in base64, or the size and time if there is no digest.
func (p fingerprint) String() string {
	if p.digest != (digest{}) {
		return base64.RawURLEncoding.EncodeToString(p.digest[:])
	}
	return fmt.Sprintf("%d@%d", p.size, p.time.UnixNano())
}

func parseFingerprint(s string) (fingerprint, bool) {
	if strings.Contains(s, "@") {
		var size, nano int64
		n, err := fmt.Sscanf(s, "%d@%d", &size, &nano)
		return fingerprint{size: size, time: time.Unix(0, nano)}, err == nil && n == 2
	}
	sum, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(sum) != len(digest{}) {
		return fingerprint{}, false
	}
	return fingerprint{digest: digest(sum)}, true
}

// maxRestored bounds the sessions recorded as restored. At the limit all records are dropped; restoring again changes
// nothing that is known.
const maxRestored = 4096

// restoreSeen reads what the session saw in earlier processes from the results of its calls, newest first. It does so
// once for each session and keeps what this process knows already.
func (f *Tracker) restoreSeen(ctx context.Context, call tool.Call) error {
	if call.Results == nil {
		return nil
	}
	// Two calls of a session may arrive at once; the second waits for the first and finds it done.
	unlock, err := f.lockPath(ctx, "what the session "+string(call.SessionID)+" has read")
	if err != nil {
		return err
	}
	defer unlock()
	if f.isRestored(call.SessionID) {
		return nil
	}
	// The newest result of a path decides, also if its fingerprint is invalid: an older one is outdated.
	met := map[string]bool{}
	err = call.Results(ctx, func(name string, structured jsontext.Value) bool {
		for path, text := range fingerprintsIn(name, structured) {
			if p, ok := parseFingerprint(text); ok && !met[path] {
				f.restoreOne(call.SessionID, path, p)
			}
			met[path] = true
		}
		return len(met) < maxSeen
	})
	if err != nil {
		return fmt.Errorf("look up what the session has read: %w", err)
	}
	// Mark the session as restored, only after success. At the limit all marks go; reading again is harmless.
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.restored) >= maxRestored {
		clear(f.restored)
	}
	f.restored[call.SessionID] = true
	return nil
}

func (f *Tracker) isRestored(id session.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restored[id]
}

// restoreOne records a fingerprint unless this process knows the file already, as the least recently used entry.
func (f *Tracker) restoreOne(id session.ID, path string, p fingerprint) {
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[key]; !ok && f.order.Len() < maxSeen {
		f.seen[key] = f.order.PushBack(&seenEntry{key, snapshot{fingerprint: p}})
	}
}

// fingerprintsIn returns the fingerprints in a result of the tools of this package. Other tools may use the member seen
// for anything.
func fingerprintsIn(name string, structured jsontext.Value) fingerprints {
	var info struct {
		Seen fingerprints `json:"seen"`
	}
	if !slices.Contains([]string{"read", "edit", "write", "apply_patch"}, name) ||
		json.Unmarshal(structured, &info) != nil {
		return nil
	}
	return info.Seen
}
