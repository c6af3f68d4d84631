package builtin

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

// seenPrints is what a result says of the files that the session knows by it: of each real path the print as text, "" of
// one that is gone. With it a later process knows what the session saw.
type seenPrints map[string]string

// String is the digest, or size and time where there is none.
func (p print) String() string {
	if p.sum != (digest{}) {
		return base64.RawURLEncoding.EncodeToString(p.sum[:])
	}
	return fmt.Sprintf("%d@%d", p.size, p.time.UnixNano())
}

func parsePrint(s string) (print, bool) {
	if strings.Contains(s, "@") {
		var size, nano int64
		n, err := fmt.Sscanf(s, "%d@%d", &size, &nano)
		return print{size: size, time: time.Unix(0, nano)}, err == nil && n == 2
	}
	sum, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(sum) != len(digest{}) {
		return print{}, false
	}
	return print{sum: digest(sum)}, true
}

// maxRecalled bounds of how many sessions it is remembered that they were recalled. Beyond, all are recalled again, which
// changes nothing that is known.
const maxRecalled = 4096

// recall takes what the session saw before this process from the results of its calls, once, the newest first. What is
// known since stays.
func (f *Files) recall(ctx context.Context, call tool.Call) error {
	if call.Results == nil {
		return nil
	}
	unlock, err := f.lock(ctx, "what the session "+string(call.SessionID)+" has read")
	if err != nil {
		return err
	}
	defer unlock()
	if f.isRecalled(call.SessionID) {
		return nil
	}
	met := map[string]bool{}
	err = call.Results(ctx, func(name string, structured jsontext.Value) bool {
		for path, text := range printsIn(name, structured) {
			if p, ok := parsePrint(text); ok && !met[path] {
				f.remember(call.SessionID, path, p)
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
	if len(f.recalled) >= maxRecalled {
		clear(f.recalled)
	}
	f.recalled[call.SessionID] = true
	return nil
}

func (f *Files) isRecalled(id session.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recalled[id]
}

// remember is saw for what may be known better already. It goes behind all that was used in this process.
func (f *Files) remember(id session.ID, path string, p print) {
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[key]; !ok && f.order.Len() < maxSeen {
		f.seen[key] = f.order.PushBack(&seenFile{key, sight{print: p}})
	}
}

// printsIn returns the prints in the result of one of our tools; others say what they like.
func printsIn(name string, structured jsontext.Value) seenPrints {
	var info struct {
		Seen seenPrints `json:"seen"`
	}
	if !slices.Contains([]string{"read", "edit", "write", "apply_patch"}, name) || json.Unmarshal(structured, &info) != nil {
		return nil
	}
	return info.Seen
}
