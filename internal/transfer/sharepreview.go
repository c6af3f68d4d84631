package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// DigestSecrets returns the secrets by their SHA-256 digests in hexadecimal.
func DigestSecrets(secrets []string) map[string]string {
	out := map[string]string{}
	for _, s := range secrets {
		sum := sha256.Sum256([]byte(s))
		out[hex.EncodeToString(sum[:])] = s
	}
	return out
}

// PreviewShare returns what the process that publishes the session replaces. known are the secrets that the caller knows: if
// one that only the caller knows would be published, it is an error. It happens when a key is in the environment of the
// caller, and not in that of the server.
func PreviewShare(ctx context.Context, c *api.Client, s *session.Session, known []string) ([]Replacement, error) {
	byDigest := DigestSecrets(known)
	preview, err := c.PreviewShare(ctx, s.ID, api.SharePreviewRequest{Digests: slices.Sorted(maps.Keys(byDigest))})
	if err != nil || len(preview.Unknown) == 0 {
		return preview.Replacements, err
	}
	var ours []string
	for _, digest := range preview.Unknown {
		if secret, isOurs := byDigest[digest]; isOurs {
			ours = append(ours, secret)
		}
	}
	// With and without them, the page must be the same.
	var sums [2][]byte
	for i, known := range [][]string{ours, nil} {
		sum := sha256.New()
		if _, err := (&Export{API: c, Known: known}).WriteHTML(ctx, sum, s); err != nil {
			return nil, err
		}
		sums[i] = sum.Sum(nil)
	}
	if !slices.Equal(sums[0], sums[1]) {
		return nil, session.Errorf(session.CodeConflict, "the session has a secret that this environment knows, and the cairn that "+
			"publishes it does not, so it would not be replaced; start that one with the same variables, or store the key "+
			"with cairn auth login")
	}
	return preview.Replacements, nil
}
