package permission

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/shell"
)

// The words that name a command in a saved approval: three for the programs and pairs in threeWords, two for the
// programs in twoWords, one for all others.
var (
	twoWords = wordSet(
		`git go cargo npm docker podman kubectl gh glab aws az gcloud systemctl svn hg flutter dart heroku
		fly vercel netlify wrangler firebase supabase prisma vault ip`,
	)
	threeWords = wordSet(`aws az gcloud gh glab git-remote git-stash git-worktree go-mod ip-addr ip-link ip-route
		kubectl-rollout vault-kv vault-auth`)
	// exactSaves are programs of which an approval covers the written text only.
	exactSaves = wordSet(`rm rmdir shred dd mkfs mv chmod chown kill pkill killall reboot shutdown`)
)

// SavePattern returns the pattern that the answer "always" saves for a command line or one of its commands: the words
// that name an ordinary command and then anything, or else exactly this text.
func SavePattern(text string) string {
	line, err := shell.Parse(text)
	if err != nil || len(line.Commands) != 1 {
		return Escape(strings.TrimSpace(text))
	}
	c := line.Commands[0]
	n := countNamingWords(c)
	if exactReason(c) != "" || exactSaves[programName(c)] || n == 0 {
		return Escape(c.Text)
	}
	named := make([]string, n)
	for i, w := range c.Words[:n] {
		named[i] = quoteWord(w.Text)
	}
	return Escape(strings.Join(named, " ")) + " *"
}

// countNamingWords returns how many words name the command, 0 if they are not known.
func countNamingWords(c shell.Command) int {
	name, most := programName(c), 1
	if twoWords[name] {
		most = 2
	}
	if threeWords[name] || len(c.Words) > 1 && threeWords[name+"-"+c.Words[1].Text] {
		most = 3
	}
	plain := func(w shell.Word) bool {
		return w.Literal && w.Text == quoteWord(w.Text) && !strings.HasPrefix(w.Text, "-")
	}
	if i := slices.IndexFunc(c.Words, func(w shell.Word) bool { return !plain(w) }); i >= 0 {
		most = min(most, i)
	}
	if most = min(most, len(c.Words)); most < 2 && twoWords[name] {
		return 0
	}
	return most
}
