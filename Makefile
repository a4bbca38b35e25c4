# What is done more than once, by name. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: wheels pytest binaries vulnerabilities help build test race plain avx2 purego peak golden api licences generate lint fuzz torture bench ci site dist release clean

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PLATFORMS := linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64
FUZZTIME ?= 30s
PYTHON ?= python3
# The packages that work with threads, and those that the kernels are in.
THREADED := ./learn ./infer ./internal/job ./internal/cli
NUMERIC := ./learn ./internal/bp ./internal/simd

help: ## list the targets
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /  make \1\t/' | expand -t 20

build: ## the command, as ./blockbp
	go build ./cmd/blockbp

test: ## all tests, those that take long among them
	BLOCKBP_TEST=long go test ./...
	go test -C lab ./...

race: ## the race detector on what works with threads
	CGO_ENABLED=1 go test -race $(THREADED)

plain: ## the numerical tests with the plain Go kernels
	GODEBUG=cpu.all=off go test -count=1 $(NUMERIC)

avx2: ## the numerical tests with the AVX2 kernels
	GODEBUG=cpu.avx512f=off go test -count=1 $(NUMERIC)

purego: ## build and test without assembly
	go test -tags purego $(NUMERIC)

peak: ## the memory that trainings take, measured, against what --dry-run says
	BLOCKBP_TEST=long BLOCKBP_PEAK=all go test -C lab -count=1 -v ./bench -run ForecastIsRight -timeout 30m

golden: ## renew golden files, tables and pictures; read the difference before you commit it
	go test ./internal/cli -run 'Golden|OptionTables|Keys' -update
	BLOCKBP_TEST=long go test ./docs -run Commands -update
	git diff --stat -- internal/cli/testdata docs

api: ## renew api.txt, the list of all exported names
	go test . -run API -update
	git diff --stat -- api.txt

licences: ## renew the texts of the licences of all modules, which blockbp carries
	go test -C lab ./licences -update
	git diff --stat -- internal/cli/notices.txt

generate: ## renew the assembly
	go generate ./internal/simd
	go generate -C lab ./ceilings

lint: ## formatting, vet, static analysis
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	go vet ./...
	go vet -C lab ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	cd lab && go tool -modfile=../tools/go.mod staticcheck ./...

fuzz: ## every fuzz target for FUZZTIME (30s)
	go test -C lab ./torture -run '^$$' -fuzz . -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    echo "== $$package $$target"; \
	    go test $$package -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s || exit 1; \
	  done; \
	done

torture: ## attack the built command: kills, interruptions, full disks, bit flips and more, and growth with what files choose
	go test -C lab ./torture -run Test -full -timeout 4h

bench: ## how fast the block loop runs here, beside the limits of the machine
	go test -C lab ./bench -run '^$$' -bench Iteration

ci: ## what continuous integration runs
	bash .ci/run

vulnerabilities: ## known weaknesses of Go and of modules, in what the program calls
	go tool -modfile=tools/go.mod govulncheck ./...

binaries: ## static binaries for five platforms, in archives, in dist/
	rm -rf dist && mkdir dist
	@for platform in $(PLATFORMS); do \
	  os=$${platform%/*} arch=$${platform#*/}; suffix=; [ $$os = windows ] && suffix=.exe; \
	  name=blockbp_$(VERSION)_$${os}_$$arch; mkdir dist/$$name && cp LICENSE README.md CHANGELOG.md dist/$$name; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -tags static -ldflags "-s -w" \
	    -o dist/$$name/blockbp$$suffix ./cmd/blockbp || exit 1; \
	  if [ $$os = windows ]; then (cd dist && $(PYTHON) -m zipfile -c $$name.zip $$name); \
	  else tar -C dist --sort=name --owner=0 --group=0 --numeric-owner -czf dist/$$name.tar.gz $$name; fi || exit 1; \
	  rm -r dist/$$name; \
	done

# Versions of what builds and tests the Python package.
WHEELTOOLS := hatchling==1.27.0
PYTESTTOOLS := numpy==2.2.6 pytest==8.4.2 scikit-learn==1.7.2 scipy==1.15.3 networkx==3.4.2 pandas==2.3.3 matplotlib==3.10.7 mypy==1.18.2 \
  onnxruntime==1.23.2 onnx==1.19.1
# make pytest TORCH=torch==2.15.0 tests blockbp.torch, too, and checks types by pyright, which wants PyTorch's; it takes 5 GB more.
TORCH ?=
PYRIGHT := $(if $(TORCH),pyright==1.1.414)
# NumPy for types: those of 2.2, the last for Python 3.10, leave much unknown.
TYPED := numpy==2.4.6

wheels: ## a wheel of the Python package for each platform, in python/dist/
	rm -rf python/dist && mkdir -p python/dist
	$(PYTHON) -m venv python/dist/venv && python/dist/venv/bin/pip install --quiet $(WHEELTOOLS)
	@for platform in $(PLATFORMS); do \
	  os=$${platform%/*} arch=$${platform#*/}; suffix=; [ $$os = windows ] && suffix=.exe; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=false -tags static -ldflags "-s -w" \
	    -o python/dist/$$os-$$arch/blockbp$$suffix ./cmd/blockbp && \
	  (cd python && BLOCKBP_TARGET=$$os-$$arch BLOCKBP_BINARIES=$(CURDIR)/python/dist dist/venv/bin/python -m hatchling build -t wheel -d dist) || exit 1; \
	done
	rm -rf python/dist/venv && ls -l python/dist/*.whl

dist: binaries wheels ## all that a release publishes, with checksums and notes, in dist/
	cp python/dist/*.whl dist/
	cd dist && sha256sum blockbp* > SHA256SUMS && cat SHA256SUMS
	awk '/^## /{on = index($$0, "## $(VERSION) ") == 1; next} on' CHANGELOG.md > dist/NOTES.md

release: ## make release VERSION=v1.2.3: checks, tags and builds a version; pushing the tag publishes it
	@fail() { echo "make release: $$1" >&2; exit 1; }; \
	echo '$(VERSION)' | grep -qE '^v[0-9]+\.[0-9]+\.[0-9]+$$' || fail 'say which version: make release VERSION=v1.2.3'; \
	[ -z "$$(git status --porcelain)" ] || fail 'there are changes that are not committed: see git status'; \
	! git rev-parse -q --verify 'refs/tags/$(VERSION)' >/dev/null || fail 'there is a tag $(VERSION) already'; \
	grep -q '^const release = "$(VERSION)"$$' internal/cli/version.go || fail 'internal/cli/version.go names another version'; \
	grep -qE '^## $(VERSION) \([0-9-]{10}\)$$' CHANGELOG.md || fail 'CHANGELOG.md has no heading "## $(VERSION) (DATE)"'; \
	grep -q '^version: $(VERSION:v%=%)$$' CITATION.cff || fail 'CITATION.cff names another version'
	$(MAKE) ci
	git tag -a $(VERSION) -m "blockbp $(VERSION)"
	$(MAKE) dist VERSION=$(VERSION)
	@echo "now: git push origin $(VERSION)"

# Versions of what builds the site.
SITETOOLS := mkdocs==1.6.1 mkdocs-material==9.8.2 mkdocstrings==1.0.8 mkdocstrings-python==2.0.11 nbconvert==7.17.2 ipykernel==7.4.0

site: ## the pages as a site, in dist/site/, with the notebooks run
	$(PYTHON) -m venv dist/venv && dist/venv/bin/pip install --quiet $(SITETOOLS) $(PYTESTTOOLS)
	go build -o dist/venv/bin/blockbp ./cmd/blockbp
	PATH="$$PWD/dist/venv/bin:$$PATH" BLOCKBP_BINARY=$$PWD/dist/venv/bin/blockbp PYTHONPATH=$$PWD/python/src \
	  NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 dist/venv/bin/mkdocs build --quiet
	rm -rf dist/venv

pytest: ## the Python package, built and tested in a fresh environment
	rm -rf python/dist/test && mkdir -p python/dist/test
	$(PYTHON) -m venv python/dist/test/venv && python/dist/test/venv/bin/pip install --quiet $(WHEELTOOLS) $(PYTESTTOOLS) $(TORCH) $(PYRIGHT)
	cd python && dist/test/venv/bin/python -m hatchling build -t wheel -d dist/test
	python/dist/test/venv/bin/pip install --quiet --no-index --no-deps python/dist/test/*.whl
	cd python && env -u BLOCKBP_BINARY PYTHONDONTWRITEBYTECODE=1 dist/test/venv/bin/python -m pytest -q -p no:cacheprovider
	cd python && dist/test/venv/bin/python -m mypy --cache-dir dist/test/mypy
	$(if $(PYRIGHT),python/dist/test/venv/bin/pip install --quiet $(TYPED) && cd python && dist/test/venv/bin/python -m pyright --pythonpath dist/test/venv/bin/python)
	rm -rf python/dist/test

clean: ## remove what the other targets made
	rm -rf dist python/dist blockbp
