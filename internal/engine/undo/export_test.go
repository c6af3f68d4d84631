package undo

import (
	"github.com/cairn-dev/cairn/internal/session"
)

// Mutants returns reverters with a wrong rule, by what is wrong with it. TestMutatedRules proves that TestInterleavings
// finds each.
func Mutants() map[string]func(Reverter) Reverter {
	mutants := map[string]func(chain []CallChange, p filePlan) filePlan{
		"conflicts are overwritten": func(chain []CallChange, p filePlan) filePlan {
			if p.conflict != "" {
				return filePlan{to: chain[0].Before}
			}
			return p
		},
		"changes in between are ignored": func(chain []CallChange, p filePlan) filePlan {
			if p.reason != "" {
				p.to = chain[0].Before
			}
			return p
		},
		"no copies are kept": func(_ []CallChange, p filePlan) filePlan {
			p.backup = false
			return p
		},
		"only the last change is taken back": func(chain []CallChange, p filePlan) filePlan {
			if p.conflict == "" && p.to == chain[0].Before {
				p.to = chain[len(chain)-1].Before
			}
			return p
		},
		"new files stay": func(_ []CallChange, p filePlan) filePlan {
			if p.to.IsAbsent() {
				p.conflict = "mutant"
			}
			return p
		},
	}
	out := map[string]func(Reverter) Reverter{"others at the same time are ignored": func(r Reverter) Reverter {
		r.rule = func(chain []CallChange, now session.PathState, force bool) filePlan {
			for i := range chain {
				chain[i].Beside = nil
			}
			return planFile(chain, now, force)
		}
		return r
	}}
	for name, mutant := range mutants {
		out[name] = func(r Reverter) Reverter {
			r.rule = func(chain []CallChange, now session.PathState, force bool) filePlan {
				return mutant(chain, planFile(chain, now, force))
			}
			return r
		}
	}
	return out
}
