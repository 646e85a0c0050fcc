# SPDX-License-Identifier: MIT
# A gate as a container image, of a release's wheel and packs: nothing is compiled, and only packages are fetched.
#   docker build --file dist/gate.Dockerfile --tag ledbat-gate dist
FROM debian:bookworm-slim
RUN apt-get update -q=2; \
    apt-get install -q=2 --yes --no-install-recommends bubblewrap ca-certificates libstdc++6 python3-venv; \
    rm -rf /var/lib/apt/lists/*; \
    useradd --uid 1000 --create-home runner
USER runner
WORKDIR /home/runner
ENV PATH=/home/runner/testbed/bin:$PATH TESTBED_CACHE=/home/runner/cache
COPY ledbat_testbed-*.whl *.tar.xz release/
RUN python3 -m venv testbed && testbed/bin/pip install --quiet --no-cache-dir release/*.whl; \
    for pack in release/*.tar.xz; do python3 -m images unpack "$pack" || exit 1; done
ENTRYPOINT ["testbed", "gate"]
