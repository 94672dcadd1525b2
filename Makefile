# make help lists the targets whose lines end with a ## comment.
GO      ?= go
# Programs for development, whose dependencies are separate from those of Merit.
TOOL    := $(GO) tool -modfile=.ci/tools.mod
BIN     := bin
PLUGINS := $(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go))
REWARDS := examples/sokoban/reward.wasm examples/gsm8k/reward.wasm examples/htdag/reward.wasm examples/two-agents/reward.wasm examples/rewards/verifier/reward.wasm
OUT     ?= runs/quickstart
# Without cgo, the binaries are static: they run on any Linux of the architecture, with any
# libc or none.
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -funcalign=16"

.DEFAULT_GOAL := build
.PHONY: help build run llm rubric judge wheel release check test test-full lint bench soak soak-serve generate clean
help: ## List these targets
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[^\t#]+:.*## / { printf "  make %-24s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ Try Merit
build: $(BIN)/merit $(REWARDS) ## Build bin/merit and the example rewards

# The go command knows which files are stale, so these targets run every time.
.PHONY: $(BIN)/merit $(PLUGINS:%=$(BIN)/plugins/%) $(REWARDS)
$(BIN)/merit:
	$(BUILD) -o $@ ./cmd/merit
$(PLUGINS:%=$(BIN)/plugins/%): $(BIN)/plugins/%: $(BIN)/merit
	$(BUILD) -o $@ ./plugins/$*
	$(BIN)/merit plugin info $(abspath $@) --write-manifest >/dev/null
examples/gsm8k/reward.wasm: $(BIN)/merit
	$(BIN)/merit reward build examples/gsm8k --out $@
examples/htdag/reward.wasm: $(BIN)/merit
	$(BIN)/merit reward build examples/htdag/reward --out $@
examples/two-agents/reward.wasm: $(BIN)/merit
	$(BIN)/merit reward build examples/two-agents/reward --out $@
examples/sokoban/reward.wasm: $(BIN)/merit
	$(BIN)/merit reward build examples/sokoban/reward --out $@

examples/rewards/verifier/reward.wasm: $(BIN)/merit
	$(BIN)/merit reward build examples/rewards/verifier --out $@

run: build ## Train the quickstart agent: the whole loop in one command
	$(BIN)/merit train -c examples/sokoban/train.yaml --out $(OUT) --force

# The engine stops when the training exits, whatever its exit code.
llm: build ## Train a language model on two cores: 20 minutes after 1 GB of downloads
	$(BIN)/merit python install
	$(BIN)/merit engine install skyrl --model smollm2
	$(BIN)/merit engine up --engine skyrl --model smollm2 -- \
	  $(BIN)/merit train -c examples/llm/train.yaml --out runs/llm --force

# The teacher plays twice: it asks, to learn what answers mean, and then it writes.
rubric: build ## Let a language model learn to write rubrics on two cores: 2 hours
	$(BIN)/merit python install
	$(BIN)/merit js install
	$(BIN)/merit engine install skyrl --model smollm2
	mkdir -p runs/rubric-lm
	$(BIN)/merit rollout -c examples/rubric/lm/teach.yaml --split train --groups 400 --out runs/rubric-lm/asked.jsonl --force
	$(BIN)/merit rollout -c examples/rubric/lm/teach.yaml --split train --groups 400 --out runs/rubric-lm/taught.jsonl --force \
	  --set policy.options.episodes=$(CURDIR)/runs/rubric-lm/asked.jsonl
	$(BIN)/merit traces import runs/rubric-lm/taught.jsonl --store runs/rubric-lm/traces.db
	$(BIN)/merit engine up --engine skyrl --model smollm2 --slots 4 -- sh -c \
	  '$(BIN)/merit train -c examples/rubric/lm/warm.yaml --store runs/rubric-lm/traces.db --out runs/rubric-lm/warm --force && \
	   $(BIN)/merit train -c examples/rubric/lm/train.yaml --from runs/rubric-lm/warm --out runs/rubric-lm/trained --force'

judge: build ## Let a local model write titles and a local judge rank them: minutes
	$(BIN)/merit engine install llama.cpp --model smollm2
	mkdir -p runs/judge
	$(BIN)/merit engine up --engine llama.cpp --model smollm2 --port 8085 --slots 2 --context 2048 -- sh -c \
	  '$(BIN)/merit rollout -c examples/judge/judge.yaml --force --out runs/judge/episodes.jsonl && \
	   $(BIN)/merit judge check -c examples/judge/judge.yaml --data examples/judge/labelled.jsonl'

##@ Publish
# Seven CPU minutes and 1 GB in a temporary folder for Python, 20 CPU seconds for JavaScript, 60 for the userland;
# nothing if the pinned builds are installed.
.PHONY: interpreter
interpreter: ## Build and install Merit's own interpreters, of JavaScript and of Python with numpy, and the userland of machines
	sandbox/interpreter/build/javascript/build.sh
	sandbox/interpreter/build/build.sh
	sandbox/userland/build.sh

# For this platform, or for another: make wheel OS=darwin ARCH=arm64. It needs pip, which
# downloads the build tools of wheels, and npm if the interpreters are not installed.
RELEASE   = $(GO) run ./cmd/internal/release -python $(PYTHON)
OS       ?= $(shell $(GO) env GOOS)
ARCH     ?= $(shell $(GO) env GOARCH)
PYTHON   ?= python3
wheel: ## Build dist/merit_rl-*.whl: the Python package with the command and the interpreters
	$(RELEASE) -wheel -platforms $(OS)/$(ARCH)
	@ls -sh dist/merit_rl-*.whl

# Needs a commit without changes; make release SNAPSHOT=1 includes uncommitted changes.
# PLATFORMS="linux/amd64 linux/arm64" builds fewer than the four platforms.
# SIGN=file names the private OpenSSH key that signs SHA256SUMS.
release: ## Build all files of a release: make release VERSION=v0.1.0 (docs/releases.md)
	$(RELEASE) -version "$(VERSION)" $(if $(SNAPSHOT),-snapshot) -platforms "$(PLATFORMS)" $(if $(SIGN),-sign "$(SIGN)")
	@ls -sh dist

##@ Check a change
check: lint ## Lint and run the tests that take milliseconds: 30 s on two warm cores
	$(GOTEST) --hide-summary=skipped -- $(TESTFLAGS) -short ./...

# A test that is slow or needs a program other than Go and Python skips itself, unless
# MERIT_SLOW=1 or MERIT_FULL=1: see internal/base/testneeds. With MERIT_FULL=1, as in
# CI, make test is make test-full, and a missing program makes the test fail.
test: build ## Run the tests that need only Go: about 6 minutes on two cores
	@$(if $(ALL),,echo "Merit's tests, without the slow ones: about 6 minutes on two cores.")
	$(GOTEST) $(if $(ALL),,--hide-summary=skipped) -- $(TESTFLAGS) -timeout 40m $(if $(ALL),$(LONG)) ./...
	@$(if $(ALL),,echo "make test-full runs the tests that were skipped: 25 minutes more.")

test-full: export MERIT_SLOW = 1
test-full: ## Run all tests and list what is missing for the others: 25 minutes
	@$(MAKE) --no-print-directory test

ALL       = $(filter 1,$(MERIT_FULL) $(MERIT_SLOW))
GOTEST    = $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg
# Some packages mostly wait for processes, so more run at once than a small machine has
# cores. make lint vets. Without symbols, test binaries link in half the time.
TESTFLAGS = -p 3 -vet=off -ldflags "-s -w"
# Long ones start first, so that none runs alone at the end.
LONG := ./cmd/merit ./sandbox ./internal/fleet/queue ./plugins/tinker ./examples/rewards ./sandbox/internal/fuel ./sdk/conformance/... ./cmd/internal/... ./internal/host ./sdk/python ./internal/command ./plugins/internal/openai

# The trainers as published, with Merit rewards from the wheel; see sdk/python/trainer_tests.
.PHONY: trainers
trainers: wheel ## Call rewards from TRL, verl, OpenRLHF, verifiers, eval-protocol, SkyRL-gym and NeMo Gym: 7 GB
	sdk/python/trainer_tests/run.sh dist/merit_rl-*.whl

# The phrases that docs/style.md warns of are a test of make check: TestPlainWords.
PROSE := "*.go" "*.md" "*.py" "*.js" "*.ts" "*.html" "*.yaml" "*.proto" "*.tmpl" ":!*/testdata/*" ":!sdk/conformance/zoo"
lint: ## Run gofmt, go vet, staticcheck and a spelling check
	@unformatted=$$(gofmt -l $$(git ls-files "*.go")); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	git ls-files -z $(PROSE) | xargs -0 $(TOOL) misspell -error -i versoin,tolerence

.PHONY: docs
docs: runs/docs/bin/mkdocs ## Build the documentation as a website in runs/site, with its links checked
	NO_MKDOCS_2_WARNING=1 $< build --strict --quiet --config-file .ci/docs/mkdocs.yml
runs/docs/bin/mkdocs: .ci/docs/requirements.txt
	$(PYTHON) -m venv runs/docs
	runs/docs/bin/pip install --quiet -r $<
	@touch $@

##@ Measure
# The figures of docs/performance*.md: about seven minutes on two quiet cores.
# `go tool -modfile=.ci/tools.mod benchstat old.txt runs/bench.txt` compares two runs.
BENCHED  := ./plugins/internal/sokoban ./internal/host ./core/rollout ./core/learn ./core/advantage ./internal/data/rowio ./core/rl \
            ./sandbox ./sandbox/internal/engine ./sandbox/internal/engine/memory ./sandbox/internal/machine ./sdk/conformance ./examples/gsm8k ./plugins/internal/openai ./internal/rubric/rubrics ./cmd/merit ./sdk/python \
            ./internal/traces/proxy ./internal/traces/store
FIGURES  := ^BenchmarkInProcess/.*/^features|Plugin/slots=(1|64)$$/parallel|Plugin/env=sokoban$$/transport/slots=(1|64|256)$$/^features|Collect|Act/|Update|Torch/|Estimate/gigpo/|File|History|$\
            Reward/|TwoCores|Load/|PythonInProcess|EvaluateNothing|Encode|Restore|Pause|Wazero|Metering|Kill|Native|HeavyTail|Overhead|Quickstart|Burst/|Program/|BenchmarkWrite|Queries/|ThroughProxy|Rules/|Dual/|^BenchmarkNew$$|^BenchmarkCommand/
bench: build ## Measure the figures of docs/performance.md: 7 minutes on a quiet machine
	mkdir -p runs
	MERIT_TORCH=$(TORCH) $(GO) test -run '^$$' -timeout 30m -benchtime 500ms -count 3 -bench '$(FIGURES)' $(BENCHED) | tee runs/bench.txt
	! grep -E '^(--- )?FAIL' runs/bench.txt
	$(GO) run ./cmd/internal/figures runs/bench.txt docs/performance.md.tmpl docs/performance.md
	$(GO) run ./cmd/internal/figures runs/bench.txt docs/performance-training.md.tmpl docs/performance-training.md

# The learner compared with PyTorch's, by network, minibatch and threads. Once the
# environment exists, make bench measures them too.
TORCH := $(abspath runs/torch/bin/python)
.PHONY: bench-torch
bench-torch: $(TORCH) ## Compare the learner with PyTorch, in its own environment (4 GB)
	MERIT_TORCH=$(TORCH) $(GO) test -run '^$$' -timeout 30m -benchtime 6x -bench Torch/ ./core/learn
$(TORCH):
	$(PYTHON) -m venv runs/torch
	runs/torch/bin/pip install --quiet torch==2.15.0 numpy==2.4.6

# ROWS="math code" selects some of them. -check compares everything except the times, as CI does.
.PHONY: rewards
rewards: build ## Measure the rewards of examples/rewards and write the tables of their READMEs
	$(BIN)/merit python install
	$(BIN)/merit js install
	$(GO) run ./examples/rewards -python $(PYTHON) $(ROWS)

SOAK ?= 1000000
soak: ## Evaluate a million times, one in twenty hostile, in each isolation
	for mode in snapshot process; do \
	  MERIT_SOAK=$(SOAK) MERIT_SOAK_ISOLATION=$$mode $(GO) test -run '^TestSoak$$' -v -timeout 2h ./sandbox || exit 1; \
	done

# Injects faults at random moments into fleets of real processes, and compares each result with
# the bytes of an undisturbed run: about a minute for 40 faults. It needs root.
FAULTS ?= 200
.PHONY: soak-fleet
soak-fleet: ## Kill the processes of a fleet at random while it trains
	$(GO) test ./cmd/internal/fleetfaults -run TestAFewFaults -v -timeout 2h -faults $(FAULTS) -seed 1

# Injects each fault separately, for the table of docs/fleet-faults.md: about ten minutes.
.PHONY: faults-fleet
faults-fleet: ## Inject every fault into a fleet and write the table of docs/fleet-faults.md: 10 minutes
	$(GO) test ./cmd/internal/fleetfaults -run TestFaults -v -timeout 2h -page docs/fleet-faults.md

# Measures how an attack of one tenant affects another: a table, in about three minutes.
.PHONY: soak-serve
soak-serve: build ## Attack a server as one tenant and measure what another notices: 3 minutes
	$(GO) run ./cmd/internal/siege

##@ Maintain
generate: ## Run go generate
	$(GO) generate ./...

clean: ## Remove everything that was built
	rm -rf bin dist runs $(REWARDS)
