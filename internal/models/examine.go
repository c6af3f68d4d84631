package models

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Examine returns what is wrong with stored keys, with the list of models and with the model that a session would use
// with the configuration.
func (t *Pool) Examine(ctx context.Context, cfg *config.Config) []finding.Finding {
	set, err := t.Build(cfg)
	if err != nil {
		return []finding.Finding{{Level: finding.Error, What: "models", Detail: err.Error()}}
	}
	found := append(examineKeys(ctx, t.Auth), examineFacts(t, set)...)
	return append(found, set.examineDefault())
}

// examineDefault examines the model that a session would use.
func (m *Set) examineDefault() finding.Finding {
	ref, err := m.Default()
	if err == nil {
		_, err = m.Resolve(ref, session.Agent{})
	}
	switch {
	case IsKeyUnreachable(err):
		return finding.Finding{
			Level: finding.Error, What: "model",
			Detail: ref.String() + " cannot be used: the key of its provider cannot be read",
			Fix:    "cairn doctor provider " + ref.ProviderID,
		}
	case err != nil:
		return finding.Finding{
			Level: finding.Error, What: "model", Detail: err.Error(),
			Fix: "choose another with the key \"model\", or cairn run -m",
		}
	case ref.ProviderID == guide.ProviderID:
		return finding.Finding{
			Level: finding.Note, What: "model",
			Detail: ref.String() + ": no provider is configured, so the offline guide answers",
			Fix:    "set a key such as OPENAI_API_KEY, or run cairn auth login PROVIDER",
		}
	default:
		return finding.Finding{Level: finding.OK, What: "model", Detail: ref.String()}
	}
}

// examineKeys looks for stored keys that cannot be used, and for removed keys that are still in the keyring.
func examineKeys(ctx context.Context, store *auth.Store) []finding.Finding {
	var found []finding.Finding
	troubles, err := store.ListProblems(ctx)
	if err != nil {
		return nil // Build reports it
	}
	for _, t := range troubles {
		f := keyFinding(t.Err)
		f.Level = finding.Warning
		found = append(found, f)
	}
	if left, err := store.ListOrphans(""); err != nil {
		found = append(found, finding.Finding{Level: finding.Warning, What: "keyring", Detail: err.Error()})
	} else if len(left.Names) > 0 {
		found = append(found, finding.Finding{
			Level: finding.Warning, What: "keyring",
			Detail: "still has keys that were removed: " + strings.Join(left.Names, ", "),
			Fix:    "cairn auth list removes them as soon as the keyring can be reached",
		})
	}
	return found
}

// maxFactsFindings bounds how many invalid rows of the list of models doctor shows.
const maxFactsFindings = 10

// oldFactsDays is the age at which doctor shows how old the list of models is.
const oldFactsDays = 2

// examineFacts looks for rows of the list of models that cannot be read.
func examineFacts(pool *Pool, set *Set) []finding.Finding {
	var found []finding.Finding
	add := func(detail, fix string) {
		found = append(found, finding.Finding{Level: finding.Warning, What: "models", Detail: detail, Fix: fix})
	}
	// The list itself: a file that cannot be read, or an old one.
	file := pool.FactsFile()
	if err := pool.Facts.Check(); err != nil && file == "" {
		add(err.Error()+"; the list that came with cairn is in use", "cairn models --refresh")
	}
	if days := int(pool.FactsAge().Hours() / 24); days >= oldFactsDays {
		found = append(found, finding.Finding{
			Level: finding.Note, What: "models", Detail: fmt.Sprintf("the list of models and prices is %d days old", days),
			Fix: "cairn models --refresh",
		})
	}
	// Its rows, a bounded number of them.
	problems := set.Catalog.Problems()
	for i, p := range problems {
		if i == maxFactsFindings {
			add(fmt.Sprintf("%d more entries cannot be read", len(problems)-i), "")
			break
		}
		fix := "the other entries are in use; cairn models --refresh may fetch a valid one"
		if file != "" {
			fix = "correct it in " + file
		}
		add("the row "+p.String(), fix)
	}
	return found
}
