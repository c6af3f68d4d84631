package shell

import "strings"

// The words that name a command in a saved approval, as in OpenCode: two words for the programs in two, three for those
// in three and for the pairs in pairs, one word for all others.
var (
	two = words(`git npm pnpm yarn bun cargo go docker podman kubectl make pip pip3 poetry python python2 python3 node
	ruby perl php
		deno terraform systemctl brew apt apt-get dnf yum pacman gradle mvn dotnet rustup uv composer bundle gem rake mix
	swift helm nix
		flutter dart hg svn just turbo nx conda pipx heroku fly vercel netlify wrangler firebase supabase prisma openssl
	vault ip bash sh`)
	three = words(`aws az gcloud gh glab doctl sfdx`)
	pairs = pairsOf(`git config,git remote,git stash,npm run,npm exec,npm init,npm view,bun run,bun x,cargo add,
	cargo run,
		docker compose,docker container,docker image,docker volume,docker network,docker builder,deno task,ip addr,
	ip link,ip netns,ip route,
		kubectl rollout,kubectl kustomize,pnpm run,pnpm dlx,pnpm exec,yarn run,yarn dlx,vault kv,vault auth,openssl req,
	openssl x509,
		git worktree,podman container,podman image,uv run,poetry run,go tool,go mod,cargo xtask`)
	// exactly are commands whose next words say everything: what is allowed for good is what was written.
	exactly = words(`sudo doas su ssh env eval exec source . trap alias xargs export declare
		typeset readonly set shopt hash enable unset curl wget nc ncat netcat socat telnet scp rsync rm rmdir shred dd
	mkfs osascript lua tclsh r
		rscript npx bunx pnpx uvx`)
)

func pairsOf(list string) map[string]bool {
	out := map[string]bool{}
	for _, p := range strings.Split(list, ",") {
		out[strings.TrimSpace(p)] = true
	}
	return out
}

// interpreters run a file; without one, only what was written can be allowed.
var interpreters = words("python python2 python3 node ruby perl php deno bash sh dash ash zsh ksh make")

// save is the pattern for what "always" allows: the words that name the command, then anything. It is "" when the
// command is not known as a whole.
func save(assigns, words []string) string {
	all := append(append([]string{}, assigns...), words...)
	n := arity(words)
	named := words[:n]
	if !known(strings.Join(named, " ")) || !known(strings.Join(assigns, "")) {
		return ""
	}
	if n == 0 || exact(words, n) {
		if !known(strings.Join(all, " ")) {
			return ""
		}
		return escape(quoteAll(all))
	}
	return escape(quoteAll(append(append([]string{}, assigns...), named...))) + " *"
}

// arity is how many words name the command, fewer if an option or something unusual comes before.
func arity(list []string) int {
	name, most := base(list[0]), 1
	switch {
	case three[name]:
		most = 3
	case two[name]:
		most = 2
		if len(list) > 1 && pairs[name+" "+list[1]] {
			most = 3
		}
	}
	n := 1
	for n < most && n < len(list) && known(list[n]) && list[n] == quote(list[n]) && !strings.HasPrefix(list[n], "-") {
		n++
	}
	return n
}

func exact(list []string, n int) bool {
	name := base(list[0])
	switch {
	case exactly[name] || runsOthers[name] || opaque[name]:
		return true
	case len(list) > 1 && exactPairs[name+" "+list[1]]:
		return true
	case interpreters[name] || two[name] || three[name]:
		return n < 2
	}
	_, isCode := inline[name]
	return isCode
}

var exactPairs = pairsOf(
	"docker run,docker exec,podman run,podman exec,kubectl exec,kubectl run,npm exec,pnpm dlx,yarn dlx,bun x,uv " +
		"run,poetry run,nix shell,nix run,go run,cargo run,deno run,deno eval,git config",
)

// escape makes a pattern of a text that matches that text only (see permission.Escape).
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(s)
}
