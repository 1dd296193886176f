# One command each: `make run` opens the app, `make test` runs every test.
# Both install what is missing first and say what they install.

SHELL := /bin/sh
WAILS_TAGS := desktop,production,webkit2_41
LDFLAGS := -w -s
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD := 1

.PHONY: all run setup setup-test build frontend core desktop generate test test-quick test-agents fuzz bench packages clean help

all: build

help:
	@echo "make run          install what is missing, build, open the app"
	@echo "make build        build/bin/whippletree-desktop and build/bin/whippletree"
	@echo "make test         every test of the tier 'ci' (what .ci/run runs)"
	@echo "make test-quick   static checks, Go and front-end unit tests"
	@echo "make test-agents  the full matrix over the real agents"
	@echo "make fuzz         every fuzz target for 60 s"
	@echo "make bench        figures beside their floors"
	@echo "make generate     files made from others (TypeScript types)"
	@echo "make packages     deb, rpm and tar.gz in build/bin"

setup:
	@build/dev/setup.sh run

setup-test:
	@build/dev/setup.sh test

run: build
	build/bin/whippletree-desktop

build: setup frontend core desktop

frontend:
	cd frontend && npm run --silent build

core:
	CGO_ENABLED=0 go build -ldflags "$(LDFLAGS)" -trimpath -o build/bin/whippletree ./backend/cmd/whippletree

desktop:
	go build -tags $(WAILS_TAGS) -ldflags "$(LDFLAGS)" -trimpath -o build/bin/whippletree-desktop .

generate:
	go run ./backend/api/tsgen/write frontend/src/lib/api/types.gen.ts
	go run ./build/dev/agentsdoc/write docs/agents.md

test: setup-test
	@go run ./build/dev/testall -tier ci

test-quick: setup
	@go run ./build/dev/testall -tier quick

test-agents: setup-test
	@go run ./build/dev/testall -tier agents

fuzz:
	@go run ./build/dev/testall -tier fuzz

bench: setup-test build
	@go run ./e2e/bench

packages: build
	build/package/package.sh

clean:
	rm -rf build/bin build/cache e2e/out
