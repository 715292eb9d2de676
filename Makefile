# The developer's entry points. Each installs what it lacks (tools/needs.txt), puts what
# it makes into .build/ and says what it does. `make BUILD=.build-x test` works in a
# folder of its own.

BUILD ?= .build
export BUILD

build:
	@sh tools/ensure.sh build
	@sh tools/build.sh

demo:
	@sh tools/ensure.sh demo
	@sh tools/build.sh
	@sh tools/demo.sh

test:
	@sh tools/ensure.sh test
	@sh tools/test.sh

check:
	@sh tools/ensure.sh check
	@sh tools/check.sh

bench:
	@sh tools/ensure.sh bench
	@sh tools/build.sh
	@sh tools/bench.sh

league:
	@sh tools/ensure.sh bench
	@sh tools/build.sh
	@sh tools/bench.sh bench/league.R

stress:
	@sh tools/ensure.sh stress
	@sh tools/build.sh
	@sh tools/stress.sh $(ATTACK)

docs:
	@sh tools/ensure.sh docs
	@sh tools/docs.sh

clean:
	@echo "* removing $(BUILD), demo-output and objects in src"
	@rm -rf $(BUILD) demo-output src/*.o src/*.so src/*.dll src/*.d

.PHONY: build demo test check bench league stress docs clean
