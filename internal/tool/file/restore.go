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

// fingerprints is what a result says of the files that the session knows by it: of each real path the print as text, ""
// of one that is gone. With it a later process knows what the session saw.
type fingerprints map[string]string

// String is the digest, or size and time where there is none.
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

// maxRestored bounds of how many sessions it is remembered that they were recalled. Beyond, all are recalled again,
// which changes nothing that is known.
const maxRestored = 4096

// restoreSeen takes what the session saw before this process from the results of its calls, once, the newest first.
// What is known since stays.
func (f *Tracker) restoreSeen(ctx context.Context, call tool.Call) error {
	if call.Results == nil {
		return nil
	}
	unlock, err := f.lockPath(ctx, "what the session "+string(call.SessionID)+" has read")
	if err != nil {
		return err
	}
	defer unlock()
	if f.isRestored(call.SessionID) {
		return nil
	}
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

// restoreOne is saw for what may be known better already. It goes behind all that was used in this process.
func (f *Tracker) restoreOne(id session.ID, path string, p fingerprint) {
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[key]; !ok && f.order.Len() < maxSeen {
		f.seen[key] = f.order.PushBack(&seenEntry{key, snapshot{fingerprint: p}})
	}
}

// fingerprintsIn returns the prints in the result of one of our tools; others say what they like.
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
