# make run    train the quickstart agent: the whole loop in one command
# make test   everything that needs only Go; says in one line what it left out
# make build  bin/merit, bin/plugins/*, the example rewards
# make lint   vet, staticcheck, gofmt
# make bench  the figures of docs/performance.md
# make soak   a million evaluations, one in twenty hostile, in each isolation
GO      ?= go
PLUGINS := $(notdir $(wildcard plugins/sokoban))
REWARDS := examples/sokoban/reward.wasm examples/gsm8k/reward.wasm
OUT     ?= runs/quickstart

.PHONY: build run test lint bench soak generate clean
build: bin/merit $(PLUGINS:%=bin/plugins/%) $(REWARDS)

# The go command knows best what is stale, so these run every time.
.PHONY: bin/merit $(PLUGINS:%=bin/plugins/%) $(REWARDS)
bin/merit:
	$(GO) build -trimpath -ldflags "-s -w" -o $@ ./cmd/merit
$(PLUGINS:%=bin/plugins/%): bin/plugins/%:
	$(GO) build -trimpath -ldflags "-s -w" -o $@ ./plugins/$*
examples/gsm8k/reward.wasm: bin/merit
	bin/merit reward build examples/gsm8k --out $@
examples/sokoban/reward.wasm: bin/merit
	bin/merit reward build examples/sokoban/reward --out $@

run: build
	bin/merit train -c examples/sokoban/train.yaml --out $(OUT) --overwrite

test: build
	$(GO) vet ./...
	$(GO) test ./...

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...

SOAK ?= 1000000
soak:
	for mode in snapshot process; do \
	  MERIT_SOAK=$(SOAK) MERIT_SOAK_ISOLATION=$$mode $(GO) test -run '^TestSoak$$' -v -timeout 2h ./sandbox || exit 1; \
	done

generate:
	$(GO) generate ./...

clean:
	rm -rf bin runs $(REWARDS)
