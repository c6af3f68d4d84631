package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxScript bounds a script in bytes.
const maxScript = 32 << 20

// hashFiles returns the SHA-256 of the script or the package, and an error if it cannot be read or if a project's is not
// what was trusted.
func (s *Spec) hashFiles() (digest string, err error) {
	if s.Package != "" {
		digest, err = hashTree(s.Package)
	} else {
		var text []byte
		text, err = statefile.ReadRegular(s.File, maxScript)
		sum := sha256.Sum256(text)
		digest = hex.EncodeToString(sum[:])
	}
	if err == nil && s.trusted != nil {
		err = s.trusted.Verify()
	}
	if err != nil {
		return "", fmt.Errorf("the plugin %s%s does not run: %w", s.File, s.Package, err)
	}
	return digest, nil
}

// check returns an error if the files of the plugin have changed since it was resolved.
func (s *Spec) check() error {
	digest, err := s.hashFiles()
	switch {
	case err != nil || digest == s.Digest:
		return err
	case s.Name != "":
		return fmt.Errorf("the files of the plugin %s have changed: cairn plugin update %s installs it again", s.ID, s.Name)
	default:
		return fmt.Errorf("the plugin %s has changed while cairn ran; it is loaded again with the next prompt", s.ID)
	}
}
