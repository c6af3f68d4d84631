# What CI runs is `make check`, `make clients` and `make differential`. Every step can be run alone; each says on failure what to do.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# Tools are pinned in tools/go.mod, a module of its own, so that they never reach go.mod.
TOOL := go tool -modfile=tools/go.mod

# The race detector needs a C compiler. Without one the tests run without it, and say so.
RACE := $(shell command -v $$(go env CC) >/dev/null 2>&1 && echo -race)
# The binary has 34 MiB and its start allocates 1,264 KiB. The rest is for MCP, plugins, language servers and sharing. A commit that
# raises a budget says here for what.
BUDGET_MIB := 46
BUDGET_INIT_KIB := 1600
# of programs with the library: one that only connects, and one that embeds cairn
BUDGET_CLIENT_MIB := 12
BUDGET_EMBEDDED_MIB := 37
PKG ?= ./...
# The time limit of a package's tests in minutes; more for a machine that has other work to do.
TIMEOUT ?= 10
# Tests that mostly start processes, make one request after another, or compute in one goroutine: the race detector learns
# nothing from them, so make crash runs them without it, and make full with it.
LONG := Attacks|Differential|Execve|OrdinaryCommands(AsUser)?|Evasions(AsUser)?|ReadOnlyAsUser|HiddenPathsAreConfined|RipgrepChangesNothing
LONG := $(LONG)|ConfinedCommandsCannotSignalTheSupervisor|IPCOutsideIsUnreachable|ManyDirectories|IDsInPaths|NumbersInQueries
LONG := $(LONG)|LogStaysShort|PowerCuts(FindTheMutant|OfAMigration)?|FailingOperations|MutatedFiles|LongAnswerCostsItsLength
LONG := $(LONG)|StoreFailures|StoreOutages|CompactionCrashes|FormsHeld|Headless
LONG := $(LONG)|ExportOfImportedLog|MutatedRules|RulesOfTrees|LargeMessages|ManyRows|FollowedMirrorIsComplete|EveryVendorHasModels
LONG := $(LONG)|Faces|Leave|Kill(Tree|Revert)|ReplaysOfRecordings|AWholeSessionIsItsPages|ImportedCompactions
LONG := $(LONG)|EveryRoute(NeedsItsScope|Refuses|RefusesWrongCredentials)|Salvage|VendorFaults
LONG := $(LONG)|SentenceInDialogs|RandomKeys|Kill(Compaction|Prune|Share)|Export(OfLog)?IsBounded|(Export|Page)HidesSecrets|SharesHideSecrets
# Tests whose figures are smaller with the race detector; make crash runs them with all.
TRIALS := Kills(FindTheMutant)?|Kill(WhileAnswering|Share)?|CrashMatrix|Scripts
# The slowest first: they set how long all take.
SLOW := ./internal/cli/root ./internal/record/store/sqlite ./internal/server/v1 ./internal/host ./internal/server
SLOW := $(SLOW) ./internal/test/crashtest ./internal/engine ./internal/tool/exec
LONG_PACKAGES := $(SLOW) ./internal/tui ./internal/models ./internal/engine/undo
LONG_PACKAGES := $(LONG_PACKAGES) ./internal/transfer ./internal/transfer/claude ./internal/transfer/jsontree ./internal/transfer/mirror
LONG_PACKAGES := $(LONG_PACKAGES) ./internal/transfer/share ./internal/access/shell ./internal/tool/search ./internal/access/sandbox
LONG_PACKAGES := $(LONG_PACKAGES) ./internal/llm/provider
# No goroutine runs in these packages or their tests beside the test's own: they are tested without the race detector.
SINGLE := anthropic bedrock gemini openaichat openairesponses
# The detector need not wait a second at the end of each process, and need not follow SQLite in C's memory, of which it
# knows nothing: only its callers are looked at.
RACE_SPARED := -gcflags='modernc.org/...=-race=false -d=checkptr=0' -gcflags='zombiezen.com/...=-d=checkptr=0'

.PHONY: check quick clients systems mcp imports plugins sharepage generatedclients walk releasecheck differential build test crash bench soak full fuzz fmt models openapi modern format staticcheck lint archtest generated tidy vulncheck licences sbom packages packages-check packages-smoke sign size help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: format archtest lint staticcheck generated tidy licences vulncheck size test crash ## everything that CI checks, cheapest first
	@echo "check: all good"

clients: ## OpenCode's own SDK, TUI and command line against cairn; from npm, else skipped
	@tools/clients

systems: ## go vet for macOS and Windows, on which no test runs, from source
	@go run -C tools ./systems darwin windows

mcp: ## public MCP servers and the conformance suite against the MCP client; from npm, else skipped
	@tools/mcp

imports: ## sessions that real programs write, into cairn; PROGRAMS="codex gemini" for some; from npm, with the harness, else skipped
	@tools/imports/run $(PROGRAMS)

plugins: ## plugins of npm in sessions with a scripted model; PLUGINS="NAME@VERSION ..." for some; with the harness, else skipped
	@tools/plugins/run $(PLUGINS)

sharepage: ## the page of a shared session in headless Chromium, with content that attacks it; else skipped
	@tools/sharepage/run

generatedclients: ## clients generated from openapi/v2.json run a prompt; LANGUAGES=typescript for one; from npm and PyPI, else skipped
	@tools/generatedclients $(LANGUAGES)

walk: ## one prompt executes every function that docs/WALK.md names; builds cairn with coverage
	go test -count=1 ./internal/test/walktest

releasecheck: walk mcp imports plugins sharepage generatedclients packages-check ## what is too large for CI: the walk, public MCP servers, all programs whose sessions are imported, all plugins, all packages, the Python client

differential: ## OpenCode's recorded stories against cairn, with the harness beside this checkout, else skipped
	@tools/differential/run $(STORIES)

build: ## the static binary, ./cairn
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o cairn .

test: ## tests, with the race detector, in random order
	@$(if $(RACE),:,echo "test: no C compiler: WITHOUT the race detector")
	$(if $(RACE),GORACE=atexit_sleep_ms=10 CGO_ENABLED=1 )go test $(RACE) $(if $(RACE),$(RACE_SPARED)) -vet=off -p=3 -shuffle=on -timeout=$(TIMEOUT)m \
		-skip='^Test($(LONG))$$' $(if $(filter ./...,$(PKG)),$(SLOW)) $$(go list $(PKG) | grep -vE '/archtest|/walktest|/llm/($(subst $(eval ) ,|,$(SINGLE)))$$')

# What starts many processes or thousands of sessions is left out.
QUICK_OUT := /archtest$$|/tool/(search|protected)$$|/server$$|/server/v1$$|/host$$|/crashtest$$|/walktest$$|/tool/exec$$|/engine$$|/engine/undo$$|/cli/root$$|/store/sqlite$$|/access/s(hell|andbox)$$
quick: format archtest ## the inner loop: format, rules, and the tests that take seconds, without the race detector
	go test -short -vet=off -timeout=$(TIMEOUT)m $$(go list $(PKG) | grep -vE '$(QUICK_OUT)')

crash: ## the kill, power-cut, revert and command-line tests with CI's full figures: the race detector is too slow for them
	go test -vet=off -shuffle=on $(SINGLE:%=./internal/llm/%)
	go test -count=1 -vet=off -run='^TestInterleavings$$' ./internal/engine/undo -args -interleavings=3000
	CAIRN_MUTANTS=1 go test -count=1 -vet=off -p=3 -timeout=$$((2 * $(TIMEOUT)))m -run='^Test($(LONG)|$(TRIALS)|MutatedRecognisers)$$' $(LONG_PACKAGES)

bench: ## benchmarks, once each; see bench/README.md for how to compare
	go test -run='^$$' -bench=. -benchmem $(PKG)

soak: ## the reliability trials for SOAK=2m or as long as you say; writes the table of docs/reliability.md
	@tools/soak $${SOAK:-2m}
	go test -timeout=5h -run=Interleavings ./internal/engine/undo -args -interleavings=$${INTERLEAVINGS:-1000000}
	CAIRN_SOAK=1 go test -timeout=5h -run='^TestDifferential$$' -v ./internal/access/shell

full: ## the crash and command-line tests with their full figures, what make test leaves out with the race detector; takes long
	CGO_ENABLED=1 go test $(RACE) -count=1 -timeout=2h -run='^Test($(LONG))$$' $(LONG_PACKAGES)
	CAIRN_SOAK=1 CGO_ENABLED=1 go test $(RACE) -count=1 -timeout=1h -run='^Test(CrashMatrix|Scripts)$$' ./internal/engine ./internal/cli/root
	CAIRN_SOAK=1 go test -count=1 -timeout=5h -run='Crash|Kill|Cut|Mutated|Leave|Soak|Differential|Attacks' $(PKG)

fuzz: ## every fuzz target for FUZZTIME each
	@tools/fuzz $${FUZZTIME:-20s}

fmt: ## format everything in place
	@$(TOOL) gofumpt -w $$(tools/sources)

models: ## write the facts about models that come with cairn anew; FILE=api.json DATE=2026-01-31 for a list at hand
	@go run -C tools ./snapshot $(FILE) $(DATE)

openapi: ## write openapi/ anew, from the types and the routes
	@go generate ./internal/server/...

modern: ## show where newer Go says it shorter; advice, not a check
	@go fix -diff $(PKG)

format:
	@bad=$$($(TOOL) gofumpt -l $$(tools/sources)); \
	if [ -n "$$bad" ]; then printf 'format: run make fmt:\n%s\n' "$$bad"; exit 1; fi; echo "format: ok"

staticcheck:
	@$(TOOL) staticcheck $(PKG) && echo "staticcheck: ok"

lint: # go vet and more; the list, argued, is tools/lint/main.go
	@go test -C tools ./lint >/dev/null && go build -C tools -o ../bin/lint ./lint && go vet -vettool=bin/lint $(PKG) && go vet -C bench . && echo "lint: ok"

archtest:
	@go test ./internal/test/archtest

generated:
	@tools/generated

tidy:
	@TIDY=strict tools/tidy

vulncheck: ## known vulnerabilities in what the binary calls; skipped where their database cannot be reached
	@tools/vulncheck

licences: ## every module of the binary has a licence of an allowed kind
	@go test -C tools ./modules >/dev/null && go build -C tools -o ../bin/modules ./modules && bin/modules licences

sbom: licences ## the modules of the binary as CycloneDX, cairn.cdx.json
	@bin/modules sbom >cairn.cdx.json && echo "sbom: cairn.cdx.json"

# dist/ is what a release has. Nothing in it depends on this machine but the version of Go.
packages: licences ## the files of a release in dist/; TARGETS=linux/amd64 and FORMATS=archive,deb for some, OUT for another folder
	@go build -C tools -o ../bin/packages ./packages
	@bin/packages -out $(or $(OUT),dist) $(if $(TARGETS),-targets $(TARGETS)) $(if $(FORMATS),-formats $(FORMATS))

packages-check: ## all packages built twice and compared, installed and removed in fresh root file systems; as root
	@tools/packages/check all

packages-smoke: ## archive and deb of this machine built twice, compared, unpacked and started; the installer's tests
	@tools/packages/check smoke

sign: ## sign dist/SHA256SUMS with KEY=FILE, a key of ssh-keygen
	@tools/packages/sign $(or $(OUT),dist) $(KEY)

size:
	@tools/size $(BUDGET_MIB) $(BUDGET_INIT_KIB) $(BUDGET_CLIENT_MIB) $(BUDGET_EMBEDDED_MIB)
