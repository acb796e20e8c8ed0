.PHONY: help setup clients compare examples gateway gateway-setup gateway-test gateway-fuzz test tools-test suites test-shuffled faults lint format bench docs soak fuzz race clean

SWIFT ?= swift
SOURCES = Package.swift AppleChecks Sources Adapters Conformance Tests Benchmarks/Package.swift Benchmarks/Sources \
  Fuzz/Package.swift Fuzz/Sources Gateway/Package.swift Gateway/Sources Gateway/Tests Gateway/Benchmarks/Package.swift \
  Gateway/Benchmarks/Sources Gateway/Fuzz/Package.swift Gateway/Fuzz/Sources
# Tests with a deadline need the processor now and then: more than this at once starve one another on two cores.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 6
# Otherwise every error that code under test throws costs a backtrace: a third of the processor time of all tests.
export SWT_SWIFT_ERROR_BACKTRACING_ENABLED ?= 0

# Tests of the conformance cases that `xp conform`, as part of `make test`, plays for the same subjects.
export PLAYED_BY_XP = AdapterTests\..*ConformanceTests/(conforms|decisionAPI|bucketing)|InMemoryConformanceTests/conforms|ConformanceTests/usual

help:            ## Lists what can be made
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 24

setup:           ## Installs the system packages that are missing
	@.ci/setup

clients:         ## Installs the third-party clients that mocks are tried with, beside the build
	@python3 -m venv .build/python && .build/python/bin/pip install -q -r Conformance/Clients/requirements.txt

compare: setup   ## Runs the shop scenario through all five vendors and lays the outcomes side by side
	@SWIFT="$(SWIFT)" .ci/build --product compare-vendors
	@"$$($(SWIFT) build --show-bin-path)/compare-vendors"

gateway: gateway-setup ## Serves OpenFeature's remote evaluation over a mock vendor, and says how to ask it
	@SWIFT="$(SWIFT)" .ci/build --package-path Gateway --product xp-gateway
	@exec "$$($(SWIFT) build --package-path Gateway --show-bin-path)/xp-gateway"

test: export TESTS = libraries
test: setup      ## Runs the libraries' tests and every conformance case by name, and compiles as if for iOS
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" .ci/test

tools-test: export TESTS = tools
tools-test: setup ## Runs the tests of the tools: the command line, the suites, the mocks, the comparison, the flag keys
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" .ci/some-tests --skip-build --skip "$$PLAYED_BY_XP"

faults: setup    ## Runs every conformance case against every planted fault
	@$(SWIFT) build --build-tests
	@SOAK=1 SWIFT="$(SWIFT)" .ci/some-tests --skip-build --filter PlantedFaultTests

suites: setup    ## Runs the conformance suites that make test leaves to xp conform, as an adapter's author would
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" .ci/some-tests --skip-build --filter "$$PLAYED_BY_XP"

test-shuffled: setup ## Runs all tests in a random order, forty at a time in a process of their own; ORDER=7 repeats one
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" .ci/test-shuffled $(ORDER)

gateway-setup: setup
	@.ci/setup gateway

gateway-test: gateway-setup ## Runs the gateway's tests, which have a package and a build of their own
	@python3 -m venv Gateway/.build/python && Gateway/.build/python/bin/pip install -q -r Gateway/Tests/Clients/requirements.txt
	@SWIFT="$(SWIFT)" .ci/some-tests --package-path Gateway

lint: setup      ## Checks format and documentation comments
	@$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)

format:          ## Formats the sources
	@$(SWIFT) format format --in-place --parallel --recursive $(SOURCES)

bench: setup     ## Measures, in release mode, and prints the figures beside their bars
	@Benchmarks/clean-build.sh
	@$(SWIFT) build -c release --product xp
	@export XP="$$($(SWIFT) build -c release --show-bin-path)/xp"; cd Benchmarks && for each in reading telemetry manifest composition migration parsing transport delivery sessions flagship sigma engage evergage agreement; do \
	  if grep -q "\"bench-$$each\"" Package.swift; then $(SWIFT) run -q -c release "bench-$$each" || exit 1; fi; \
	done

docs: setup      ## Writes docs/comparison.md anew, and the reference of the libraries into .build/docs
	@$(SWIFT) run -q xp compare --from flagship --to evergage --format markdown --output docs/comparison-flagship-evergage.md --without-timings
	@$(SWIFT) run -q xp compare --from sigma --to flagship-bucketing --format markdown --output docs/comparison-sigma-flagship.md --without-timings
	@tail="$$(sed -n '/^## From one to another/,/^<!-- pairs -->/p' docs/comparison.md)"; \
	$(SWIFT) run -q xp compare --growth --monthly-users 100000 --format markdown --output docs/comparison.md --without-timings && \
	{ printf '\n%s\n' "$$tail"; \
	  for pair in flagship-evergage sigma-flagship; do \
	    printf '\n'; sed -n '/^## .*, in short$$/,/^## Step by step/p' "docs/comparison-$$pair.md" | sed -e '/^## Step by step/d' -e 's/^##/###/' | sed -e '$$d'; \
	  done; } >> docs/comparison.md
	@$(SWIFT) package dump-symbol-graph --minimum-access-level public --skip-synthesized-members > /dev/null
	@mkdir -p .build/docs && docc convert docs/reference.docc --warnings-as-errors \
	  --additional-symbol-graph-dir "$$($(SWIFT) build --show-bin-path)/../symbolgraph" \
	  --fallback-display-name swift-experimentation --fallback-bundle-identifier swift-experimentation \
	  --output-dir .build/docs/reference.doccarchive && echo "docs: .build/docs/reference.doccarchive"

examples: setup  ## Builds the packages of docs/examples and runs them against mock vendors
	@$(SWIFT) build --product xp
	@docs/examples/check "$$($(SWIFT) build --show-bin-path)/xp"

soak: setup      ## Runs the reliability tests at their full figures, in release mode and one after another; takes long
	@$(SWIFT) build -c release --scratch-path .build-soak --build-tests -Xswiftc -enable-testing
	@SOAK=1 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1 SWIFT="$(SWIFT)" \
	  .ci/some-tests -c release --scratch-path .build-soak --skip-build -Xswiftc -enable-testing

race: setup      ## Runs the race suite alone under the thread sanitizer, then a planted race that must be reported
	@$(SWIFT) build --sanitize=thread --scratch-path .build-tsan --product race-suite
	@.build-tsan/debug/race-suite
	@for planted in race lock; do \
	  if .build-tsan/debug/race-suite --planted "$$planted" > /dev/null 2>&1; then \
	    echo "race: the planted $$planted was not reported, so silence means nothing"; exit 1; \
	  else echo "race: the planted $$planted was reported"; fi; \
	done

fuzz: setup      ## Fuzzes every parser for half a minute
	@cd Fuzz && ./fuzz.sh

gateway-fuzz: gateway-setup ## Fuzzes the bodies of the gateway's requests for half a minute
	@PACKAGE=../Gateway/Fuzz Fuzz/fuzz.sh 30 bodies

clean:           ## Removes what was built
	@rm -rf .build .build-* Benchmarks/.build Fuzz/.build Gateway/.build Gateway/Benchmarks/.build Gateway/Fuzz/.build
