package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// MaxPrompt bounds what "-" reads. The engine's own limit is the same.
const MaxPrompt = 16 << 20

// ReadPrompt joins the arguments. "-" stands for standard input, which is read for nothing else.
func (a *Invocation) ReadPrompt(args []string) (string, error) {
	words := make([]string, 0, len(args))
	read := false
	for _, arg := range args {
		if arg != "-" || read {
			words = append(words, arg)
			continue
		}
		read = true
		b, err := io.ReadAll(io.LimitReader(a.Stdin, MaxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(b) > MaxPrompt {
			return "", UsageErrorf("standard input is longer than %d bytes, the limit of a prompt", MaxPrompt)
		}
		words = append(words, strings.TrimRight(string(b), "\n"))
	}
	return strings.Join(words, " "), nil
}

// ParseModel reads PROVIDER/MODEL[#VARIANT], as the configuration has it, or with an at sign. Models may have slashes
// and at signs of their own; the last at sign is the variant's unless a slash follows it, or a version: Google's Vertex
// names the versions of models so (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude).
func ParseModel(s string) (*session.ModelRef, error) {
	if s == "" {
		return nil, nil
	}
	ref := config.ModelName(s).Ref()
	if ref == nil || ref.ProviderID == "" || ref.ID == "" {
		return nil, UsageErrorf(
			"--model must be PROVIDER/MODEL or PROVIDER/MODEL#VARIANT, got %q; cairn models lists them",
			s,
		)
	}
	if ref.Variant == "" && !strings.HasPrefix(ref.ProviderID, "google-vertex") && !datedVersion().MatchString(ref.ID) {
		ref.ID, ref.Variant = CutVariant(ref.ID, "@")
	}
	return ref, nil
}

// ParseModelFlag is ParseModel for the flag of a command that works on this machine: its error about a name without a
// provider names the usable models of that name.
func (a *Invocation) ParseModelFlag(ctx context.Context, s string) (*session.ModelRef, error) {
	ref, err := ParseModel(s)
	if err == nil || s == "" {
		return ref, err
	}
	o, oerr := a.HostOptions("")
	if oerr != nil {
		return nil, err
	}
	models, _ := a.Host.UsableModels(ctx, o) // without a list there is no suggestion
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Ref().String()
	}
	// An exact name first: it is near to itself.
	if near := spelling.FindNearest(s, names, 1); len(near) > 0 {
		return nil, UsageErrorf(
			"--model must be PROVIDER/MODEL or PROVIDER/MODEL#VARIANT, got %q; did you mean %s?", s, near[0],
		)
	}
	return nil, err
}

// datedVersion matches a model's name that ends with the date of its version.
var datedVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@\d{8}$`) })

// CutVariant splits the variant from the end of a model's name, after one of the signs; the variant may be "".
func CutVariant(name, signs string) (model, variant string) {
	at := strings.LastIndexAny(name, signs)
	if at <= 0 || at == len(name)-1 || strings.Contains(name[at:], "/") {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// IsURL reports whether the argument is a URL, and not a name or a path.
func IsURL(arg string) bool { return strings.Contains(arg, "://") }
